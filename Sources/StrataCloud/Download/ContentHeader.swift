public import Foundation

/// The metadata of a node's content, available without fetching the content.
///
/// On remotes without encryption, the remote reports the metadata. An encrypted file has the metadata in its header,
/// which only a holder of the key can read.
public struct ContentHeader: Hashable, Sendable {
    /// The version of the content that the header describes.
    public let eTag: ETag?
    /// The creation date of the content; nil if it is unknown.
    public let createdAt: Date?
    /// The date of the last change of the content.
    ///
    /// The application sets it in an encrypted header; otherwise it is the date by the remote's clock.
    public let modifiedAt: Date?
    /// The application's values in an encrypted header.
    public let application: [String: String]
    /// The decrypted size of each section in bytes, if it is known. Sections without bytes are omitted.
    public let sizes: [ContentSections: Int64]
    /// Whether the file is encrypted.
    public let isEncrypted: Bool

    init(_ header: EncryptedHeader, _ eTag: ETag?) {
        self.eTag = eTag
        (createdAt, modifiedAt, application) = (header.createdAt, header.modifiedAt, header.application)
        let sizes = header.sizes.filter { $0.value > 0 }.map { (ContentSections($0.key), $0.value) }
        self.sizes = Dictionary(uniqueKeysWithValues: sizes)
        isEncrypted = true
    }

    init(size: Int64?, modifiedAt: Date?, _ eTag: ETag?) {
        (self.eTag, self.modifiedAt) = (eTag, modifiedAt)
        (createdAt, application, isEncrypted) = (nil, [:], false)
        sizes = size.map { $0 > 0 ? [.data: $0] : [:] } ?? [:]
    }
}
