import Foundation
import Strata

/// Whole numbers in the binary format of `numeric`.
///
/// The format is that of `numeric_recv` in PostgreSQL's sources: four numbers of 16 bits, and the digits to base 10,000.
/// The four are the number of digits, the power of 10,000 of the first digit, the sign, and the number of decimal places.
/// Zeros at the end may be left out.
enum PostgresNumeric {
    private static let base: UInt64 = 10_000
    private static let positive: UInt16 = 0
    private static let negative: UInt16 = 0x4000

    /// The bytes of a number.
    static func bytes(of magnitude: UInt64, isNegative: Bool) -> [UInt8] {
        var digits: [UInt16] = []
        var rest = magnitude
        while rest > 0 {
            digits.append(UInt16(rest % base))
            rest /= base
        }
        let head = [UInt16(digits.count), UInt16(max(digits.count, 1) - 1), isNegative ? negative : positive, 0]
        var bytes: [UInt8] = []
        for part in head + digits.reversed() { bytes.append(bigEndian: part) }
        return bytes
    }

    /// A number in the form in which Strata stores it: an integer or, beyond `Int64.max`, a blob.
    ///
    /// - Throws: `PostgresFailure` of the kind `format` for a number that is not whole, or beyond the range of `UInt64`
    ///   and `Int64`.
    static func value(_ bytes: UnsafeRawBufferPointer) throws -> StoredValue {
        let parts = bytes.count / MemoryLayout<UInt16>.size
        func part(_ index: Int) -> UInt16 {
            UInt16(bigEndian: bytes.loadUnaligned(fromByteOffset: index * 2, as: UInt16.self))
        }
        guard bytes.count.isMultiple(of: 2), parts >= 4, Int(part(0)) == parts - 4 else { throw unexpected }
        let weight = Int(Int16(bitPattern: part(1)))
        var magnitude: UInt64 = 0
        // The digits after the last one are zeros, down to the power 0.
        for position in 0..<max(parts - 4, weight + 1) {
            let digit = position < parts - 4 ? UInt64(part(position + 4)) : 0
            guard position <= weight else {
                guard digit == 0 else { throw unexpected }
                continue
            }
            let (product, isTooLarge) = magnitude.multipliedReportingOverflow(by: base)
            let (sum, overflows) = product.addingReportingOverflow(digit)
            guard digit < base, !isTooLarge, !overflows else { throw unexpected }
            magnitude = sum
        }
        switch part(2) {
        case positive: return magnitude.storedValue
        case negative:
            guard magnitude <= Int64.min.magnitude else { throw unexpected }
            return .integer(Int64(truncatingIfNeeded: 0 &- magnitude))
        default: throw unexpected
        }
    }

    private static let unexpected = PostgresFailure(
        .format,
        "a number in the server's answer is not a whole number of 64 bits"
    )
}
