import Foundation

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

    /// A value of JSON with its control characters and invisible characters as `\u202e`.
    ///
    /// - Parameter json: a value in UTF-8 without line feeds. Other characters than those of ASCII are in its texts.
    /// - Complexity: O(bytes), which is much faster if all of them are ASCII.
    package static func escaped(json: Data) -> Data {
        if json.allSatisfy({ (0x20..<0x7F).contains($0) }) { return json }
        var result = ""
        for scalar in String(decoding: json, as: UTF8.self).unicodeScalars {
            if isEscaped(scalar) { result += jsonEscape(scalar) } else { result.unicodeScalars.append(scalar) }
        }
        return Data(result.utf8)
    }

    /// The escape sequence of a character in a text of JSON.
    package static func jsonEscape(_ scalar: Unicode.Scalar) -> String {
        scalar.utf16.map { unit in
            let digits = String(unit, radix: 16)
            return "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
        }.joined()
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
