import Foundation
import Strata
import StrataPipeline

extension ContentPush {
    /// How an upload is encrypted.
    struct UploadEncryption: Sendable {
        /// The state that encrypts the same content to the same bytes again.
        let uploadState: UploadState
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
    func encryptedPart(
        of request: ContentRequest,
        _ target: PushTarget,
        at key: RemoteKey,
        _ encryption: ContentEncryption
    ) async throws -> UploadObject? {
        let there = Remaining(remote, target, key, encryption)
        var given: ContentSections = []
        var sources: [EncryptedSection: EncryptionSource] = [:]
        var digests: [EncryptedSection: String] = [:]
        for section in [EncryptedSection.metadata, .thumbnail, .data] {
            let bit = ContentSections(section)
            if !target.sections.contains(bit) {
                // The section was not reported as changed. If it exists, the application is still asked for it, because
                // the file must contain it.
                guard try await there.has(section) else { continue }
            }
            if let body = try await handler.content(for: request.asking(bit))?.gathered() {
                given.insert(bit)
                let hash = try await ContentHash(of: body)
                sources[section] = .body(body, version: hash.text)
                digests[section] = EncryptedHeader.digest(hash)
            } else if try await there.has(section) {
                sources[section] = try await there.source(of: section)
                digests[section] = try await there.digest(of: section)
            }
        }
        guard !given.isEmpty else { return nil }
        var header = try await handler.header(for: request.asking(.header))
        header.digests = digests
        let keys = try await encryption.keys()
        let encryptor =
            if let encryptor = try await resumed(request.node.rawValue, header, sources, keys) { encryptor } else {
                try ContentEncryptor(
                    header,
                    metadata: sources[.metadata] ?? .none,
                    thumbnail: sources[.thumbnail] ?? .none,
                    data: sources[.data] ?? .none,
                    key: try await there.contentKey(keys),
                    node: ContentEncryption.binding,
                    keys: keys
                )
            }
        let file = try EncryptedFile(encryptor.uploadState.head, node: ContentEncryption.binding, keys: keys)
        return UploadObject(
            section: .data,
            body: encryptor.body,
            hash: ContentHash(encrypted: encryptor.uploadState.head, size: encryptor.body.size),
            encryption: UploadEncryption(
                uploadState: encryptor.uploadState,
                given: given,
                isPartly: sources.count > given.elements.count,
                known: KnownSeal(file, nil, start: encryptor.uploadState.head),
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
        _ header: EncryptedHeader,
        _ sources: [EncryptedSection: EncryptionSource],
        _ keys: AccountKeys
    ) async throws -> ContentEncryptor? {
        let kept = try await stack.overStore { context in try context.first(.upload(of: node))?.ticket }
        guard let kept else { return nil }
        do {
            let uploadState = try StoredJSON.decoder.decode(UploadState.self, from: kept)
            let file = try EncryptedFile(uploadState.head, node: ContentEncryption.binding, keys: keys)
            guard file.accountKey == keys.current.id, try file.header(in: uploadState.head)?.says(header) ?? false
            else {
                return nil
            }
            return try ContentEncryptor(
                resuming: uploadState,
                metadata: sources[.metadata] ?? .none,
                thumbnail: sources[.thumbnail] ?? .none,
                data: sources[.data] ?? .none,
                node: ContentEncryption.binding,
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
    func deleteSidecars(of target: PushTarget, at key: RemoteKey) async throws {
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
    private let encryption: ContentEncryption
    private var found: Content?

    private enum Content {
        case nothing
        case plain
        case encrypted(EncryptedFile, KnownSeal)
    }

    init(_ remote: any Remote, _ target: PushTarget, _ key: RemoteKey, _ encryption: ContentEncryption) {
        let isFolder = target.node?.isFolder ?? false
        (self.remote, self.place, self.encryption) = (remote, key, encryption)
        self.key = Sidecar.key(of: key, section: .data, isFolder: isFolder)
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
            return seal.isPlain ? .plain : .encrypted(try await encryption.open(seal.preamble), seal)
        }
        // Most folders do not have a file of sections. Some have unencrypted metadata.
        if row.isFolder, row.eTag == nil { return .plain }
        guard let there = try await remote.head(key), !there.isFolder else { return .nothing }
        let start = try await remote.get(key, range: 0..<EncryptedFile.firstRead, if: condition).data()
        do {
            let file = try await encryption.open(start)
            return .encrypted(file, KnownSeal(file, row.eTag(of: .data), start: start))
        } catch let error as CloudError where error.code == .notEncrypted { return .plain }
    }

    /// Whether the remote's version of a section has bytes.
    func has(_ section: EncryptedSection) async throws -> Bool {
        switch try await content() {
        case .nothing: false
        case .plain:
            section == .data
                ? row?.isFolder != true || row?.eTag != nil : row?.eTag(of: ContentSections(section)) != nil
        case .encrypted(let file, _): file.size(of: section) > 0
        }
    }

    /// The digest of the remote's version of a section; nil if unknown.
    func digest(of section: EncryptedSection) async throws -> String? {
        guard case .encrypted(_, let seal) = try await content() else { return nil }
        return seal.digest(of: ContentSections(section))
    }

    /// The bytes of the remote's version of a section.
    func source(of section: EncryptedSection) async throws -> EncryptionSource {
        let (remote, key, condition) = (remote, key, condition)
        switch try await content() {
        case .nothing: return .none
        case .encrypted(let file, _):
            let body = RemoteBody(size: file.size(of: section)) { range in
                if range.isEmpty { return AsyncThrowingStream { $0.finish() } }
                let encrypted = file.encryptedRange(of: section, range)
                return try file.open(section, range, in: await remote.get(key, range: encrypted, if: condition))
            }
            return .body(body, version: row?.eTag)
        case .plain:
            guard encryption.readsPlainFiles else { throw CloudError.plainFile(key) }
            let place = Sidecar.key(of: place, section: ContentSections(section), isFolder: row?.isFolder ?? false)
            guard let there = try await remote.head(place) else { return .none }
            return .body(remote.body(of: there), version: there.eTag?.stored)
        }
    }

    /// The node's content key, if it is known and was wrapped by the current account key; otherwise a new one.
    func contentKey(_ keys: AccountKeys) async throws -> ContentKey {
        if found == nil, row?.knownSeal == nil { return ContentKey() }
        guard case .encrypted(let file, _) = try await content(), file.accountKey == keys.current.id else {
            return ContentKey()
        }
        return file.contentKey
    }
}

extension CloudContext {
    /// Stores how an upload is encrypted, until the upload has arrived.
    func storeUploadState(_ uploadState: UploadState, of node: Int64) throws {
        let data = try StoredJSON.encoder.encode(uploadState)
        if let upload = try context.first(.upload(of: node)) {
            upload.ticket = data
        } else {
            context.insert(SealedUpload(account: account, node: node, ticket: data))
        }
    }
}

extension CloudError {
    static func plainFile(_ key: RemoteKey) -> CloudError {
        CloudError(
            .notEncrypted,
            "\(key) is not encrypted. Open the account with `readsPlainFiles` to read plain files, or upload it again "
                + "from a machine that has its content."
        )
    }
}
