import Foundation

/// A section of an encrypted file, which can be fetched and decrypted separately.
///
/// The raw values identify the sections in encrypted files.
public enum EncryptedSection: UInt8, CaseIterable, Sendable, Hashable, Codable {
    /// Sizes, dates, and a small dictionary of the application.
    case header = 1
    /// Metadata that the application stores beside the content.
    case metadata = 2
    /// A small picture of the content.
    case thumbnail = 4
    /// The content.
    case data = 8

    /// The index of the section in the file.
    var index: Int {
        switch self {
        case .header: 0
        case .metadata: 1
        case .thumbnail: 2
        case .data: 3
        }
    }
}

/// The parsed first bytes of an encrypted file. Only their format is checked at this point.
struct EncryptedFilePreamble: Hashable, Sendable {
    static let magic = Data([0x89, 0x53, 0x54, 0x52, 0x41, 0x54, 0x41, 0x0A])
    static let version: UInt8 = 1
    /// AES-256-GCM, with keys by HKDF-SHA256.
    static let algorithm: UInt8 = 1
    /// The binary logarithms of the allowed chunk sizes: from 16 bytes to 16 MiB.
    static let exponents: ClosedRange<UInt8> = 4...24

    /// The binary logarithm of the chunk size.
    var exponent: UInt8
    /// The id of the account key, 16 bytes.
    var accountKey: UUID
    /// The salt, 32 bytes.
    var salt: Data
    /// The sealed box of the content key, 60 bytes.
    var wrappedKey = Data()
    /// The sealed box of the section table, 92 bytes.
    var table = Data()

    var chunkSize: Int64 { 1 << Int64(exponent) }

    /// The authenticated data of the table and the wrapped key: the bytes before the id of the account key.
    var start: Data { Self.magic + Data([Self.version, Self.algorithm, exponent, 0]) }

    var bytes: Data { start + accountKey.data + salt + wrappedKey + table }
}

extension EncryptedFilePreamble {
    /// Parses the first bytes of a file.
    ///
    /// - Throws: `notEncrypted`, `encryptionVersionUnknown`, `encryptedContentTruncated`.
    init(_ bytes: Data) throws {
        guard bytes.prefix(8) == Self.magic.prefix(bytes.count) else {
            throw CloudError(.notEncrypted, "The bytes are not an encrypted file: the magic number is missing.")
        }
        guard bytes.count >= 12 else { throw CloudError.truncated(Int64(bytes.count), EncryptedFile.preambleSize) }
        let bytes = Data(bytes)
        guard bytes[8] == Self.version, bytes[9] == Self.algorithm, bytes[11] == 0, Self.exponents ~= bytes[10] else {
            throw CloudError(
                .encryptionVersionUnknown,
                "The encrypted file is of version \(bytes[8]), algorithm \(bytes[9]), chunks 2^\(bytes[10]), flags "
                    + "\(bytes[11]), which this version does not support."
            )
        }
        guard bytes.count >= EncryptedFile.preambleSize else {
            throw CloudError.truncated(Int64(bytes.count), EncryptedFile.preambleSize)
        }
        self.init(
            exponent: bytes[10],
            accountKey: UUID(data: bytes[12..<28]),
            salt: Data(bytes[28..<60]),
            wrappedKey: Data(bytes[60..<120]),
            table: Data(bytes[120..<212])
        )
    }

    // MARK: The wrapped key

    mutating func wrap(_ content: ContentKey, with account: AccountKey, nonce: Data) throws {
        accountKey = account.id
        wrappedKey = try EncryptedFileKeys.seal(
            content.bytes,
            using: EncryptedFileKeys.wrapping(account, salt: salt),
            nonce: nonce,
            authenticating: start
        )
    }

    func unwrap(with keys: AccountKeys) throws -> ContentKey {
        let account = try keys.key(accountKey)
        let key = EncryptedFileKeys.wrapping(account, salt: salt)
        guard let bytes = EncryptedFileKeys.open(wrappedKey, using: key, authenticating: start) else {
            throw CloudError(
                .encryptionKeyRefused,
                "The account key \(accountKey) does not open the file: the file was encrypted with other key bytes, "
                    + "or the preamble of the file was changed."
            )
        }
        return try ContentKey(bytes: bytes)
    }

    // MARK: The section table

    mutating func encryptTable(_ layout: EncryptedFileLayout, node: String, keys: EncryptedFileKeys, nonce: Data) throws
    {
        var plain = Data()
        for size in layout.sizes { plain.append(bigEndian: UInt64(size)) }
        plain += EncryptedFileKeys.digest(of: node)
        table = try EncryptedFileKeys.seal(plain, using: keys.table, nonce: nonce, authenticating: start)
    }

    func decryptTable(node: String, keys: EncryptedFileKeys) throws -> EncryptedFileLayout {
        guard let plain = EncryptedFileKeys.open(table, using: keys.table, authenticating: start), plain.count == 64
        else {
            throw CloudError(
                .encryptionKeyRefused,
                "The content key does not open the section table: it is the key of another file, or the preamble was "
                    + "changed."
            )
        }
        guard plain.dropFirst(32) == EncryptedFileKeys.digest(of: node) else {
            throw CloudError(.encryptedForAnotherNode, "The file was encrypted for a node other than '\(node)'.")
        }
        let sizes = (0..<4).map { Int64(truncatingIfNeeded: plain.bigEndian(at: $0 * 8)) }
        let layout = EncryptedFileLayout(chunkSize: chunkSize, sizes: sizes)
        guard layout.isValid else {
            throw CloudError(
                .encryptedContentMalformed,
                "The section table holds sizes that the format does not allow: \(sizes)."
            )
        }
        return layout
    }
}

/// The positions of all sections and chunks in an encrypted file with given sizes.
struct EncryptedFileLayout: Hashable, Sendable {
    /// The number of bytes that a sealed box adds: a nonce before the encrypted bytes, and a tag after them.
    static let overhead: Int64 = 12 + 16
    /// The maximum size of a section in bytes. Sums of encrypted sizes then fit into 64 bits.
    static let maximumSize: Int64 = 1 << 56

    /// The decrypted size of a chunk in bytes, except for the last chunk of a section.
    let chunkSize: Int64
    /// The decrypted sizes, in the order of the sections.
    let sizes: [Int64]

    /// Whether the format allows these sizes.
    var isValid: Bool {
        sizes.count == EncryptedSection.allCases.count && sizes.allSatisfy { 0...Self.maximumSize ~= $0 }
    }

    func size(of section: EncryptedSection) -> Int64 { sizes[section.index] }

    func chunkCount(of section: EncryptedSection) -> Int64 {
        let size = size(of: section)
        return size / chunkSize + (size % chunkSize == 0 ? 0 : 1)
    }

    func encryptedSize(of section: EncryptedSection) -> Int64 {
        size(of: section) + chunkCount(of: section) * Self.overhead
    }

    /// The offset of a section in the file.
    func offset(of section: EncryptedSection) -> Int64 {
        EncryptedSection.allCases.prefix(section.index).reduce(Int64(EncryptedFile.preambleSize)) {
            $0 + encryptedSize(of: $1)
        }
    }

    /// The range of a section in the file.
    func encryptedRange(of section: EncryptedSection) -> Range<Int64> {
        let start = offset(of: section)
        return start..<start + encryptedSize(of: section)
    }

    /// The size of the file in bytes.
    var total: Int64 { encryptedRange(of: .data).upperBound }

    /// The indices of the chunks that contain a range of the section's decrypted bytes.
    func chunks(of section: EncryptedSection, holding range: Range<Int64>) -> Range<Int64> {
        guard !range.isEmpty else { return 0..<0 }
        return range.lowerBound / chunkSize..<(range.upperBound - 1) / chunkSize + 1
    }

    /// The range of some chunks of a section in the file.
    func encryptedRange(of section: EncryptedSection, chunks: Range<Int64>) -> Range<Int64> {
        let whole = encryptedRange(of: section)
        let step = chunkSize + Self.overhead
        let start = whole.lowerBound + chunks.lowerBound * step
        guard !chunks.isEmpty else { return start..<start }
        return start..<min(whole.upperBound, whole.lowerBound + chunks.upperBound * step)
    }

    /// The range of decrypted bytes that a chunk contains.
    func range(of section: EncryptedSection, chunk: Int64) -> Range<Int64> {
        chunk * chunkSize..<min(size(of: section), (chunk + 1) * chunkSize)
    }

    /// The position of a chunk in 10 bytes: the section, whether the chunk is the last one of its section, and the
    /// index from 0. The position is authenticated with the chunk, so that no chunk can replace another one.
    func position(of section: EncryptedSection, chunk: Int64) -> Data {
        var data = Data([section.rawValue, chunk == chunkCount(of: section) - 1 ? 1 : 0])
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

extension UUID {
    /// The 16 bytes of the UUID.
    var data: Data { withUnsafeBytes(of: uuid) { Data($0) } }

    /// Creates a UUID from 16 bytes.
    init(data: Data) {
        var bytes: uuid_t = (0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0)
        withUnsafeMutableBytes(of: &bytes) { $0.copyBytes(from: data.prefix(16)) }
        self.init(uuid: bytes)
    }
}

extension CloudError {
    static func truncated(_ size: Int64, _ expected: Int64) -> CloudError {
        CloudError(
            .encryptedContentTruncated,
            "The encrypted file has \(size) bytes here, and needs \(expected)."
        )
    }
}
