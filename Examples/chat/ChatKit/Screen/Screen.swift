public import Foundation
import Synchronization

/// The output of the client. Each line is written whole and at once.
public final class Screen: Sendable {
    private let output: Mutex<FileHandle>

    public init(_ output: FileHandle) { self.output = Mutex(output) }

    /// - Throws: an error if the output is closed.
    func show(_ line: String) throws {
        try output.withLock { try $0.write(contentsOf: Data((Self.printable(line) + "\n").utf8)) }
    }

    /// Shows a line that is not part of a conversation.
    func note(_ line: String) {
        // An error is ignored, because the next message fails in the same way and ends the client.
        try? show("-- \(line)")
    }

    /// The line without control characters. Text from other users must not move the cursor or start a new line.
    static func printable(_ line: String) -> String {
        let scalars = line.unicodeScalars.map { scalar -> Unicode.Scalar in
            switch scalar.properties.generalCategory {
            case .control, .lineSeparator, .paragraphSeparator: "\u{FFFD}"
            default: scalar
            }
        }
        return String(String.UnicodeScalarView(scalars))
    }
}
