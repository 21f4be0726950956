import Foundation
import Strata
import Synchronization

extension Downloads {
    /// Where content lies at the remote, and what was heard of it last.
    struct Source: Sendable {
        /// Where the node lies, and whether it is a folder.
        let place: RemoteKey
        let isFolder: Bool
        /// The file: where content is sealed, that of all sections.
        let key: RemoteKey
        /// The version of the section.
        let eTag: ETag?
        /// The version of the file.
        var version: ETag?
        /// The size of the file in bytes; nil where that is not known.
        var size: Int64?
        /// When the file was written, by the remote's clock.
        var modifiedAt: Date?
        /// Whether what the cache has of the version is its content: where content is sealed that is so when the file was looked at.
        var isSettled = true
        /// How the version is sealed, where content is sealed and that is known.
        var seal: KnownSeal?
    }

    func source(of place: Place) async throws -> Source {
        let facts = facts
        return try await stack.overStore { context in
            let cloud = CloudContext(context, facts)
            guard let remote = try cloud.remote(place.node), remote.isCertain, remote.has(place.section) else {
                let node = try context.find(cloud.nodeID(place.node))
                let message =
                    switch node {
                    case nil:
                        "The store has no node \(place.node): it was deleted, or it is not committed yet. What a block has made "
                            + "can be downloaded after its commit, as by `cloud.afterCommit { account in … }`."
                    case let node? where node.isFolder: "\(node.path) is a folder without content."
                    case let node?: "The remote has no content of \(node.path)."
                    }
                throw CloudError(.noSuchNode, message, nodes: [place.node])
            }
            let row = remote.snapshot
            let file = facts.isSealed ? ContentSections.data : place.section
            let version = row.eTag(of: file)
            let key = try remote.key
            return Source(
                place: key,
                isFolder: remote.isFolder,
                key: Sidecar.key(key, file, isFolder: remote.isFolder),
                eTag: row.eTag(of: place.section, isSealed: facts.isSealed),
                version: version,
                size: file == .data || file == .header ? row.size : nil,
                modifiedAt: row.modifiedAt,
                isSettled: !facts.isSealed || row.knownSeal != nil,
                // A version that is weak may stand for another content.
                seal: version?.isWeak ?? true ? nil : row.knownSeal
            )
        }
    }

    /// Brings a section here. Where that breaks off, what has arrived stays for the next time.
    func transfer(_ place: Place) async -> Result<Arrival, any Error> {
        let result = await followedTransfer(place)
        if transfers.hasManyPassed { await settleUnmarked() }
        return result
    }

    /// Counts as done what has arrived and is marked no more. Where many stay marked, it is the longer until the next look.
    private func settleUnmarked() async {
        let (facts, passed) = (facts, transfers.passedDownloads)
        let unmarked = try? await stack.overStore { context in
            let cloud = CloudContext(context, facts)
            return try passed.filter { try !cloud.isMarked($0.number, $0.section) }
        }
        transfers.settle(downloads: unmarked ?? [])
    }

    private func followedTransfer(_ place: Place) async -> Result<Arrival, any Error> {
        do {
            let key = TransferBook.Key(direction: .download, number: place.node, section: place.section)
            let transfer = transfers.begin(key, of: place.node, size: nil)
            defer { transfer.end() }
            return .success(
                try await persistently(place) { source in
                    if let sealing { return try await self.fetchOpened(source, place, sealing, transfer) }
                    transfer.resume(at: 0, of: source.size)
                    return try await self.fetch(source, place, transfer)
                }
            )
        } catch {
            return .failure(error)
        }
    }

    /// Asks the remote again if the error may pass, and for another version if the remote has a newer one.
    ///
    /// While the remote rests, nothing is asked. A transfer that gains bytes each time continues however often its
    /// connection breaks.
    func persistently<Value: Sendable>(_ place: Place, _ body: (Source) async throws -> Value) async throws -> Value {
        var source = try await source(of: place)
        let gains = Mutex(0)
        var (attempt, known) = (1, 0)
        while true {
            try await availability.enterWhenThere(isPatient: known > 0)
            do {
                defer { availability.leave() }
                return try await WatchedRemote.$progress.withValue({ gains.withLock { $0 += 1 } }) {
                    try await naming(source, place, body)
                }
            } catch let error as RemoteError where Self.isPassing(error) || error.isOfRemote {
                let gained = gains.withLock { $0 }
                // A transfer that breaks off after some bytes is resumed after them.
                attempt = gained > known && error.isOfRemote ? 1 : attempt + 1
                // If nothing was sent, and nothing has come yet, the caller gets the error.
                guard attempt <= Self.tries, gained > 0 || error.code != .unreachable else { throw error }
                known = gained
                // The remote's own pause is waited for above.
                let pause = error.isOfRemote ? .zero : error.retryAfter ?? Self.pause * (attempt - 1)
                // A transfer neither waits for a day, nor asks sooner than the server allows.
                guard max(pause, error.retryAfter ?? .zero) <= Self.longestPause else { throw error }
                // The remote has another version now: that is downloaded, and the answer names it. Or the size is not
                // the known one.
                if error.code == .conditionFailed || error.code == .damagedContent {
                    let there = try await remote.head(source.key)
                    if !ETag.isSame(there?.eTag, source.version?.stored) { source.seal = nil }
                    (source.version, source.size) = (there?.eTag, there?.size)
                }
                try await Task.sleep(for: pause)
            }
        }
    }

    /// Says in errors which file does not open.
    private func naming<Value>(
        _ source: Source,
        _ place: Place,
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

    /// Goes on behind what has arrived of a version.
    func fetch(_ source: Source, _ place: Place, _ transfer: FollowedTransfer) async throws -> Arrival {
        let (key, version) = (source.key, source.version)
        let partial = try partialFile(place.name, version?.stored ?? "")
        // A version that is weak may stand for another content.
        let isCertain = version.map { !$0.isWeak } ?? false
        var begin = isCertain ? try partial.size() : 0
        if let size = source.size, begin > size { begin = 0 }
        let range = begin > 0 ? source.size.map { begin..<$0 } : nil
        let download = try await remote.get(key, range: range, if: version.map { .matches($0) } ?? .none)
        // Another size than was listed means another version, or an answer of a proxy.
        if let heard = source.size, let size = download.object.size, size != heard {
            throw RemoteError(.damagedContent, "\(key) has \(heard) bytes, and \(size) were offered.", key: key)
        }
        guard download.range.lowerBound <= begin else {
            throw RemoteError(.damagedContent, "Bytes of \(key) were left out behind \(begin).", key: key)
        }
        try partial.cut(at: download.range.lowerBound)
        var position = download.range.lowerBound
        transfer.resume(at: position, of: download.object.size)
        // Bytes that are not kept bring the next attempt no further.
        try await WatchedRemote.$progress.withValue(isCertain ? WatchedRemote.progress : nil) {
            for try await chunk in download.chunks {
                try partial.append(chunk)
                position += Int64(chunk.count)
                transfer.pass(Int64(chunk.count), to: position)
            }
        }
        // To a task that is cancelled the chunks just end.
        try Task.checkCancellation()
        let size = try partial.size()
        if let whole = download.object.size, whole != size {
            if size > whole { try partial.cut(at: 0) }
            throw RemoteError(.damagedContent, "Of the \(whole) bytes of \(key), \(size) have arrived.", key: key)
        }
        let file = try partial.finish()
        transfer.pass(all: size)
        return Arrival(file, download.object.eTag ?? version)
    }

    /// - Parameter version: what tells the bytes from those of another time.
    func partialFile(_ name: String, _ version: String) throws -> PartialFile {
        try PartialFile(Self.partials(in: folder), facts.account, name, version, limit: limit)
    }
}

extension RemoteNode {
    /// Whether there may be such a section. A folder may have metadata and a thumbnail without having content.
    fileprivate func has(_ section: ContentSections) -> Bool {
        if section == .data { return snapshot.hasContent }
        return !isFolder || eTag != nil || [.metadata, .thumbnail].contains(section)
    }
}
