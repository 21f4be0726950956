import Foundation
import Strata

/// Encrypted content is decrypted as it arrives.
///
/// Only bytes that a holder of the key has encrypted at exactly this position are written to a file.
extension Downloads {
    /// The kind of file at the remote, when the account expects an encrypted file.
    private enum Content {
        /// - start: the first bytes of the file, if they were fetched.
        case encrypted(EncryptedFile, start: Data, ETag?)
        case plain(ETag?)
    }

    /// Fetches and decrypts the chunks of a section, after the bytes that have already arrived.
    func fetchOpened(
        _ source: Source,
        _ place: SectionID,
        _ encryption: ContentEncryption,
        _ transfer: TrackedTransfer
    ) async throws -> Arrival {
        switch try await look(source, place, encryption) {
        case .plain(let version): return try await fetchPlain(source, version, place, transfer)
        case .encrypted(let file, let start, let version):
            guard let section = EncryptedSection(place.section) else { throw Self.missing(place, source.key) }
            let size = file.size(of: section)
            // The data section may be empty. An empty metadata or thumbnail section does not exist. The empty data
            // section of a folder exists only if the header has a digest for it.
            var mayBeEmpty = section == .data
            if mayBeEmpty, source.isFolder {
                let seal = source.seal ?? KnownSeal(file, version, start: start)
                mayBeEmpty = seal.digest(of: .data) != nil
            }
            guard size > 0 || mayBeEmpty else { throw Self.missing(place, source.key) }
            let hash = ContentHash(encrypted: file.preamble.bytes, size: file.size)
            let partial = try partialFile(place.name + "-opened", hash.text)
            let begin = try partial.size()
            transfer.resume(at: begin, of: size)
            if begin < size {
                var position = begin
                let rest = try await opened(begin..<size, of: section, file, start, source.key, version)
                for try await chunk in rest {
                    try partial.append(chunk)
                    position += Int64(chunk.count)
                    transfer.pass(Int64(chunk.count), to: position)
                }
                // If the task is cancelled, the chunks just end.
                try Task.checkCancellation()
            }
            guard try partial.size() == size else {
                try partial.cut(at: 0)
                throw RemoteError(.damagedContent, "Not all bytes of \(source.key) have arrived.", key: source.key)
            }
            let arrived = try partial.finish()
            transfer.pass(all: size)
            return Arrival(arrived, version)
        }
    }

    /// Fetches and decrypts the missing range of a section.
    private func opened(
        _ range: Range<Int64>,
        of section: EncryptedSection,
        _ file: EncryptedFile,
        _ start: Data,
        _ key: RemoteKey,
        _ version: ETag?
    ) async throws -> AsyncThrowingStream<Data, any Error> {
        let encrypted = file.encryptedRange(of: section, range)
        if encrypted.upperBound <= start.count {
            let bytes = start[Int(encrypted.lowerBound)..<Int(encrypted.upperBound)]
            return try await RemoteBody(file.open(section, range, in: bytes)).chunks()
        }
        return try file.open(section, range, in: await get(key, encrypted, of: file, version))
    }

    private func get(_ key: RemoteKey, _ range: Range<Int64>, of file: EncryptedFile, _ version: ETag?) async throws
        -> RemoteDownload
    {
        do {
            return try await remote.get(key, range: range, if: version.map { .matches($0) } ?? .none)
        } catch let error as RemoteError where error.code == .rangeNotSatisfiable {
            throw CloudError.truncated(try await remote.head(key)?.size ?? 0, file.size)
        }
    }

    /// Fetches a file that is not encrypted, if such files are allowed.
    ///
    /// The metadata and the thumbnail are in separate files beside the content.
    private func fetchPlain(_ source: Source, _ version: ETag?, _ place: SectionID, _ transfer: TrackedTransfer)
        async throws
        -> Arrival
    {
        guard place.section != .data else {
            var source = source
            source.version = version
            return try await fetch(source, place, transfer)
        }
        let key = Sidecar.key(of: source.place, section: place.section, isFolder: source.isFolder)
        guard let there = try await remote.head(key) else { throw Self.missing(place, key) }
        return try await fetch(
            Source(
                place: source.place,
                isFolder: source.isFolder,
                key: key,
                eTag: there.eTag,
                version: there.eTag,
                size: there.size
            ),
            place,
            transfer
        )
    }

    private static func missing(_ place: SectionID, _ key: RemoteKey) -> RemoteError {
        RemoteError(.notFound, "\(key) does not contain \(place.section).", key: key)
    }

    // MARK: The first bytes

    /// Decrypts the preamble of a file: the known one for this version, otherwise the one in the file.
    ///
    /// The latter is then stored as the known one.
    private func look(
        _ source: Source,
        _ place: SectionID,
        _ encryption: ContentEncryption,
        isHeaderWanted: Bool = false
    )
        async throws -> Content
    {
        if let seal = source.seal, seal.isPlain {
            return try plain(source.key, source.version, encryption)
        }
        let known = source.seal?.preamble
        if let known, !isHeaderWanted {
            return .encrypted(try await encryption.open(known), start: Data(), source.version)
        }
        let condition = source.version.map { RemoteCondition.matches($0) } ?? .none
        let download = try await remote.get(source.key, range: 0..<EncryptedFile.firstRead, if: condition)
        let (start, version) = (try await download.data(), download.object.eTag ?? source.version)
        do {
            // The keys of the known preamble cannot decrypt another file.
            let file = try await encryption.open(known ?? start)
            if let size = download.object.size { try file.check(size: size) }
            if known == nil { try await learn(KnownSeal(file, version, start: start), of: place) }
            return .encrypted(file, start: start, version)
        } catch let error as CloudError where known == nil && (error.code == .notEncrypted || start.isEmpty) {
            let content = try plain(source.key, version, encryption)
            try await learn(.plain(version), of: place)
            return content
        }
    }

    private func plain(_ key: RemoteKey, _ version: ETag?, _ encryption: ContentEncryption) throws -> Content {
        guard encryption.readsPlainFiles else { throw CloudError.plainFile(key) }
        return .plain(version)
    }

    /// Stores the encryption state of a version, if that version is the known one.
    private func learn(_ seal: KnownSeal, of place: SectionID) async throws {
        let info = info
        let isNews = try await stack.overStore { context in
            try CloudContext(context, info).remote(place.node)?.lacks(seal) ?? false
        }
        guard isNews else { return }
        // Before the account used encryption, the cache may have stored the bytes of an encrypted file as content. So
        // these entries are removed.
        let cache = try await cache()
        for section in ContentSections.given.elements where !seal.isPlain {
            try await cache.remove(CacheKey(account: info.account, node: place.node, sections: section))
        }
        do {
            try await stack.overStore { context in
                guard let remote = try CloudContext(context, info).remote(place.node), remote.lacks(seal) else {
                    return
                }
                remote.seal = seal
                try context.commit()
            }
        } catch let error as StrataError where error.code == .conflict {
            // Another context has stored newer information about the object.
        }
    }

    // MARK: The header

    /// The metadata of a node's content, without fetching the content.
    ///
    /// For an encrypted file, the first bytes are fetched. On remotes without encryption, the result is the last known
    /// metadata of the file, and no request is sent.
    ///
    /// - Throws: ``CloudError`` with `noSuchNode`, or for an encrypted file that cannot be decrypted; `RemoteError`.
    public func header(of node: ObjectID<CloudNode>) async throws -> ContentHeader {
        let place = SectionID(node: node.rawValue, section: .header)
        return try await persistently(place) { source in
            let plain = ContentHeader(size: source.size, modifiedAt: source.modifiedAt, source.version)
            guard let encryption else { return plain }
            guard
                case .encrypted(let file, let start, let version) = try await look(
                    source,
                    place,
                    encryption,
                    isHeaderWanted: true
                )
            else { return plain }
            if let header = try file.header(in: start) { return ContentHeader(header, version) }
            // The first bytes do not contain the whole header if the file has smaller chunks than this version writes.
            let range = file.encryptedRange(of: .header)
            let bytes = try await get(source.key, range, of: file, version).data()
            return ContentHeader(try EncryptedHeader(decoding: file.open(.header, in: bytes)), version)
        }
    }
}

extension RemoteNode {
    /// Whether the encryption state belongs to the known version, and is new.
    fileprivate func lacks(_ seal: KnownSeal) -> Bool {
        self.seal != seal && ETag.isSame(seal.eTag.map { ETag(stored: $0) }, eTag)
    }
}
