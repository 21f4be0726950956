import Foundation

extension Date {
    /// The date in words for logs and screens: ISO 8601 in UTC, with milliseconds.
    var inWords: String { formatted(Date.ISO8601FormatStyle(includingFractionalSeconds: true)) }
}

extension String {
    /// The text as one line, for a list of which each line stands for something else.
    var onOneLine: String {
        contains(where: \.isNewline) ? split(whereSeparator: \.isNewline).joined(separator: " ") : self
    }
}
