/// The approximate width of text in terminal columns. East Asian wide characters and emoji take two columns.
public enum TextWidth {
    public static func width(_ text: some StringProtocol) -> Int {
        text.reduce(0) { $0 + width($1) }
    }

    /// The text in exactly `width` columns, truncated with `…` or padded with spaces.
    public static func fit(_ text: String, to width: Int, alignment: Alignment = .left) -> String {
        let text = cut(text, to: width)
        let blanks = String(repeating: " ", count: max(width - self.width(text), 0))
        return alignment == .left ? text + blanks : blanks + text
    }

    /// The text in at most `width` columns, truncated with `…`.
    public static func cut(_ text: String, to width: Int) -> String {
        guard self.width(text) > width else { return text }
        guard width > 0 else { return "" }
        var kept = ""
        var taken = 1
        for character in text {
            taken += self.width(character)
            if taken > width { break }
            kept.append(character)
        }
        return kept + "…"
    }

    /// A path in at most `width` columns, truncated at the start with `…`. The cut is at a folder boundary if the file
    /// name then stays whole.
    public static func cutPath(_ path: String, to width: Int) -> String {
        guard self.width(path) > width else { return path }
        guard width > 0 else { return "" }
        var (start, taken) = (path.endIndex, 1)
        var folder: String.Index?
        while start > path.startIndex {
            let before = path.index(before: start)
            taken += self.width(path[before])
            if taken > width { break }
            start = before
            if path[start] == "/" { folder = start }
        }
        return "…" + path[(folder ?? start)...]
    }

    /// The text with control characters and direction marks escaped, because file names and messages come from
    /// strangers. The result contains no characters that control a terminal or break a line.
    public static func printable(_ text: String, keepingLines: Bool = false) -> String {
        var result = ""
        for scalar in text.unicodeScalars {
            switch scalar.value {
            case 10 where keepingLines: result.unicodeScalars.append(scalar)
            case 9: result += "\\t"
            case 10: result += "\\n"
            case 13: result += "\\r"
            case 0..<32, 127..<160, 0x2028...0x202E, 0x2066...0x2069:
                result += "\\u{" + String(scalar.value, radix: 16) + "}"
            default: result.unicodeScalars.append(scalar)
            }
        }
        return result
    }

    private static func width(_ character: Character) -> Int {
        let scalars = character.unicodeScalars
        if scalars.contains("\u{FE0F}") { return 2 }
        return scalars.lazy.map(width).max() ?? 0
    }

    private static func width(_ scalar: Unicode.Scalar) -> Int {
        switch scalar.properties.generalCategory {
        case .nonspacingMark, .enclosingMark, .format, .control: return 0
        default: break
        }
        switch scalar.value {
        case 0x1100...0x115F, 0x2E80...0x303E, 0x3041...0xA4CF, 0xAC00...0xD7A3, 0xF900...0xFAFF, 0xFE30...0xFE6F,
            0xFF00...0xFF60, 0xFFE0...0xFFE6, 0x1F300...0x1F64F, 0x1F680...0x1F6FF, 0x1F900...0x1FAFF,
            0x20000...0x3FFFD:
            return 2
        default:
            return scalar.properties.isEmojiPresentation ? 2 : 1
        }
    }
}

/// The alignment of a text in its column.
public enum Alignment: Sendable {
    case left
    case right
}
