import Strata

/// A time span such as `90s`, `15m`, `2h` or `7d`.
package struct TimeSpan: Sendable {
    package let seconds: Double

    private static let units: [(name: String, seconds: Double)] = [
        ("ms", 0.001), ("s", 1), ("m", 60), ("h", 3600), ("d", 86_400),
    ]

    /// Reads a whole number of up to nine digits that is not zero, followed by `ms`, `s`, `m`, `h` or `d`.
    package init?(argument: String) {
        let digits = argument.utf8.prefix { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
        let rest = String(decoding: argument.utf8.dropFirst(digits.count), as: UTF8.self)
        guard digits.count <= 9, let number = Int(String(decoding: digits, as: UTF8.self)), number > 0,
            let unit = Self.units.first(where: { $0.name.hasSameBytes(as: rest) })
        else { return nil }
        seconds = Double(number) * unit.seconds
    }

    /// The shortest text for a number of seconds, such as `15m`.
    package static func text(_ seconds: Double) -> String {
        for unit in units.reversed() {
            let number = seconds / unit.seconds
            if number >= 1, number < 1e15, number == number.rounded() { return "\(Int(number))\(unit.name)" }
        }
        return "\(seconds)s"
    }
}
