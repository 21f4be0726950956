/// Why a text is not a cron expression.
struct CronError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The text as the caller has passed it.
    let text: String
    /// The name of the invalid field (`second`, `minute`, `hour`, `day-of-month`, `month` or `day-of-week`), or `nil`
    /// if the text as a whole is invalid.
    let field: String?
    /// The error, in one sentence.
    let reason: String

    /// The text, the field and the reason in one line.
    var description: String {
        let place = field.map { " (\($0))" } ?? ""
        return "bad cron expression \"\(text)\"\(place): \(reason)"
    }
}
