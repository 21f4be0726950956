import Foundation

@testable import StrataCloud

/// Encrypted files with chunks of 16 bytes, and with content that shows its position.
struct EncryptionFixture {
    static let account = AccountKey()
    static let keys = AccountKeys(account)
    static let node = "alice/42"
    static let key = ContentKey()

    /// Bytes in which no two chunks are the same.
    static func bytes(_ count: Int, _ seed: UInt8 = 0) -> Data {
        Data((0..<count).map { UInt8(truncatingIfNeeded: $0 &* 7) ^ seed })
    }

    static func encryptor(
        metadata: Int = 0,
        thumbnail: Int = 0,
        data: Int = 0,
        seed: UInt8 = 0,
        key: ContentKey = key,
        node: String = node
    ) throws -> ContentEncryptor {
        try ContentEncryptor(
            metadata: .data(bytes(metadata, seed &+ 1)),
            thumbnail: .data(bytes(thumbnail, seed &+ 2)),
            data: .data(bytes(data, seed &+ 3)),
            key: key,
            node: node,
            keys: keys,
            chunkSize: 16
        )
    }

    static func content(_ section: EncryptedSection, _ count: Int, seed: UInt8 = 0) -> Data {
        bytes(count, seed &+ UInt8(section.index))
    }

    /// Decrypts all sections, as a reader who has fetched the whole file does.
    static func openAll(
        _ bytes: Data,
        node: String = node,
        keys: AccountKeys = keys
    ) throws -> (header: EncryptedHeader?, sections: [Data]) {
        let file = try EncryptedFile(bytes, node: node, keys: keys)
        try file.check(size: Int64(bytes.count))
        let sections = try EncryptedSection.allCases.map { section in
            let range = file.encryptedRange(of: section)
            return try file.open(section, in: bytes[Int(range.lowerBound)..<Int(range.upperBound)])
        }
        return (try file.header(in: bytes), sections)
    }

    /// The code of the error with which all sections are refused, or nil if they can be decrypted.
    static func refusal(_ bytes: Data, node: String = node, keys: AccountKeys = keys) throws -> CloudError.Code? {
        do {
            _ = try openAll(bytes, node: node, keys: keys)
            return nil
        } catch let error as CloudError {
            return error.code
        }
    }

    /// Decrypts a section of a file with the keys of an account.
    static func open(_ bytes: Data, _ section: EncryptedSection, _ keys: AccountKeys) throws -> Data {
        let file = try EncryptedFile(bytes, node: ContentEncryption.binding, keys: keys)
        try file.check(size: Int64(bytes.count))
        let range = file.encryptedRange(of: section)
        return try file.open(section, in: bytes[Int(range.lowerBound)..<Int(range.upperBound)])
    }

    /// A stream of bytes in pieces of a given size.
    static func stream(_ bytes: Data, pieces: Int) -> AsyncThrowingStream<Data, any Error> {
        AsyncThrowingStream { continuation in
            var rest = bytes
            while !rest.isEmpty {
                continuation.yield(Data(rest.prefix(pieces)))
                rest = rest.dropFirst(pieces)
            }
            continuation.finish()
        }
    }

    static func collect(_ stream: AsyncThrowingStream<Data, any Error>) async throws -> Data {
        var result = Data()
        for try await chunk in stream { result += chunk }
        return result
    }
}
