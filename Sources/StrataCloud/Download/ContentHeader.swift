public import Foundation

/// What is known of a node's content without fetching it.
///
/// On plain remotes that is what the remote says of the file; of a sealed file, what stands in its header and nobody but who has the key can read.
public struct ContentHeader: Hashable, Sendable {
    /// The version of the content that it is about.
    public let eTag: ETag?
    /// When the content was made; nil where nobody says so.
    public let createdAt: Date?
    /// When it was last changed: by the application's word in a sealed header, by the remote's clock else.
    public let modifiedAt: Date?
    /// What the application has put into a sealed header.
    public let application: [String: String]
    /// How many bytes each section has when it is opened, as far as that is known; sections without bytes are left out.
    public let sizes: [ContentSections: Int64]
    /// Whether the file is sealed.
    public let isSealed: Bool

    init(_ header: SealedHeader, _ eTag: ETag?) {
        self.eTag = eTag
        (createdAt, modifiedAt, application) = (header.createdAt, header.modifiedAt, header.application)
        let sizes = header.sizes.filter { $0.value > 0 }.map { (ContentSections($0.key), $0.value) }
        self.sizes = Dictionary(uniqueKeysWithValues: sizes)
        isSealed = true
    }

    init(size: Int64?, modifiedAt: Date?, _ eTag: ETag?) {
        (self.eTag, self.modifiedAt) = (eTag, modifiedAt)
        (createdAt, application, isSealed) = (nil, [:], false)
        sizes = size.map { $0 > 0 ? [.data: $0] : [:] } ?? [:]
    }
}
