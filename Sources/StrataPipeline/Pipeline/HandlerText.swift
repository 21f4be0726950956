/// What a handler says in words: why an attempt has failed, or what it waits for.
enum HandlerText {
    /// How many bytes of a text are kept, in UTF-8. They are part of each row, each event and each line of a log that is about the attempt.
    static let limit = 4096

    /// As much of a text as is kept. Where that is not all, it ends with an ellipsis.
    static func kept(_ text: String) -> String {
        guard text.utf8.count > limit else { return text }
        let ellipsis = "…"
        var end = text.utf8.index(text.utf8.startIndex, offsetBy: limit - ellipsis.utf8.count)
        // No character is cut in its bytes. One with many combining marks may be cut between them.
        while end.samePosition(in: text.unicodeScalars) == nil { end = text.utf8.index(before: end) }
        return String(text.unicodeScalars[..<end]) + ellipsis
    }
}
