import Foundation
import Strata

/// What is known of how a version of some content is sealed: by it a section is fetched with one request, and another file in place of
/// the one that is known does not open.
struct KnownSeal: Hashable, Sendable, Codable, AttributeValue {
    /// The version of the object that it is known of.
    let eTag: String?
    /// The first bytes of the sealed file; none where the file is not sealed.
    let preamble: Data
    /// Which sections have bytes.
    let sections: ContentSections
    /// What tells the sections, the header among them, from other versions of them, by their bits; nil where the
    /// header was not read.
    let digests: [Int: String]?

    init(eTag: ETag?, preamble: Data, sections: ContentSections, digests: [Int: String]? = nil) {
        (self.eTag, self.preamble, self.sections, self.digests) = (eTag?.stored, preamble, sections, digests)
    }

    /// - Parameter start: the beginning of the file. Whether its header is genuine is told to those who ask for that.
    init(_ file: SealedFile, _ eTag: ETag?, start: Data) {
        var digests: [Int: String]?
        if let header = try? file.header(in: start), let own = try? header.ownDigest() {
            let others = header.digests.map { (ContentSections($0.key).rawValue, $0.value) }
            digests = Dictionary(uniqueKeysWithValues: others + [(ContentSections.header.rawValue, own)])
        }
        self.init(eTag: eTag, preamble: file.preamble.bytes, sections: file.sections, digests: digests)
    }

    /// What tells a section from other versions of it; nil where that is not known.
    func digest(of section: ContentSections) -> String? { digests?[section.rawValue] }

    /// That a version is not sealed.
    static func plain(_ eTag: ETag?) -> KnownSeal { KnownSeal(eTag: eTag, preamble: Data(), sections: []) }

    var isPlain: Bool { preamble.isEmpty }

    /// The same of another version with the same bytes, which the remote has made of it.
    func moved(to eTag: ETag?) -> KnownSeal {
        KnownSeal(eTag: eTag, preamble: preamble, sections: sections, digests: digests)
    }
}

extension SealedFile {
    /// The sections that have bytes, but for the header.
    var sections: ContentSections {
        ContentSections(SealedSection.allCases.filter { $0 != .header && size(of: $0) > 0 }.map(ContentSections.init))
    }
}

extension SealedSection {
    /// The section of a bit; nil for none, several, and bits that stand for nothing.
    init?(_ section: ContentSections) {
        guard let bits = UInt8(exactly: section.rawValue) else { return nil }
        self.init(rawValue: bits)
    }
}

extension ContentSections {
    /// The bit of a section.
    init(_ section: SealedSection) { self.init(rawValue: Int(section.rawValue)) }

    /// What an application gives: all but the header.
    static let given: ContentSections = [.metadata, .thumbnail, .data]
}
