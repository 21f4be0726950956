import Foundation
import StrataInspection

extension StoredDocument {
    /// The document for people, with the advice of the tool.
    var lines: [String] { lines(advice: "; --json prints all") }

    /// The document for scripts: its text, or an object with its bytes in base64. It must be complete.
    var json: JSON {
        if let text = String(bytes: bytes, encoding: .utf8) { return .text(text) }
        return JSON(.blob(bytes))
    }
}
