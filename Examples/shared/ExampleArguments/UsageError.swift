/// Why the command line cannot be understood.
package struct UsageError: Error, Equatable, Sendable, CustomStringConvertible {
    package let description: String

    /// What comes from the command line is nobody's orders to a terminal.
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
