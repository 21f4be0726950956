/// A hash that is the same in every process: FNV-1a with 64 bits. It detects accidents, not attacks.
///
/// See http://www.isthe.com/chongo/tech/comp/fnv/
struct StableHash {
    private(set) var value: UInt64 = 0xcbf2_9ce4_8422_2325

    mutating func combine(_ bytes: some Sequence<UInt8>) {
        for byte in bytes { value = (value ^ UInt64(byte)) &* 0x100_0000_01b3 }
    }
}
