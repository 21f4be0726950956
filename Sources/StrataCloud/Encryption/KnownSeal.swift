import Foundation
import Strata

/// The known encryption state of one version of an object.
///
/// With this state, a section is fetched with one request, and another file in the object's place cannot be decrypted.
struct KnownSeal: Hashable, Sendable, Codable, AttributeValue {
    /// The version of the object.
    let eTag: String?
    /// The preamble of the encrypted file; empty if the file is not encrypted.
    let preamble: Data
    /// The sections that have bytes.
    let sections: ContentSections
    /// The digests that distinguish the sections, including the header, from other versions of them.
    ///
    /// The keys are the bits of the sections. Nil if the header was not read.
    let digests: [Int: String]?

    init(eTag: ETag?, preamble: Data, sections: ContentSections, digests: [Int: String]? = nil) {
        (self.eTag, self.preamble, self.sections, self.digests) = (eTag?.stored, preamble, sections, digests)
    }

    /// - Parameter start: the beginning of the file. If its header is damaged, only later readers of the header get an
    ///   error.
    init(_ file: EncryptedFile, _ eTag: ETag?, start: Data) {
        var digests: [Int: String]?
        if let header = try? file.header(in: start), let own = try? header.ownDigest() {
            let others = header.digests.map { (ContentSections($0.key).rawValue, $0.value) }
            digests = Dictionary(uniqueKeysWithValues: others + [(ContentSections.header.rawValue, own)])
        }
        self.init(eTag: eTag, preamble: file.preamble.bytes, sections: file.sections, digests: digests)
    }

    /// The digest that distinguishes a section from other versions of it; nil if it is unknown.
    func digest(of section: ContentSections) -> String? { digests?[section.rawValue] }

    /// The state of a version that is not encrypted.
    static func plain(_ eTag: ETag?) -> KnownSeal { KnownSeal(eTag: eTag, preamble: Data(), sections: []) }

    var isPlain: Bool { preamble.isEmpty }

    /// The state of another version with the same bytes, after the remote has copied or moved them.
    func moved(to eTag: ETag?) -> KnownSeal {
        KnownSeal(eTag: eTag, preamble: preamble, sections: sections, digests: digests)
    }
}

extension EncryptedFile {
    /// The sections that have bytes, without the header.
    var sections: ContentSections {
        ContentSections(
            EncryptedSection.allCases.filter { $0 != .header && size(of: $0) > 0 }.map(ContentSections.init)
        )
    }
}

extension EncryptedSection {
    /// Creates the section of a bit; nil for no bit, several bits, and unknown bits.
    init?(_ section: ContentSections) {
        guard let bits = UInt8(exactly: section.rawValue) else { return nil }
        self.init(rawValue: bits)
    }
}

extension ContentSections {
    /// Creates the bit of a section.
    init(_ section: EncryptedSection) { self.init(rawValue: Int(section.rawValue)) }

    /// The sections that an application provides: all except the header.
    static let given: ContentSections = [.metadata, .thumbnail, .data]
}
