/// A part of a sealed file that is fetched and opened on its own.
///
/// The raw values are those that stand for the sections in sealed files.
public enum SealedSection: UInt8, CaseIterable, Sendable, Hashable, Codable {
    /// Sizes, dates, and a small dictionary of the application's.
    case header = 1
    /// What the application keeps of the content beside it.
    case metadata = 2
    /// A small picture of the content.
    case thumbnail = 4
    /// The content.
    case data = 8

    /// Where it stands among the sections.
    var index: Int {
        switch self {
        case .header: 0
        case .metadata: 1
        case .thumbnail: 2
        case .data: 3
        }
    }
}
