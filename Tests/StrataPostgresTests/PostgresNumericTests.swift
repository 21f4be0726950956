import Foundation
import Strata
import Testing

@testable import StrataPostgres

@Suite("The binary format of numeric") struct PostgresNumericTests {
    /// The format of a whole number: the number of digits, the power of the first one, the sign, no decimal places.
    private static func bytes(_ digits: [UInt16], weight: Int16, sign: UInt16 = 0, count: UInt16? = nil) -> [UInt8] {
        ([count ?? UInt16(digits.count), UInt16(bitPattern: weight), sign, 0] + digits).flatMap {
            [UInt8($0 >> 8), UInt8($0 & 0xFF)]
        }
    }

    private static func value(_ bytes: [UInt8]) throws -> StoredValue {
        try bytes.withUnsafeBytes { try PostgresNumeric.value($0) }
    }

    @Test("Numbers have the digits that PostgreSQL gives them, and are read again")
    func numbers() throws {
        let cases: [(number: UInt64, bytes: [UInt8])] = [
            (0, Self.bytes([], weight: 0)), (9_999, Self.bytes([9_999], weight: 0)),
            (10_000, Self.bytes([1, 0], weight: 1)),
            (.max, Self.bytes([1_844, 6_744, 737, 955, 1_615], weight: 4)),
        ]
        for (number, expected) in cases {
            let bytes = PostgresNumeric.bytes(of: number, isNegative: false)
            #expect(bytes == expected, "\(number)")
            #expect(try Self.value(bytes) == number.storedValue)
        }
        for number in [-1, Int64.min, -10_000] {
            let bytes = PostgresNumeric.bytes(of: number.magnitude, isNegative: true)
            #expect(try Self.value(bytes) == .integer(number))
        }
        // PostgreSQL leaves out zeros at the end.
        #expect(try Self.value(Self.bytes([1], weight: 2)) == .integer(100_000_000))
    }

    @Test(
        "Other numbers are refused, and nothing is read beyond the bytes",
        arguments: [
            bytes([1, 8_446, 7_440, 7_370, 9_551, 6_160], weight: 5), bytes([5_000], weight: -1),
            bytes([1, 5_000], weight: 0), bytes([], weight: 0, sign: 0xC000), bytes([10_000], weight: 0),
            bytes([922, 3_372, 368, 5_477, 5_809], weight: 4, sign: 0x4000), bytes([1], weight: 0, count: 2),
            [0, 0, 0],
            [], bytes([1], weight: .max),
        ]
    )
    func refusals(_ bytes: [UInt8]) {
        let failure = #expect(throws: PostgresFailure.self) { _ = try Self.value(bytes) }
        #expect(failure?.kind == .format)
    }
}
