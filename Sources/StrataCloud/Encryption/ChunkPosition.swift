import Foundation

/// The position of a chunk. The position is authenticated with the chunk, so that no chunk can replace another one.
struct ChunkPosition: Hashable, Sendable {
    let section: EncryptedSection
    /// The index within the section, from 0.
    let chunk: Int64
    /// Whether the chunk is the last one of its section.
    let isLast: Bool

    /// The associated data of the chunk.
    var bytes: Data {
        var data = Data([section.rawValue, isLast ? 1 : 0])
        data.append(bigEndian: UInt64(chunk))
        return data
    }
}

extension Data {
    mutating func append(bigEndian value: UInt64) {
        for shift in stride(from: 56, through: 0, by: -8) { append(UInt8(truncatingIfNeeded: value >> UInt64(shift))) }
    }

    /// The number in the eight bytes from an offset. The caller ensures that they exist.
    func bigEndian(at offset: Int) -> UInt64 {
        self[startIndex + offset..<startIndex + offset + 8].reduce(0) { $0 << 8 | UInt64($1) }
    }
}
