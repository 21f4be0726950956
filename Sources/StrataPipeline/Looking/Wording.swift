import Foundation

extension Date {
    /// The date in words for logs and screens: ISO 8601 in UTC, with milliseconds.
    var inWords: String { formatted(Date.ISO8601FormatStyle(includingFractionalSeconds: true)) }
}

extension String {
    /// The text as one line, for a list of which each line stands for something else: with a space for each character that ends a line or controls a terminal.
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
