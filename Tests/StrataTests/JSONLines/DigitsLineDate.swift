@testable import Strata

/// Reads the dates of lines in a second, simpler way: with arrays of digits and with slices of the text. Tests compare
/// ``LineDate``, which reads the bytes in place.
enum DigitsLineDate {
    static func seconds(_ text: String) -> Double? {
        var rest = Array(text.utf8)[...]
        guard let whole = wholeSeconds(&rest) else { return nil }
        var digits: [UInt8] = []
        if rest.first == UInt8(ascii: ".") {
            rest = rest.dropFirst()
            digits = Array(rest.prefix(while: isDigit))
            rest = rest.dropFirst(digits.count)
            guard !digits.isEmpty else { return nil }
        }
        guard let zone = offset(Array(rest)) else { return nil }
        let seconds = whole - zone
        guard digits.contains(where: { $0 != UInt8(ascii: "0") }) else { return Double(seconds) }
        let fraction = String(decoding: digits, as: UTF8.self)
        return Double(seconds < 0 ? "-\(-seconds - 1).\(complement(digits))" : "\(seconds).\(fraction)")
    }

    /// The seconds since 2001 of a text such as `2026-11-22T08:26:02`, without a time zone.
    private static func wholeSeconds(_ rest: inout ArraySlice<UInt8>) -> Int? {
        let pattern = Array("0000-00-00T00:00:00".utf8)
        let bytes = rest.prefix(pattern.count)
        guard bytes.count == pattern.count else { return nil }
        var numbers = [0]
        for (byte, expected) in zip(bytes, pattern) {
            if expected == UInt8(ascii: "0") {
                guard isDigit(byte) else { return nil }
                numbers[numbers.count - 1] = numbers[numbers.count - 1] * 10 + Int(byte - UInt8(ascii: "0"))
            } else {
                guard byte == expected else { return nil }
                numbers.append(0)
            }
        }
        rest = rest.dropFirst(pattern.count)
        let date = CivilDate(year: numbers[0], month: numbers[1], day: numbers[2])
        guard (1...12).contains(date.month),
            (1...CivilDate.length(ofMonth: date.month, year: date.year)).contains(date.day),
            numbers[3] < 24, numbers[4] < 60, numbers[5] < 60
        else { return nil }
        let days = date.daysSince1970 - CivilDate(year: 2001, month: 1, day: 1).daysSince1970
        return days * 86_400 + numbers[3] * 3600 + numbers[4] * 60 + numbers[5]
    }

    private static func offset(_ bytes: [UInt8]) -> Int? {
        if bytes == [UInt8(ascii: "Z")] { return 0 }
        guard let first = bytes.first, first == UInt8(ascii: "+") || first == UInt8(ascii: "-") else { return nil }
        var digits = Array(bytes.dropFirst())
        if digits.count == 5, digits[2] == UInt8(ascii: ":") { digits.remove(at: 2) }
        guard [2, 4].contains(digits.count), digits.allSatisfy(isDigit) else { return nil }
        let numbers = digits.map { Int($0 - UInt8(ascii: "0")) }
        let hours = numbers[0] * 10 + numbers[1]
        let minutes = numbers.count == 4 ? numbers[2] * 10 + numbers[3] : 0
        guard hours < 24, minutes < 60 else { return nil }
        return (first == UInt8(ascii: "-") ? -1 : 1) * (hours * 3600 + minutes * 60)
    }

    private static func isDigit(_ byte: UInt8) -> Bool { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) }

    /// The digits of 1 minus a fraction that is not 0.
    private static func complement(_ digits: [UInt8]) -> String {
        var values = digits.map { Int($0 - UInt8(ascii: "0")) }
        while values.last == 0 { values.removeLast() }
        return values.enumerated().map { String(($0 == values.count - 1 ? 10 : 9) - $1) }.joined()
    }
}
