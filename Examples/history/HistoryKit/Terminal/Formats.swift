/// Formats numbers for display.
public enum Numbers {
    /// Formats `1234567` as `1,234,567`.
    public static func grouped(_ number: Int) -> String {
        let digits = Array(String(number.magnitude))
        var text = number < 0 ? "-" : ""
        for (position, digit) in digits.enumerated() {
            if position > 0, (digits.count - position).isMultiple(of: 3) { text += "," }
            text.append(digit)
        }
        return text
    }

    /// Formats `1 commit` or `2,500 commits`. The plural ends in s.
    public static func counted(_ number: Int, _ noun: String) -> String {
        "\(grouped(number)) \(noun)\(number == 1 ? "" : "s")"
    }
}

/// Formats durations for display, in the two largest units.
public enum Durations {
    /// Formats `93_784` seconds as `1 d 2 h`, `75` as `1 min 15 s`, and less than a second as `0 s`.
    public static func text(seconds: Double) -> String {
        guard seconds.isFinite, seconds < 1e15 else { return "?" }
        var rest = Int(seconds.magnitude)
        var parts: [String] = []
        for (size, unit) in [(86_400 * 365, "y"), (86_400, "d"), (3_600, "h"), (60, "min"), (1, "s")] {
            let count = rest / size
            rest %= size
            if count > 0 {
                parts.append("\(count) \(unit)")
            } else if !parts.isEmpty {
                break
            }
            if parts.count == 2 { break }
        }
        return parts.isEmpty ? "0 s" : parts.joined(separator: " ")
    }
}
