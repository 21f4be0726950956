import Foundation

/// Compares decimal numbers as texts in `Decimal`'s notation, without converting them to numbers.
enum DecimalText {
    /// Negative, zero or positive, like `memcmp`.
    ///
    /// Texts that are not numbers come after all numbers and are compared by their bytes, so the order is total.
    static func compare(_ left: UnsafeRawBufferPointer, _ right: UnsafeRawBufferPointer) -> Int32 {
        switch (Digits(left), Digits(right)) {
        case (let left?, let right?):
            if left.isNegative != right.isNegative { return left.isNegative ? -1 : 1 }
            let order = magnitude(left, right)
            return left.isNegative ? -order : order
        case (.some, nil): return -1
        case (nil, .some): return 1
        case (nil, nil): return bytes(left, right)
        }
    }

    /// Whether the whole text is a number, optionally with an exponent.
    static func isNumber(_ text: String) -> Bool {
        let parts = text.split(maxSplits: 1, omittingEmptySubsequences: false) { $0 == "e" || $0 == "E" }
        var digits = parts[0]
        guard digits.withUTF8({ Digits(UnsafeRawBufferPointer($0)) != nil }) else { return false }
        return parts.count == 1 || Int(parts[1]) != nil
    }

    /// A number's digits before and after the decimal point, without leading and trailing zeros.
    private struct Digits {
        var isNegative = false
        let whole: Slice<UnsafeRawBufferPointer>
        let fraction: Slice<UnsafeRawBufferPointer>

        init?(_ text: UnsafeRawBufferPointer) {
            var start = 0
            if let sign = text.first, sign == UInt8(ascii: "-") || sign == UInt8(ascii: "+") {
                isNegative = sign == UInt8(ascii: "-")
                start = 1
            }
            var point = text.count
            var hasDigits = false
            for place in start..<text.count {
                switch text[place] {
                case UInt8(ascii: "0")...UInt8(ascii: "9"): hasDigits = true
                case UInt8(ascii: ".") where point == text.count: point = place
                default: return nil
                }
            }
            guard hasDigits else { return nil }
            while start < point, text[start] == UInt8(ascii: "0") { start += 1 }
            var end = text.count
            while end > point + 1, text[end - 1] == UInt8(ascii: "0") { end -= 1 }
            whole = text[start..<point]
            fraction = point < end ? text[(point + 1)..<end] : text[end..<end]
            if whole.isEmpty, fraction.isEmpty { isNegative = false }
        }
    }

    private static func magnitude(_ left: Digits, _ right: Digits) -> Int32 {
        if left.whole.count != right.whole.count { return left.whole.count < right.whole.count ? -1 : 1 }
        let whole = bytes(.init(rebasing: left.whole), .init(rebasing: right.whole))
        if whole != 0 { return whole }
        return bytes(.init(rebasing: left.fraction), .init(rebasing: right.fraction))
    }

    private static func bytes(_ left: UnsafeRawBufferPointer, _ right: UnsafeRawBufferPointer) -> Int32 {
        for (left, right) in zip(left, right) where left != right { return left < right ? -1 : 1 }
        return left.count == right.count ? 0 : left.count < right.count ? -1 : 1
    }
}
