/// A text from a handler: why an attempt has failed, or the constraint that the operation waits for.
enum HandlerText {
    /// The number of bytes of a text that are kept, in UTF-8. The text is part of each row, each event and each log
    /// line of the attempt.
    static let limit = 4096

    /// Shortens a text to ``limit`` bytes. A shortened text ends with an ellipsis.
    static func kept(_ text: String) -> String {
        guard text.utf8.count > limit else { return text }
        let ellipsis = "…"
        var end = text.utf8.index(text.utf8.startIndex, offsetBy: limit - ellipsis.utf8.count)
        // The cut never falls inside the bytes of a Unicode scalar. It may separate a letter from its combining marks.
        while end.samePosition(in: text.unicodeScalars) == nil { end = text.utf8.index(before: end) }
        return String(text.unicodeScalars[..<end]) + ellipsis
    }
}
