/// The number of rows that a side worked on and a sum over all of their values but the ids, in any order.
struct Checksum: Hashable, Sendable, CustomStringConvertible {
    private(set) var count = 0
    private(set) var sum: UInt64 = 0

    mutating func add(_ row: RowHash) {
        count += 1
        sum &+= row.value
    }

    mutating func add(number: Int) {
        count += 1
        sum &+= UInt64(bitPattern: Int64(number))
    }

    var description: String { "\(count) rows, sum \(String(sum, radix: 16))" }
}

/// A hash of one row's values, in their order: FNV-1a over 64-bit words and over the bytes of texts.
struct RowHash {
    private(set) var value: UInt64 = 0xcbf2_9ce4_8422_2325

    mutating func add(_ word: UInt64) { value = (value ^ word) &* 0x0000_0100_0000_01b3 }
    mutating func add(_ number: Int) { add(UInt64(bitPattern: Int64(number))) }
    mutating func add(_ number: Double) { add(number.bitPattern) }
    mutating func add(_ text: String) { for byte in text.utf8 { add(UInt64(byte)) } }
}
