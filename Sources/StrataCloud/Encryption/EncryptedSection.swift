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
