import Foundation
import Strata

/// Values that a home could change on their way.
enum SampleValues {
    /// The values, each with the index of the column of `Item` that has its type. The id is not counted.
    static let all: [(column: Int, value: StoredValue)] =
        column(0, integers.map { .integer($0) }) + column(1, reals.map { .real($0) })
        + column(2, texts.map { .text($0) }) + column(3, blobs.map { .blob($0) })

    /// The values of the table `Counter`: integers, and blobs for those beyond `Int64.max`.
    static let unsigned: [StoredValue] =
        integers.map { .integer($0) }
        + [UInt64(Int64.max) + 1, 10_000_000_000_000_000_000, .max - 1, .max].map(\.storedValue)

    private static func column(_ column: Int, _ values: [StoredValue]) -> [(column: Int, value: StoredValue)] {
        values.map { (column, $0) }
    }

    private static let integers: [Int64] = [
        0, 1, -1, 127, 128, -128, 255, 256, 32_768, 65_536, 1 << 31, -(1 << 31), 1 << 32, (1 << 53) + 1, .max, .min,
    ]

    private static let reals: [Double] = [
        0, 1, -1, 0.1, 1.0 / 3, .pi, 1e15, 1e16, 9_007_199_254_740_992, 1e300, -1e-300, .greatestFiniteMagnitude,
        .leastNormalMagnitude, .leastNonzeroMagnitude, .infinity, -.infinity,
    ]

    private static let texts: [String] =
        words + scalars + controls + [latin1, String(repeating: "long ", count: 20_000)]

    /// Texts that mean something in a protocol or language.
    private static let words = [
        "", " ", "NULL", "null", "\\N", "\\", "\\\\", "\\x41", "\\.", "'", "''", "\"", "`", "$1", "%s", "?", "{}",
        "a,b",
        "\r\n", "a\n", " a ",
    ]

    /// The letter é as one scalar and as two, which Swift considers equal, and scalars with a special meaning.
    private static let scalars = [
        "\u{e9}", "e\u{301}", "\u{301}", "\u{feff}", "\u{fffd}", "\u{ffff}", "\u{10ffff}", "\u{200d}", "日本語",
    ]

    /// Each scalar of one byte except NUL.
    private static let controls: [String] = (UInt8(1)..<128).map { String(Unicode.Scalar($0)) }

    /// All scalars of Latin 1 except NUL in one text.
    private static let latin1 = String(String.UnicodeScalarView((UInt8(1)...255).map { Unicode.Scalar($0) }))

    private static let blobs: [Data] = [
        Data(), Data([0]), Data([0, 0]), Data("text".utf8), Data("\\x00".utf8), Data([0xFF, 0xFE]), Data(0...255),
        Data(repeating: 7, count: 100_000),
    ]
}
