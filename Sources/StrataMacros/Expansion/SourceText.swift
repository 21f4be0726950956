import SwiftSyntax
import SwiftSyntaxBuilder

/// Builds text of generated code.
enum SourceText {
    /// The text as a string literal, with the delimiters and escapes that it needs.
    static func literal(_ text: String) -> String { StringLiteralExprSyntax(content: text).description }

    /// A declaration whose body has one statement per line.
    static func block(_ head: String, _ lines: [String]) -> String {
        guard !lines.isEmpty else { return head + " {\n}" }
        return "\(head) {\n" + lines.map { indented($0) }.joined(separator: "\n") + "\n}"
    }

    private static func indented(_ text: String) -> String {
        text.split(separator: "\n", omittingEmptySubsequences: false).map { $0.isEmpty ? "" : "    \($0)" }
            .joined(separator: "\n")
    }
}
