/// Texts from stores for a terminal.
package enum TerminalText {
    /// The text with its control characters as `\u{1b}`, line feeds as `\n` and tabs as `\t`.
    ///
    /// Characters that are invisible or change the direction of writing are escaped too. A store may contain any names
    /// and values, and a terminal would obey the escape sequences in them.
    package static func escaped(_ text: String) -> String {
        guard text.unicodeScalars.contains(where: isEscaped) else { return text }
        var result = ""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "\n": result += "\\n"
            case "\t": result += "\\t"
            case "\r": result += "\\r"
            case _ where isEscaped(scalar): result += "\\u{\(String(scalar.value, radix: 16))}"
            default: result.unicodeScalars.append(scalar)
            }
        }
        return result
    }

    /// Whether a terminal must not receive the character.
    package static func isEscaped(_ scalar: Unicode.Scalar) -> Bool {
        if (0x20..<0x7F).contains(scalar.value) { return false }
        switch scalar.properties.generalCategory {
        case .control, .lineSeparator, .paragraphSeparator, .surrogate: return true
        // These two join the parts of letters and emoji.
        case .format: return scalar.value != 0x200C && scalar.value != 0x200D
        default: return false
        }
    }

    /// The beginning of a text, with `…` at the end if the text has more Unicode scalars than the limit.
    ///
    /// - Complexity: O(limit), so that a large value costs nothing.
    package static func shortened(_ text: String, to limit: Int) -> String {
        let scalars = text.unicodeScalars
        guard let end = scalars.index(scalars.startIndex, offsetBy: limit, limitedBy: scalars.endIndex),
            end < scalars.endIndex
        else { return text }
        return String(scalars[..<scalars.index(before: end)]) + "…"
    }
}
