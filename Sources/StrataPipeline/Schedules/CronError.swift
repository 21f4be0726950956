/// Why a text is no cron expression.
struct CronError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The text as it was handed in.
    let text: String
    /// The name of the bad field (`second`, `minute`, `hour`, `day-of-month`, `month` or `day-of-week`), or `nil` if
    /// the text as a whole is at fault.
    let field: String?
    /// What is wrong, in one sentence.
    let reason: String

    /// The text, the field and the reason in one line.
    var description: String {
        let place = field.map { " (\($0))" } ?? ""
        return "bad cron expression \"\(text)\"\(place): \(reason)"
    }
}
