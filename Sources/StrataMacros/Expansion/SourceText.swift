import SwiftSyntax
import SwiftSyntaxBuilder

/// Text of generated code.
enum SourceText {
    /// The text as a string literal, with whatever it takes to quote it.
    static func literal(_ text: String) -> String { StringLiteralExprSyntax(content: text).description }

    /// A declaration with a body of one statement a line.
    static func block(_ head: String, _ lines: [String]) -> String {
        guard !lines.isEmpty else { return head + " {\n}" }
        return "\(head) {\n" + lines.map { indented($0) }.joined(separator: "\n") + "\n}"
    }

    private static func indented(_ text: String) -> String {
        text.split(separator: "\n", omittingEmptySubsequences: false).map { $0.isEmpty ? "" : "    \($0)" }
            .joined(separator: "\n")
    }
}
