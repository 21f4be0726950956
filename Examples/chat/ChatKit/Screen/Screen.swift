public import Foundation
import Synchronization

/// Where lines are shown. Each is written at once and whole.
public final class Screen: Sendable {
    private let output: Mutex<FileHandle>

    public init(_ output: FileHandle) { self.output = Mutex(output) }

    /// - Throws: where nobody can see it any more.
    func show(_ line: String) throws {
        try output.withLock { try $0.write(contentsOf: Data((Self.printable(line) + "\n").utf8)) }
    }

    /// Shows something that is not part of a conversation.
    func note(_ line: String) {
        // Where it cannot be seen, neither can a message, and that ends the client.
        try? show("-- \(line)")
    }

    /// A line and nothing else: what others have written cannot move the cursor or begin a line of its own.
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
