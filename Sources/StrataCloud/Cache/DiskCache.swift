public import Foundation
import GRDB
public import StrataPipeline
import Synchronization

/// A folder of downloaded files: found by node and version, limited in size, and kept while they are held.
///
/// ```swift
/// let cache = try await DiskCache.open(folder)
/// let place = try cache.temporaryPlace()
/// // … download into the file at `place` …
/// let film = try await cache.adopt(place, as: key, eTag: eTag)
/// play(film.file)
/// film.release()
/// ```
///
/// ## Eviction, expiry and deletion
///
/// - Files are **evictable** or **persistent**. If all files together exceed ``limit``, the least recently used
///   evictable files are evicted. Persistent files count towards the limit, and stay. If they alone exceed it, no
///   evictable file stays longer than it is held.
/// - Lookups do not find a file that has **expired**.
/// - A ``DownloadedFile`` **holds** its file until it is released. A held file is neither evicted nor deleted, even if
///   this or another process removes it or replaces it by another version, or if it expires.
/// - **Temporary** files are deleted when they are released. If their process ends first, the next opening of a cache
///   on the folder sweeps them.
///
/// ## Several processes, and crashes
///
/// Any number of caches may be open on one folder, in one process or several. The index is a small SQLite database in
/// the folder. So it can be deleted together with the folder, all processes share it regardless of their stores, and it
/// does not write into the history of the application's store. Each change is one transaction. A file is moved into the
/// folder inside the transaction that adds its entry, and deleted after the transaction that removes its entry. So a
/// killed process leaves at most a file without an entry, or an entry without a file, and opening a cache sweeps both.
///
/// Isolation: any. No thread of Swift's cooperative pool waits for the disk or for another process.
public final class DiskCache: Sendable {
    /// The default limit: 256 MiB.
    public static let defaultLimit: Int64 = 256 << 20

    /// The maximum number of bytes of all files together; see the class for the files that count.
    ///
    /// Each cache on a folder evicts by its own limit.
    public let limit: Int64
    let folder: CacheFolder
    /// The identifier by which the other caches on the folder know this cache.
    let owner: String
    let clock: any PipelineClock
    private let queue: DatabaseQueue
    /// Held until this cache is closed, or the process ends.
    let lock: Mutex<OwnerLock>

    struct OwnerLock: ~Copyable {
        var lock: CacheLock?
    }

    private init(
        folder: CacheFolder,
        limit: Int64,
        owner: String,
        clock: any PipelineClock,
        queue: DatabaseQueue,
        lock: consuming CacheLock?
    ) {
        self.folder = folder
        self.limit = limit
        self.owner = owner
        self.clock = clock
        self.queue = queue
        self.lock = Mutex(OwnerLock(lock: lock))
    }

    // MARK: Opening and closing

    /// Opens a cache, and sweeps files that ended processes have left.
    ///
    /// - Parameters:
    ///   - folder: the folder, which is created if it does not exist. It must not contain other files.
    ///   - limit: the limit in bytes.
    ///   - clock: the clock for the expiry of files.
    /// - Throws: ``CloudError`` with `cacheUnavailable` or `cacheDamaged`.
    /// - Complexity: linear in the number of files.
    public static func open(
        _ folder: URL,
        limit: Int64 = defaultLimit,
        clock: any PipelineClock = .system
    ) async throws -> DiskCache {
        let folder = CacheFolder(root: folder)
        let owner = UUID().uuidString
        do {
            try folder.create()
            let queue = try await openIndex(folder.index)
            let taken = Mutex(OwnerLock(lock: nil))
            // The lock is created inside the transaction. Otherwise another cache could sweep the file before it is
            // locked, as the file of a dead owner.
            try await queue.writeWithoutTransaction { database in
                try Self.run(database, folder) { index in
                    try CacheIndex.create(database)
                    let isTaken = taken.withLock { taken in
                        taken.lock = CacheLock(folder.lock(of: owner), creating: true)
                        return taken.lock != nil
                    }
                    guard isTaken else { throw POSIXError(.EACCES) }
                    try FileManager.default.createDirectory(
                        at: folder.temporary(of: owner),
                        withIntermediateDirectories: true
                    )
                    try index.sweep(at: clock.now, owner: owner)
                    _ = try index.evict(to: limit)
                }
            }
            let lock = taken.withLock { $0.lock.take() }
            return DiskCache(folder: folder, limit: limit, owner: owner, clock: clock, queue: queue, lock: lock)
        } catch {
            throw CloudError.cache(error, folder.root)
        }
    }

    private static func openIndex(_ file: URL) async throws -> DatabaseQueue {
        var configuration = Configuration()
        configuration.label = "strata.cache"
        // Other caches hold the index for milliseconds. A longer wait than ten seconds is reported as an error.
        configuration.busyMode = .timeout(10)
        configuration.journalMode = .wal
        // SQLite does not wait for other connections while a new database switches to WAL, because two waiting
        // connections would deadlock. So this loop waits.
        for _ in 0..<1000 {
            do {
                return try DatabaseQueue(path: file.path, configuration: configuration)
            } catch let error as DatabaseError where error.resultCode == .SQLITE_BUSY {
                try await Task.sleep(for: .milliseconds(10))
            }
        }
        return try DatabaseQueue(path: file.path, configuration: configuration)
    }

    /// Closes the cache: its holds are released, and its temporary files are deleted.
    ///
    /// Calling this method twice is safe.
    ///
    /// - Throws: ``CloudError`` with `cacheUnavailable`.
    public func close() async throws {
        guard let lock = self.lock.withLock({ $0.lock.take() }) else { return }
        let owner = owner
        try await transaction(isClosing: true) { index in try index.releaseAll(by: owner) }
        try? FileManager.default.removeItem(at: folder.temporary(of: owner))
        unlink(folder.lock(of: owner).path)
        _ = consume lock
        do { try queue.close() } catch { throw CloudError.cache(error, folder.root) }
    }

    func checkOpen() throws {
        if isClosed { throw CloudError(.cacheClosed, "The cache in '\(folder.root.path)' is closed.") }
    }

    private var isClosed: Bool { lock.withLock { $0.lock == nil } }

    // MARK: Transactions

    /// Runs a transaction on the index's own thread, and deletes the files that no longer have an entry.
    func transaction<Value: Sendable>(
        isClosing: Bool = false,
        _ body: @escaping @Sendable (inout CacheIndex) throws -> Value
    ) async throws -> Value {
        if !isClosing { try checkOpen() }
        let folder = folder
        do {
            return try await queue.writeWithoutTransaction { try Self.run($0, folder, body) }
        } catch {
            throw CloudError.cache(error, folder.root)
        }
    }

    /// Runs a transaction without waiting for it.
    func transactionLater(_ body: @escaping @Sendable (inout CacheIndex) throws -> Void) {
        guard !isClosed else { return }
        let folder = folder
        // If the transaction fails, the next opening does its work.
        queue.asyncWriteWithoutTransaction { try? Self.run($0, folder, body) }
    }

    private static func run<Value>(
        _ database: Database,
        _ folder: CacheFolder,
        _ body: (inout CacheIndex) throws -> Value
    ) throws -> Value {
        var result: Value?
        var garbage: [String] = []
        try database.inTransaction(.immediate) {
            var index = CacheIndex(database, folder)
            result = try body(&index)
            garbage = index.garbage
            return .commit
        }
        folder.delete(garbage)
        guard let result else { throw CancellationError() }
        return result
    }
}
