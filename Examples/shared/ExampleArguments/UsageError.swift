/// An error in the command line.
package struct UsageError: Error, Equatable, Sendable, CustomStringConvertible {
    package let description: String

    /// Replaces control characters, so that text from the command line cannot control the terminal.
    package init(_ description: String) {
        let scalars = description.unicodeScalars.map { scalar -> Unicode.Scalar in
            switch scalar.properties.generalCategory {
            case .control, .lineSeparator, .paragraphSeparator: "\u{FFFD}"
            default: scalar
            }
        }
        self.description = String(String.UnicodeScalarView(scalars))
    }
}
