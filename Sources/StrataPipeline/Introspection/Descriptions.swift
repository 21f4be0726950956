import Foundation

extension Date {
    /// The date as text for logs and screens: ISO 8601 in UTC, with milliseconds.
    var inWords: String { formatted(Date.ISO8601FormatStyle(includingFractionalSeconds: true)) }
}

extension String {
    /// The text on one line, for lists with one entry per line. Each line break or control character becomes a space.
    var onOneLine: String {
        let hasControls = unicodeScalars.contains(where: \.isControl)
        return hasControls ? String(String.UnicodeScalarView(unicodeScalars.map { $0.isControl ? " " : $0 })) : self
    }
}

extension Unicode.Scalar {
    fileprivate var isControl: Bool {
        switch properties.generalCategory {
        case .control, .lineSeparator, .paragraphSeparator: true
        default: false
        }
    }
}
