import Foundation
public import Strata
import Synchronization

/// The downloads of an account. All requests for one section of a node share one transfer.
///
/// ```swift
/// let film = try await account.downloads.fetch(node, .data, options: .init(cache: true))
/// play(film.file)
/// film.release()
/// ```
///
/// If a transfer breaks off, its bytes are kept beside the cache. The next transfer resumes after them, if the remote
/// still has that version.
///
/// Isolation: any.
public final class Downloads: Sendable {
    private struct State {
        var transfers: [SectionID: Transfer] = [:]
        var lastWaiter = 0
        var isClosed = false
        var cache: Task<DiskCache, any Error>?
    }

    /// A running transfer, and the requests that wait for it.
    private struct Transfer {
        let id: Int
        let task: Task<Void, Never>
        /// Whether all requests of the transfer were cancelled.
        var isAbandoned = false
        var waiters: [Int: CheckedContinuation<Arrival, any Error>]
    }

    /// The section of a node. Each has at most one transfer.
    struct SectionID: Hashable, Sendable {
        let node: Int64
        let section: ContentSections

        /// The prefix of the names of partial files.
        var name: String { "\(node)-\(section.rawValue)" }
    }

    private let state = Mutex(State())
    let stack: ContextStack
    let info: AccountInfo
    let remote: any Remote
    let availability: RemoteAvailability
    /// The keys for decrypting content; nil if the account does not encrypt.
    let encryption: ContentEncryption?
    /// Which marked sections are downloaded, and whether the account or the application downloads them.
    let policy: DownloadPolicy
    let folder: URL
    /// The records of transfer progress.
    let transfers: TransferTracker
    let limit: Int64

    init(
        _ stack: ContextStack,
        _ info: AccountInfo,
        _ remote: any Remote,
        _ availability: RemoteAvailability,
        _ options: CloudOptions,
        _ transfers: TransferTracker
    ) {
        self.transfers = transfers
        (self.stack, self.info, self.remote, self.availability) = (stack, info, remote, availability)
        (encryption, limit, policy) = (options.encryption, options.cacheLimit, options.download)
        folder = Self.folder(options.cacheFolder, of: stack)
    }

    /// The requested folder, or otherwise a folder for this store in the user's caches folder.
    static func folder(_ folder: URL?, of stack: ContextStack) -> URL {
        if let folder { return folder }
        let caches =
            FileManager.default.urls(for: .cachesDirectory, in: .userDomainMask).first
            ?? FileManager.default.temporaryDirectory
        return caches.appending(path: "strata-\(String(stack.fingerprint, radix: 16))")
    }

    static func files(in folder: URL) -> URL { folder.appending(path: "files") }

    static func partials(in folder: URL) -> URL { folder.appending(path: "partial") }

    /// The cache of the account, which is opened at its first use.
    ///
    /// - Throws: ``CloudError`` with `cacheUnavailable` or `cacheDamaged`, or `closed`.
    public func cache() async throws -> DiskCache {
        let task = try state.withLock { state in
            guard !state.isClosed else { throw Self.closedError }
            if let task = state.cache { return task }
            let task = Task { [folder, limit] in
                try await DiskCache.open(Self.files(in: folder), limit: limit)
            }
            state.cache = task
            return task
        }
        do { return try await task.value } catch {
            // A later attempt to open the cache may succeed, and may have begun.
            state.withLock { state in if state.cache == task { state.cache = nil } }
            throw error
        }
    }

    private static let closedError = CloudError(.closed, "The account is closed.")

    // MARK: Asking

    /// Downloads a section of a node, or takes it from the cache.
    ///
    /// - Parameters:
    ///   - node: the id of the node.
    ///   - section: exactly one of metadata, thumbnail and data.
    ///   - options: the handling of the file. By default it is temporary.
    /// - Returns: the file with its version. It is held until it is released.
    /// - Throws: ``CloudError`` with `noSuchNode` if the remote is not known to have the section, with `wrongSections`,
    ///   with a code of the cache, or with the reason why an encrypted file cannot be decrypted. Then no file exists.
    ///   Also `RemoteError`; `CancellationError`, even if another task continues the same transfer.
    public func fetch(
        _ node: ObjectID<CloudNode>,
        _ section: ContentSections = .data,
        options: DownloadOptions = DownloadOptions()
    ) async throws -> DownloadedFile {
        try await begin(node, section, options: options).file
    }

    /// Begins a download, and returns a ticket that can be cancelled. Otherwise it works as ``fetch(_:_:options:)``.
    public func begin(
        _ node: ObjectID<CloudNode>,
        _ section: ContentSections = .data,
        options: DownloadOptions = DownloadOptions()
    ) throws -> DownloadTicket {
        guard [.metadata, .thumbnail, .data].contains(section) else {
            throw CloudError(
                .wrongSections,
                "A download takes one section (metadata, thumbnail or data), not \(section).",
                nodes: [node.rawValue]
            )
        }
        guard !state.withLock({ $0.isClosed }) else { throw Self.closedError }
        let place = SectionID(node: node.rawValue, section: section)
        return DownloadTicket(task: Task { try await self.obtain(place, options) })
    }

    private func obtain(_ place: SectionID, _ options: DownloadOptions) async throws -> DownloadedFile {
        let cache = try await cache()
        let key = CacheKey(account: info.account, node: place.node, sections: place.section)
        if options.cache {
            let source = try source(of: place)
            if source.isCacheTrusted, let known = source.eTag, let file = try await cache.file(key, eTag: known) {
                return file
            }
        }
        let arrival = try await join(place)
        defer { arrival.leave() }
        // Another request of the same transfer may have put the file into the cache. A file without a version may
        // differ from a cached one, so the cache is not used for it.
        if options.cache, let eTag = arrival.eTag, let file = try await cache.file(key, eTag: eTag) { return file }
        // Each request gets a separate name for the same file.
        let own = try cache.temporaryPlace()
        do {
            try arrival.link(to: own)
            guard options.cache else { return try cache.temporary(own, sections: key.sections, eTag: arrival.eTag) }
            return try await cache.adopt(
                own,
                as: key,
                eTag: arrival.eTag,
                retention: options.retention,
                expires: options.expires
            )
        } catch {
            // Otherwise the file would stay until the account is closed, once for each attempt, and occupy the space
            // that is missing on a full disk.
            unlink(own.path)
            throw CloudError.cache(error, cache.folder.root)
        }
    }

    // MARK: Sharing transfers

    /// Waits for the transfer of a place, and begins the transfer if none is running.
    private func join(_ place: SectionID) async throws -> Arrival {
        let id = state.withLock { state in
            state.lastWaiter += 1
            return state.lastWaiter
        }
        return try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                let error: (any Error)? = state.withLock { state in
                    if state.isClosed { return Self.closedError }
                    if Task.isCancelled { return CancellationError() }
                    let known = state.transfers[place]
                    if known?.isAbandoned ?? true {
                        let task = Task {
                            // The new transfer resumes from the bytes of the abandoned one, after that one has ended.
                            await known?.task.value
                            self.finish(place, id, await self.transfer(place))
                        }
                        state.transfers[place] = Transfer(id: id, task: task, waiters: [:])
                    }
                    state.transfers[place]?.waiters[id] = continuation
                    return nil
                }
                if let error { continuation.resume(throwing: error) }
            }
        } onCancel: {
            leave(place, id)
        }
    }

    private func finish(_ place: SectionID, _ id: Int, _ result: Result<Arrival, any Error>) {
        let waiters = state.withLock { state -> [Int: CheckedContinuation<Arrival, any Error>] in
            // Another transfer may have replaced this one.
            guard state.transfers[place]?.id == id else { return [:] }
            return state.transfers.removeValue(forKey: place)?.waiters ?? [:]
        }
        if case .success(let arrival) = result { arrival.expect(waiters.count) }
        for waiter in waiters.values { waiter.resume(with: result) }
    }

    private func leave(_ place: SectionID, _ id: Int) {
        let (waiter, task) = state.withLock { state in
            let waiter = state.transfers[place]?.waiters.removeValue(forKey: id)
            // The last waiter to leave cancels the transfer.
            let isLast = waiter != nil && state.transfers[place]?.waiters.isEmpty ?? false
            if isLast { state.transfers[place]?.isAbandoned = true }
            return (waiter, isLast ? state.transfers[place]?.task : nil)
        }
        task?.cancel()
        waiter?.resume(throwing: CancellationError())
    }

    func close() async {
        let (tasks, cache) = state.withLock { state in
            state.isClosed = true
            return (state.transfers.values.map(\.task), state.cache)
        }
        for task in tasks { task.cancel() }
        for task in tasks { await task.value }
        if let cache = try? await cache?.value { try? await cache.close() }
    }
}

/// A downloaded file that several requests share. The file is deleted after the last of them has left.
final class Arrival: Sendable {
    private let file: URL
    let eTag: ETag?
    private let waiting = Mutex(0)

    init(_ file: URL, _ eTag: ETag?) { (self.file, self.eTag) = (file, eTag) }

    deinit { try? FileManager.default.removeItem(at: file) }

    /// Sets the number of waiting requests, before they resume.
    func expect(_ count: Int) { waiting.withLock { $0 = count } }

    /// Records that one of the requests does not need the file any more.
    func leave() {
        let isLast = waiting.withLock { count in
            count -= 1
            return count == 0
        }
        if isLast { try? FileManager.default.removeItem(at: file) }
    }

    func link(to other: URL) throws {
        do {
            try FileManager.default.linkItem(at: file, to: other)
        } catch {
            // Some file systems do not support hard links.
            try FileManager.default.copyItem(at: file, to: other)
        }
    }
}
