/// The shape of the errors of all products: `StrataError`, `PipelineError`, `CloudError` and `RemoteError`.
///
/// A program decides by `code` and shows `message` to a person. `file` and `line` are for reports. Each error has a
/// struct named `Code`, with a static member for each code and a public initializer: a program may define codes of its
/// own, for example for a remote that it implements.
package protocol ProductError: Error, CustomStringConvertible {
    associatedtype Code: Sendable, Hashable, CustomStringConvertible
    associatedtype Detail: CustomStringConvertible

    /// The kind of the error.
    var code: Code { get }
    /// One or two sentences: what happened, and what to do.
    var message: String { get }
    /// The affected objects, operations, nodes or keys.
    var details: [Detail] { get }
    /// The error that caused this error, if there is one.
    var underlying: (any Error)? { get }
    /// The source file that created the error.
    var file: String { get }
    /// The line of that file.
    var line: Int { get }
}

extension ProductError {
    /// The code and the message, then one line for each of the first ten details, the number of the remaining details,
    /// and the cause. A detail or cause that the message already contains is left out.
    ///
    /// Each error returns this text as its `description`. Swift does not accept a member of this protocol as the
    /// implementation of a public requirement.
    package var fullText: String {
        var text = "\(code): \(message)"
        for detail in details.prefix(describedDetails) where !quotes("\(detail)") { text += "\n  - \(detail)" }
        let others = details.count - describedDetails
        if others > 0 { text += "\n  - and \(others) more" }
        if let underlying, !quotes((underlying as? any ProductError)?.message ?? "\(underlying)") {
            text += "\n  caused by: \(underlying)"
        }
        return text
    }

    private var describedDetails: Int { 10 }

    /// Whether the message contains a text. Only words of letters and digits are compared, because messages quote texts
    /// with other brackets or a capital letter. Whole words are compared, so that `operation 12` does not hide
    /// `operation 1`.
    private func quotes(_ text: String) -> Bool {
        let words = Self.words(of: text)
        return words.isEmpty || " \(Self.words(of: message)) ".contains(" \(words) ")
    }

    private static func words(of text: String) -> String {
        text.lowercased().split { !$0.isLetter && !$0.isNumber }.joined(separator: " ")
    }
}
