import Crypto
public import Foundation

/// The header of an encrypted file: its first section, which describes the content.
public struct EncryptedHeader: Hashable, Sendable {
    /// The creation date of the content, with millisecond precision.
    public var createdAt: Date?
    /// The date of the last change of the content, with millisecond precision.
    public var modifiedAt: Date?
    /// The values that the application needs before it fetches other sections.
    public var application: [String: String]
    /// The decrypted sizes of the other sections in bytes. The encryptor sets them.
    public internal(set) var sizes: [EncryptedSection: Int64] = [:]
    /// The digests that distinguish the other sections from other versions of them, if the writer knew them: see
    /// ``digest(_:)``.
    var digests: [EncryptedSection: String] = [:]

    /// The maximum size of the encoded header in bytes.
    ///
    /// With the default chunk size, the preamble and the header then fit into the first ``EncryptedFile/firstRead``
    /// bytes.
    public static let maximumSize = 16_000

    /// Creates a header without sizes.
    public init(createdAt: Date? = nil, modifiedAt: Date? = nil, application: [String: String] = [:]) {
        self.createdAt = createdAt
        self.modifiedAt = modifiedAt
        self.application = application
    }

    /// The JSON form of the header in the file.
    private struct Stored: Codable {
        var application: [String: String]?
        var created: Int64?
        var modified: Int64?
        var metadataSize: Int64
        var thumbnailSize: Int64
        var dataSize: Int64
        var metadataDigest: String?
        var thumbnailDigest: String?
        var dataDigest: String?
    }

    func encoded() throws -> Data {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        var stored = Stored(
            application: application.isEmpty ? nil : application,
            created: try createdAt.map(Self.milliseconds),
            modified: try modifiedAt.map(Self.milliseconds),
            metadataSize: sizes[.metadata] ?? 0,
            thumbnailSize: sizes[.thumbnail] ?? 0,
            dataSize: sizes[.data] ?? 0,
            metadataDigest: digests[.metadata],
            thumbnailDigest: digests[.thumbnail],
            dataDigest: digests[.data]
        )
        var data = try encoder.encode(stored)
        if data.count > Self.maximumSize, !digests.isEmpty {
            // Digests must not take space from the application's values, so they are omitted if the header is too
            // large.
            (stored.metadataDigest, stored.thumbnailDigest, stored.dataDigest) = (nil, nil, nil)
            data = try encoder.encode(stored)
        }
        guard data.count <= Self.maximumSize else {
            throw CloudError(
                .encryptionInputInvalid,
                "The header has \(data.count) bytes, more than \(Self.maximumSize). Put large values into the metadata."
            )
        }
        return data
    }

    init(decoding data: Data) throws {
        let stored: Stored
        do { stored = try JSONDecoder().decode(Stored.self, from: data) } catch {
            throw CloudError(
                .encryptedContentMalformed,
                "The header of the encrypted file cannot be read: \(error)",
                underlying: error
            )
        }
        self.init(
            createdAt: stored.created.map(Self.date),
            modifiedAt: stored.modified.map(Self.date),
            application: stored.application ?? [:]
        )
        sizes = [.metadata: stored.metadataSize, .thumbnail: stored.thumbnailSize, .data: stored.dataSize]
        digests[.metadata] = stored.metadataDigest
        digests[.thumbnail] = stored.thumbnailDigest
        digests[.data] = stored.dataDigest
    }

    /// Whether another header has the same values, except for sizes and digests.
    func says(_ other: EncryptedHeader) throws -> Bool {
        var other = other
        (other.sizes, other.digests) = (sizes, digests)
        return try encoded() == other.encoded()
    }

    /// The digest of a section's bytes: the first 16 bytes of their SHA-256, as text.
    static func digest(_ hash: ContentHash) -> String { String(hash.digest.prefix(32)) }

    /// The digest of the header's own values.
    func ownDigest() throws -> String {
        var plain = self
        (plain.sizes, plain.digests) = ([:], [:])
        return Hexadecimal.text(SHA256.hash(data: try plain.encoded()).prefix(16))
    }

    private static func milliseconds(_ date: Date) throws -> Int64 {
        guard let value = Int64(exactly: (date.timeIntervalSince1970 * 1000).rounded()) else {
            throw CloudError(
                .encryptionInputInvalid,
                "A date of the header is too far away: \(date.timeIntervalSince1970) seconds."
            )
        }
        return value
    }

    private static func date(_ milliseconds: Int64) -> Date { Date(timeIntervalSince1970: Double(milliseconds) / 1000) }
}
