public import Foundation
import GRDB
public import StrataPipeline
import Synchronization

/// Downloaded files in a folder: found by node and version, limited in size, and kept while somebody holds them.
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
/// ## What goes, and when
///
/// - Files are **evictable** or **persistent**. Where all of them together are larger than ``limit``, the evictable ones go that were not used for the longest
///   time. Persistent ones count, and stay; if they alone are larger, no evictable one remains longer than it is held.
/// - A file that has **expired** is found no more.
/// - A ``DownloadedFile`` **holds** its file until it is released: it is neither evicted nor deleted, also where it is removed, replaced by another
///   version or expires meanwhile, in this or another process.
/// - **Temporary** files are deleted when they are released, and swept when a cache is opened on the folder after their process has ended.
///
/// ## Several processes, and crashes
///
/// Any number of caches may be open on one folder, in one process or several. The index is a small SQLite database of the folder's own, so that it can be deleted with
/// it, is shared by all processes whatever their stores are, and writes nothing into the history of the application's store. Each change is one
/// transaction. A file is moved into the folder within the transaction that names it, and deleted behind the one that forgets it. So whenever
/// a process is killed there is at most a file without entry, or an entry without file, and opening sweeps both.
///
/// Isolation: any. No thread of Swift's pool waits for the disk or for another process.
public final class DiskCache: Sendable {
    /// The limit where none is given: 256 MiB.
    public static let defaultLimit: Int64 = 256 << 20

    /// How many bytes the files may have together; see the class for what counts. Each cache on a folder evicts by its own limit.
    public let limit: Int64
    let folder: CacheFolder
    /// By which the other caches on the folder know this one.
    let owner: String
    let clock: any PipelineClock
    private let queue: DatabaseQueue
    /// Held until this is closed, or the process ends.
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

    /// Opens a cache, and sweeps what earlier processes have left.
    ///
    /// - Parameters:
    ///   - folder: is made where it is not there. Nothing else should be kept in it.
    ///   - limit: in bytes.
    ///   - clock: by which files expire.
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
            // The lock is made within the transaction, since a sweep of somebody else would take it for that of a dead one before it is held.
            let garbage = try await queue.writeWithoutTransaction { database in
                var garbage: [String] = []
                try database.inTransaction(.immediate) {
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
                    var index = CacheIndex(database, folder)
                    try index.sweep(at: clock.now, owner: owner)
                    _ = try index.evict(to: limit)
                    garbage = index.garbage
                    return .commit
                }
                return garbage
            }
            folder.delete(garbage)
            let lock = taken.withLock { $0.lock.take() }
            return DiskCache(folder: folder, limit: limit, owner: owner, clock: clock, queue: queue, lock: lock)
        } catch {
            throw CloudError.cache(error, folder.root)
        }
    }

    private static func openIndex(_ file: URL) async throws -> DatabaseQueue {
        var configuration = Configuration()
        configuration.label = "strata.cache"
        // Others hold it for milliseconds; whoever has to wait longer than this is told so.
        configuration.busyMode = .timeout(10)
        configuration.journalMode = .wal
        // SQLite does not wait for others when a new file gets its journal, since two who wait there would wait for each other.
        for _ in 0..<1000 {
            do {
                return try DatabaseQueue(path: file.path, configuration: configuration)
            } catch let error as DatabaseError where error.resultCode == .SQLITE_BUSY {
                try await Task.sleep(for: .milliseconds(10))
            }
        }
        return try DatabaseQueue(path: file.path, configuration: configuration)
    }

    /// Closes the cache: what it holds is released, and its temporary files are deleted. Safe to call twice.
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

    /// Runs a transaction on the index's own thread, and deletes what it has made superfluous.
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

    /// The same, for those who do not wait for it.
    func transactionLater(_ body: @escaping @Sendable (inout CacheIndex) throws -> Void) {
        guard !isClosed else { return }
        let folder = folder
        // Whatever it has failed to do, the next opening does.
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
