public import Foundation

/// What a sealed file says of itself in its first section.
public struct SealedHeader: Hashable, Sendable {
    /// When the content was made; kept to the millisecond.
    public var createdAt: Date?
    /// When the content was last changed; kept to the millisecond.
    public var modifiedAt: Date?
    /// What the application wants to have at hand before anything else is fetched.
    public var application: [String: String]
    /// How many bytes the other sections have, unsealed. Filled in by the sealer.
    public internal(set) var sizes: [SealedSection: Int64] = [:]

    /// How many bytes the encoded header may have: with the default chunk size, preamble and header then lie within the first
    /// ``SealedFile/firstRead`` bytes.
    public static let maximumSize = 16_000

    /// A header, without sizes.
    public init(createdAt: Date? = nil, modifiedAt: Date? = nil, application: [String: String] = [:]) {
        self.createdAt = createdAt
        self.modifiedAt = modifiedAt
        self.application = application
    }

    /// The JSON that is kept.
    private struct Stored: Codable {
        var application: [String: String]?
        var created: Int64?
        var modified: Int64?
        var metadataSize: Int64
        var thumbnailSize: Int64
        var dataSize: Int64
    }

    func encoded() throws -> Data {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        let stored = Stored(
            application: application.isEmpty ? nil : application,
            created: try createdAt.map(Self.milliseconds),
            modified: try modifiedAt.map(Self.milliseconds),
            metadataSize: sizes[.metadata] ?? 0,
            thumbnailSize: sizes[.thumbnail] ?? 0,
            dataSize: sizes[.data] ?? 0
        )
        let data = try encoder.encode(stored)
        guard data.count <= Self.maximumSize else {
            throw CloudError(
                .sealInvalid,
                "The header has \(data.count) bytes, more than \(Self.maximumSize). Put large values into the metadata."
            )
        }
        return data
    }

    init(decoding data: Data) throws {
        let stored: Stored
        do { stored = try JSONDecoder().decode(Stored.self, from: data) } catch {
            throw CloudError(
                .sealedMalformed,
                "The header of the sealed file cannot be read: \(error)",
                underlying: error
            )
        }
        self.init(
            createdAt: stored.created.map(Self.date),
            modifiedAt: stored.modified.map(Self.date),
            application: stored.application ?? [:]
        )
        sizes = [.metadata: stored.metadataSize, .thumbnail: stored.thumbnailSize, .data: stored.dataSize]
    }

    /// Whether another one says the same, but for the sizes.
    func says(_ other: SealedHeader) throws -> Bool {
        var other = other
        other.sizes = sizes
        return try encoded() == other.encoded()
    }

    private static func milliseconds(_ date: Date) throws -> Int64 {
        guard let value = Int64(exactly: (date.timeIntervalSince1970 * 1000).rounded()) else {
            throw CloudError(
                .sealInvalid,
                "A date of the header is too far away: \(date.timeIntervalSince1970) seconds."
            )
        }
        return value
    }

    private static func date(_ milliseconds: Int64) -> Date { Date(timeIntervalSince1970: Double(milliseconds) / 1000) }
}
