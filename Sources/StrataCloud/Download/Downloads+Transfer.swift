import Foundation
import Strata
import Synchronization

extension Downloads {
    /// The location of content at the remote, and the last known metadata.
    struct Source: Sendable {
        /// The key of the node, and whether the node is a folder.
        let place: RemoteKey
        let isFolder: Bool
        /// The key of the file. With encryption, one file contains all sections.
        let key: RemoteKey
        /// The version of the section.
        let eTag: ETag?
        /// The version of the file.
        var version: ETag?
        /// The size of the file in bytes; nil if it is unknown.
        var size: Int64?
        /// The date of the last write, by the remote's clock.
        var modifiedAt: Date?
        /// Whether a cached file of this version is certainly the content.
        ///
        /// With encryption, the answer is certain only after the file's preamble has been read.
        var isCacheTrusted = true
        /// The encryption state of the version, if the account encrypts and the state is known.
        var seal: KnownSeal?
    }

    func source(of place: SectionID) throws -> Source {
        let info = info
        return try stack.readOverStore { context in
            let cloud = CloudContext(context, info)
            guard let remote = try cloud.remote(place.node), remote.isCertain, remote.has(place.section) else {
                let node = try context.find(cloud.nodeID(place.node))
                let message =
                    switch node {
                    case nil:
                        "The store has no node \(place.node): it was deleted, or it is not committed yet. Nodes that "
                            + "a block has created can be downloaded after its commit, for example in "
                            + "`cloud.afterCommit { account in … }`."
                    case let node? where node.isFolder: "\(node.path) is a folder without content."
                    case let node?: "The remote has no content of \(node.path)."
                    }
                throw CloudError(.noSuchNode, message, nodes: [place.node])
            }
            let row = remote.snapshot
            let file = info.isEncrypted ? ContentSections.data : place.section
            let version = row.eTag(of: file)
            let key = try remote.key
            return Source(
                place: key,
                isFolder: remote.isFolder,
                key: Sidecar.key(of: key, section: file, isFolder: remote.isFolder),
                eTag: row.eTag(of: place.section, isEncrypted: info.isEncrypted),
                version: version,
                size: file == .data || file == .header ? row.size : nil,
                modifiedAt: row.modifiedAt,
                isCacheTrusted: !info.isEncrypted || row.knownSeal != nil,
                // A weak version may belong to different content.
                seal: version?.isWeak ?? true ? nil : row.knownSeal
            )
        }
    }

    /// Downloads a section. If the transfer breaks off, the bytes that have arrived stay for the next transfer.
    func transfer(_ place: SectionID) async -> Result<Arrival, any Error> {
        let result = await trackedTransfer(place)
        if transfers.hasManyPassed { await completeUnmarked() }
        return result
    }

    /// Counts downloads as done if they have arrived and are not marked any more.
    ///
    /// The more of them stay marked, the later the next check.
    private func completeUnmarked() async {
        let (info, passed) = (info, transfers.passedDownloads)
        let unmarked = try? await stack.overStore { context in
            let cloud = CloudContext(context, info)
            return try passed.filter { try !cloud.isMarked($0.number, $0.section) }
        }
        transfers.complete(downloads: unmarked ?? [])
    }

    private func trackedTransfer(_ place: SectionID) async -> Result<Arrival, any Error> {
        do {
            let key = TransferTracker.Key(direction: .download, number: place.node, section: place.section)
            let transfer = transfers.begin(key, of: place.node, size: nil)
            defer { transfer.end() }
            return .success(
                try await persistently(place) { source in
                    if let encryption { return try await self.fetchOpened(source, place, encryption, transfer) }
                    transfer.resume(at: 0, of: source.size)
                    return try await self.fetch(source, place, transfer)
                }
            )
        } catch {
            return .failure(error)
        }
    }

    /// Retries a request if the error may be temporary, and fetches the new version if the remote has one.
    ///
    /// While the remote rests, no request is sent. A transfer that gains bytes in each attempt continues, no matter how
    /// often its connection breaks.
    func persistently<Value: Sendable>(_ place: SectionID, _ body: (Source) async throws -> Value) async throws -> Value
    {
        var source = try source(of: place)
        let gains = Mutex(0)
        var (attempt, known) = (1, 0)
        while true {
            try await availability.enterWhenThere(isPatient: known > 0)
            do {
                defer { availability.leave() }
                return try await WatchedRemote.$progress.withValue(.init { gains.withLock { $0 += 1 } }) {
                    try await naming(source, place, body)
                }
            } catch let error as RemoteError where Self.isPassing(error) || error.isOfRemote {
                let gained = gains.withLock { $0 }
                // A transfer that breaks off after some bytes is resumed after these bytes.
                attempt = gained > known && error.isOfRemote ? 1 : attempt + 1
                // If nothing was sent and nothing has arrived yet, the caller gets the error.
                guard attempt <= Self.tries, gained > 0 || error.code != .unreachable else { throw error }
                known = gained
                // `enterWhenThere` waits for the pause of the remote itself.
                let pause = error.isOfRemote ? .zero : error.retryAfter ?? Self.pause * (attempt - 1)
                // A transfer does not wait for longer than 30 seconds, and does not retry sooner than the server
                // allows.
                guard max(pause, error.retryAfter ?? .zero) <= Self.longestPause else { throw error }
                // Either the remote has another version now, which is then downloaded and returned with the file. Or
                // the size is not the known one.
                if error.code == .conditionFailed || error.code == .damagedContent {
                    let there = try await remote.head(source.key)
                    if !ETag.isSame(there?.eTag, source.version?.stored) { source.seal = nil }
                    (source.version, source.size) = (there?.eTag, there?.size)
                }
                try await Task.sleep(for: pause)
            }
        }
    }

    /// Adds the key of the file to errors of decryption.
    private func naming<Value>(
        _ source: Source,
        _ place: SectionID,
        _ body: (Source) async throws -> Value
    ) async throws -> Value {
        do { return try await body(source) } catch let error as CloudError where error.nodes.isEmpty {
            throw CloudError(error.code, "\(source.key): \(error.message)", nodes: [place.node], underlying: error)
        }
    }

    private static let tries = 4
    private static let pause = Duration.milliseconds(100)
    private static let longestPause = Duration.seconds(30)

    private static func isPassing(_ error: RemoteError) -> Bool {
        switch error.code {
        case .conditionFailed, .answerLost, .unavailable, .throttled, .damagedContent: true
        default: false
        }
    }

    /// Fetches a file, and resumes after the bytes of this version that have already arrived.
    func fetch(_ source: Source, _ place: SectionID, _ transfer: TrackedTransfer) async throws -> Arrival {
        let (key, version) = (source.key, source.version)
        let partial = try partialFile(place.name, version?.stored ?? "")
        // A weak version may belong to different content, so its bytes are not resumed.
        let isCertain = version.map { !$0.isWeak } ?? false
        var begin = isCertain ? try partial.size() : 0
        if let size = source.size, begin > size { begin = 0 }
        let range = begin > 0 ? source.size.map { begin..<$0 } : nil
        let download = try await remote.get(key, range: range, if: version.map { .matches($0) } ?? .none)
        // A size that differs from the listing means another version, or an answer of a proxy.
        if let heard = source.size, let size = download.object.size, size != heard {
            throw RemoteError(.damagedContent, "\(key) has \(heard) bytes, and the remote offered \(size).", key: key)
        }
        guard download.range.lowerBound <= begin else {
            throw RemoteError(.damagedContent, "The remote left out bytes of \(key) after byte \(begin).", key: key)
        }
        try partial.cut(at: download.range.lowerBound)
        var position = download.range.lowerBound
        transfer.resume(at: position, of: download.object.size)
        // Bytes of a weak version are not kept, so they do not advance the next attempt.
        try await WatchedRemote.$progress.withValue(isCertain ? WatchedRemote.progress : nil) {
            for try await chunk in download.chunks {
                try partial.append(chunk)
                position += Int64(chunk.count)
                transfer.pass(Int64(chunk.count), to: position)
            }
        }
        // If the task is cancelled, the chunks just end.
        try Task.checkCancellation()
        let size = try partial.size()
        if let whole = download.object.size, whole != size {
            if size > whole { try partial.cut(at: 0) }
            throw RemoteError(.damagedContent, "\(size) of the \(whole) bytes of \(key) have arrived.", key: key)
        }
        let file = try partial.finish()
        transfer.pass(all: size)
        return Arrival(file, download.object.eTag ?? version)
    }

    /// - Parameter version: the text that distinguishes these bytes from the bytes of other versions.
    func partialFile(_ name: String, _ version: String) throws -> PartialFile {
        try PartialFile(Self.partials(in: folder), info.account, name, version, limit: limit)
    }
}

extension RemoteNode {
    /// Whether the node may have this section. A folder may have metadata and a thumbnail without having content.
    fileprivate func has(_ section: ContentSections) -> Bool {
        if section == .data { return snapshot.hasContent }
        return !isFolder || eTag != nil || [.metadata, .thumbnail].contains(section)
    }
}
