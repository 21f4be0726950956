import Foundation
import Strata
import StrataPipeline

extension Pusher {
    /// How an upload is encrypted.
    struct Seal: Sendable {
        /// The state that encrypts the same content to the same bytes again.
        let ticket: SealTicket
        /// The sections that the application has given.
        let given: ContentSections
        /// Whether other sections are copied from the remote.
        let isPartly: Bool
        /// The encryption that is known after the upload has arrived.
        let known: KnownSeal
        /// The digests of the sections that the application has given.
        let digests: [ContentSections: String]
    }

    /// One encrypted file with all sections: the application's sections, and the remote's version of the others.
    ///
    /// - Returns: nil if the application gives no section.
    func sealedPart(
        of request: ContentRequest,
        _ target: Target,
        at key: RemoteKey,
        _ sealing: ContentSealing
    ) async throws -> Part? {
        let there = Remaining(remote, target, key, sealing)
        var given: ContentSections = []
        var sources: [SealedSection: SealSource] = [:]
        var digests: [SealedSection: String] = [:]
        for section in [SealedSection.metadata, .thumbnail, .data] {
            let bit = ContentSections(section)
            if !target.sections.contains(bit) {
                // The section was not reported as changed. If it exists, the application is still asked for it, because
                // the file must contain it.
                guard try await there.has(section) else { continue }
            }
            if let body = try await handler.content(for: request.asking(bit))?.gathered() {
                given.insert(bit)
                let print = try await ContentPrint(of: body)
                sources[section] = .body(body, version: print.text)
                digests[section] = SealedHeader.digest(print)
            } else if try await there.has(section) {
                sources[section] = try await there.source(of: section)
                digests[section] = try await there.digest(of: section)
            }
        }
        guard !given.isEmpty else { return nil }
        var header = try await handler.header(for: request.asking(.header))
        header.digests = digests
        let keys = try await sealing.keys()
        let sealer =
            if let sealer = try await resumed(request.node.number, header, sources, keys) { sealer } else {
                try Sealer(
                    header,
                    metadata: sources[.metadata] ?? .none,
                    thumbnail: sources[.thumbnail] ?? .none,
                    data: sources[.data] ?? .none,
                    key: try await there.contentKey(keys),
                    node: ContentSealing.binding,
                    keys: keys
                )
            }
        let file = try SealedFile(sealer.ticket.head, node: ContentSealing.binding, keys: keys)
        return Part(
            section: .data,
            body: sealer.body,
            print: ContentPrint(sealed: sealer.ticket.head, size: sealer.body.size),
            seal: Seal(
                ticket: sealer.ticket,
                given: given,
                isPartly: sources.count > given.elements.count,
                known: KnownSeal(file, nil, start: sealer.ticket.head),
                digests: digests.reduce(into: [:]) { all, entry in
                    let section = ContentSections(entry.key)
                    if given.contains(section) { all[section] = entry.value }
                }
            )
        )
    }

    /// Resumes a started encryption, if it is of the same content and uses the key for new files.
    private func resumed(
        _ node: Int64,
        _ header: SealedHeader,
        _ sources: [SealedSection: SealSource],
        _ keys: AccountKeys
    ) async throws -> Sealer? {
        let kept = try await stack.overStore { context in try context.first(.upload(of: node))?.ticket }
        guard let kept else { return nil }
        do {
            let ticket = try JSONDecoder().decode(SealTicket.self, from: kept)
            let file = try SealedFile(ticket.head, node: ContentSealing.binding, keys: keys)
            guard file.accountKey == keys.current.id, try file.header(in: ticket.head)?.says(header) ?? false else {
                return nil
            }
            return try Sealer(
                resuming: ticket,
                metadata: sources[.metadata] ?? .none,
                thumbnail: sources[.thumbnail] ?? .none,
                data: sources[.data] ?? .none,
                node: ContentSealing.binding,
                keys: keys
            )
        } catch is CloudError {
            // The content has changed or the key is gone, so a new encryption begins.
            return nil
        } catch is DecodingError {
            return nil
        }
    }

    /// Deletes the unencrypted sidecars of a file that is now encrypted.
    func deleteSidecars(of target: Target, at key: RemoteKey) async throws {
        for mark in [Sidecar.metadata, Sidecar.thumbnail] where target.remote?.eTag(ofMark: mark) != nil {
            try await remote.delete(key.sidecar(mark), isFolder: false, if: .none)
        }
    }
}

/// The remote's version of a file, for the sections that the application does not give. It is read on first use.
private actor Remaining {
    private let remote: any Remote
    /// The key of the node, and the key of the file with its sections.
    private let place: RemoteKey
    private let key: RemoteKey
    private let row: RemoteNode.Row?
    private let sealing: ContentSealing
    private var found: Content?

    private enum Content {
        case nothing
        case plain
        case sealed(SealedFile, KnownSeal)
    }

    init(_ remote: any Remote, _ target: Pusher.Target, _ key: RemoteKey, _ sealing: ContentSealing) {
        let isFolder = target.node?.isFolder ?? false
        (self.remote, self.place, self.sealing) = (remote, key, sealing)
        self.key = Sidecar.key(key, .data, isFolder: isFolder)
        row = target.isThere ? target.remote : nil
    }

    private var condition: RemoteCondition { row?.eTag(of: .data).map { .matches($0) } ?? .none }

    private func content() async throws -> Content {
        if let found { return found }
        let content = try await look()
        found = content
        return content
    }

    private func look() async throws -> Content {
        guard let row else { return .nothing }
        if let seal = row.knownSeal {
            return seal.isPlain ? .plain : .sealed(try await sealing.open(seal.preamble), seal)
        }
        // Most folders do not have a file of sections. Some have unencrypted metadata.
        if row.isFolder, row.eTag == nil { return .plain }
        guard let there = try await remote.head(key), !there.isFolder else { return .nothing }
        let start = try await remote.get(key, range: 0..<SealedFile.firstRead, if: condition).data()
        do {
            let file = try await sealing.open(start)
            return .sealed(file, KnownSeal(file, row.eTag(of: .data), start: start))
        } catch let error as CloudError where error.code == .notSealed { return .plain }
    }

    /// Whether the remote's version of a section has bytes.
    func has(_ section: SealedSection) async throws -> Bool {
        switch try await content() {
        case .nothing: false
        case .plain:
            section == .data
                ? row?.isFolder != true || row?.eTag != nil : row?.eTag(of: ContentSections(section)) != nil
        case .sealed(let file, _): file.size(of: section) > 0
        }
    }

    /// The digest of the remote's version of a section; nil if unknown.
    func digest(of section: SealedSection) async throws -> String? {
        guard case .sealed(_, let seal) = try await content() else { return nil }
        return seal.digest(of: ContentSections(section))
    }

    /// The bytes of the remote's version of a section.
    func source(of section: SealedSection) async throws -> SealSource {
        let (remote, key, condition) = (remote, key, condition)
        switch try await content() {
        case .nothing: return .none
        case .sealed(let file, _):
            let body = RemoteBody(size: file.size(of: section)) { range in
                if range.isEmpty { return AsyncThrowingStream { $0.finish() } }
                let sealed = file.sealedRange(of: section, range)
                return try file.open(section, range, in: await remote.get(key, range: sealed, if: condition))
            }
            return .body(body, version: row?.eTag)
        case .plain:
            guard sealing.readsPlainFiles else { throw CloudError.plainFile(key) }
            let place = Sidecar.key(place, ContentSections(section), isFolder: row?.isFolder ?? false)
            guard let there = try await remote.head(place) else { return .none }
            let body = RemoteBody(size: there.size ?? 0) { range in
                if range.isEmpty { return AsyncThrowingStream { $0.finish() } }
                return try await remote.get(place, range: range, if: there.eTag.map { .matches($0) } ?? .none).chunks
            }
            return .body(body, version: there.eTag?.stored)
        }
    }

    /// The node's content key, if it is known and was wrapped by the current account key; otherwise a new one.
    func contentKey(_ keys: AccountKeys) async throws -> ContentKey {
        if found == nil, row?.knownSeal == nil { return ContentKey() }
        guard case .sealed(let file, _) = try await content(), file.accountKey == keys.current.id else {
            return ContentKey()
        }
        return file.contentKey
    }
}

extension CloudContext {
    /// Stores how an upload is encrypted, until the upload has arrived.
    fileprivate func keep(_ data: Data, of node: Int64) throws {
        if let upload = try context.first(.upload(of: node)) {
            upload.ticket = data
        } else {
            context.insert(SealedUpload(account: account, node: node, ticket: data))
        }
    }

    func keep(_ ticket: SealTicket, of node: Int64) throws { try keep(JSONEncoder().encode(ticket), of: node) }
}

extension CloudError {
    static func plainFile(_ key: RemoteKey) -> CloudError {
        CloudError(
            .notSealed,
            "\(key) is not sealed. Open the account with `readsPlainFiles` to read it as it is, or send it anew from where it is known."
        )
    }
}
