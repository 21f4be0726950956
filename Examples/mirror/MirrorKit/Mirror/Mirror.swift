public import Foundation
public import Logging
public import ServiceLifecycle
import Strata
public import StrataCloud
import StrataHTTP
import StrataPipeline

/// Keeps a folder and a remote the same.
///
/// Each pass has three steps. A pull applies changes by other clients to the tree. A placement applies the tree to the
/// folder. A scan applies changes in the folder to the tree, in one commit. That commit also queues the operations for
/// the remote, which run concurrently with the passes.
///
/// Isolation: this actor, which runs one pass at a time.
public actor Mirror: Service {
    /// The configuration of a mirror.
    public struct Configuration: Sendable {
        /// The folder, which must exist.
        public var folder: URL
        /// The file of the store, outside of the folder.
        public var store: URL
        public var remote: any Remote
        /// Reports whether a remote on the network can be reached.
        public var reachability: Reachability?
        /// The name of this machine, for the names of conflict copies.
        public var host: String
        /// Whether the mirror ends when both sides are the same.
        public var isOnce = false
        /// Whether a pull may remove any number of local files.
        public var allowsManyDeletes = false
        /// The time between scans of the folder, and between pulls from the remote. A mirror that does not end by itself
        /// waits longer if a scan or a pull takes more than a tenth of this time.
        public var scanInterval = Duration.seconds(1)
        public var pullInterval = Duration.seconds(5)
        /// The maximum number of concurrent uploads, moves and deletes.
        public var maxConcurrentUploads = 8
        /// The maximum upload rate, in bytes per second.
        public var limit: Int?
        /// Advice for the user if the remote rejects the credentials.
        public var credentialsHint: String?
        /// The number of days for which files are kept that other clients delete or replace. Nil keeps no files.
        public var trashDays: Int? = 30
        /// The clock for pauses between attempts.
        var now: @Sendable () -> ContinuousClock.Instant = { .now }
        /// The calendar time.
        var date: @Sendable () -> Date = { Date() }

        /// - Parameter host: the name of this machine.
        public init(folder: URL, store: URL, remote: any Remote, host: String) {
            (self.folder, self.store, self.remote, self.host) = (folder, store, remote, host)
        }
    }

    let configuration: Configuration
    let stack: ContextStack
    let account: CloudAccount
    let folder: LocalFolder
    let conflictName: ConflictName
    let bell: Bell
    let pendingRenames: PendingRenames
    let screen: MirrorScreen
    private let lock: StoreLock
    let pauses: Pauses
    /// Whether both sides are the same. Set only if `isOnce` is true.
    public private(set) var isDone = false
    private var nextPull = ContinuousClock.now
    var scanPause: LookPause
    private var pullPause: LookPause
    /// Whether the remote is unreachable, which keeps the mirror from finishing.
    var isOffline = false
    var skipped: Set<LocalPath> = []
    /// The last scan that has found no differences from the entries, and the newest commit before it. Nil after other
    /// scans.
    var settled: (scan: FolderScan, token: HistoryToken)?
    /// The paths that the last placement has deferred, with the reasons.
    var postponed: [LocalPath: String] = [:]
    var waits: WaitWatch
    private var nextTrashSweep: Date

    private init(
        _ configuration: Configuration,
        _ stack: ContextStack,
        _ account: CloudAccount,
        _ handler: MirrorHandler,
        _ screen: MirrorScreen,
        _ lock: StoreLock
    ) {
        (self.configuration, self.stack, self.account) = (configuration, stack, account)
        (folder, conflictName, bell) = (handler.folder, handler.conflictName, handler.bell)
        pendingRenames = handler.pendingRenames
        (self.screen, self.lock) = (screen, lock)
        pauses = Pauses(now: configuration.now)
        waits = WaitWatch(now: configuration.now)
        scanPause = LookPause(atLeast: configuration.scanInterval)
        pullPause = LookPause(atLeast: configuration.pullInterval)
        nextTrashSweep = configuration.date()
    }

    /// Logs only errors: the screen reports problems with files, and attempts that will be repeated are not worth a log
    /// entry.
    public static var logger: Logger {
        var logger = Logger(label: "mirror")
        logger.logLevel = .error
        return logger
    }

    /// Opens the store, and continues with the operations that it contains.
    ///
    /// - Throws: ``MirrorError`` if another process uses the store; errors of the store and of the file system.
    public static func open(_ configuration: Configuration, screen: MirrorScreen) async throws -> Mirror {
        let lock = try StoreLock(configuration.store)
        let stack = try await ContextStack.open(
            .sqlite(configuration.store),
            models: [MirrorEntry.self] + CloudAccount.models,
            stack: .rootOnly,
            logger: logger
        )
        let handler = MirrorHandler(
            stack: stack,
            folder: LocalFolder(
                root: configuration.folder,
                trash: configuration.trashDays.map {
                    Trash(of: configuration.folder, store: configuration.store, days: $0, now: configuration.date)
                }
            ),
            conflictName: ConflictName(host: configuration.host, now: configuration.date),
            bell: Bell(),
            report: { [screen] in screen.reportOnce($0) }
        )
        do {
            let exchanges = try await stack.background { context in
                try context.rows(MirrorEntry.all).compactMap(\.exchange)
            }
            for path in try handler.folder.sweep(exchanges, handler.conflictName) {
                screen.report("\(path) has the content that was written while another version replaced the file")
            }
            let account = try await CloudAccount.open(
                stack,
                id: "mirror",
                remote: configuration.remote,
                handler: handler,
                options: CloudOptions(
                    maxConcurrent: configuration.maxConcurrentUploads,
                    reachability: configuration.reachability,
                    maxUploadRate: configuration.limit,
                    download: .byApplication,
                    cacheFolder: configuration.store.deletingPathExtension().appendingPathExtension("downloads")
                )
            )
            return Mirror(configuration, stack, account, handler, screen, lock)
        } catch {
            try await stack.close()
            throw error
        }
    }

    /// Mirrors until the service is shut down, or with `isOnce` until both sides are the same.
    ///
    /// - Throws: ``MirrorError`` for a problem that a person must solve.
    public func run() async throws {
        do {
            try await cancelWhenGracefulShutdown { try await self.mirror() }
        } catch is CancellationError {
            if configuration.isOnce {
                let reason = waits.reason.map { " while it waited: \($0)" } ?? ""
                screen.report("stopped\(reason); the same command continues from here")
            }
        } catch {
            await close()
            throw error
        }
        await close()
    }

    private func close() async {
        await account.close()
        await (configuration.remote as? S3Remote)?.close()
        await (configuration.remote as? WebDAVRemote)?.close()
        screen.finish()
        do { try await stack.close() } catch { screen.report("the store: \(error)") }
    }

    /// Runs the mirror's tasks. An error in one of them ends all of them.
    private func mirror() async throws {
        let (account, screen) = (account, screen)
        try await withThrowingTaskGroup(of: Bool.self) { group in
            defer { group.cancelAll() }
            group.addTask {
                for try await progress in account.progressChanges() { screen.show(progress) }
                return false
            }
            group.addTask { [bell, configuration] in
                while true {
                    // With `isOnce`, only a pass finds that all work is done.
                    let pause = configuration.isOnce ? configuration.scanInterval : await self.scanPause.length
                    try await Task.sleep(for: pause)
                    bell.ring()
                }
            }
            group.addTask { [bell, events = account.uploads.events] in
                for await event in events {
                    switch event {
                    // A conflict may have renamed or split a node. The event follows the commit, so the placement sees
                    // the change.
                    case .retrying, .waiting: bell.ringForPlacement()
                    default: break
                    }
                }
                return false
            }
            group.addTask {
                try await self.runPasses()
                return true
            }
            while try await group.next() == false {}
        }
        isDone = true
    }

    // MARK: Passes

    private func runPasses() async throws {
        while try await !runPass() {
            for await _ in bell.rings { break }
            try Task.checkCancellation()
        }
    }

    /// Runs one pass.
    ///
    /// - Returns: whether all work is done, if `isOnce` is true; otherwise false.
    private func runPass() async throws -> Bool {
        emptyTrash()
        // Without a pull, the state of the remote is unknown.
        var isQuiet = false
        if try await isPullDue() {
            let start = ContinuousClock.now
            isQuiet = try await pull()
            // Otherwise the time is not that of a listing alone.
            if isQuiet { pullPause.note(start.duration(to: .now)) }
            nextPull = .now + (isOffline ? configuration.pullInterval : pullPause.length)
        }
        if bell.consumePlacementRequest() {
            let placed = try await place()
            postponed = placed.reasons
            if placed.postponed > 0 || placed.changes > 0 {
                isQuiet = false
                bell.ringForPlacement()
                if placed.changes == 0 { try await Task.sleep(for: configuration.scanInterval) }
            }
        }
        if try await scan() > 0 { isQuiet = false }
        guard configuration.isOnce else { return false }
        if isQuiet, try await isSettled() { return true }
        try await reportWaits()
        return false
    }

    /// Removes expired files from the trash, once a day.
    private func emptyTrash() {
        guard let trash = folder.trash, configuration.date() >= nextTrashSweep else { return }
        nextTrashSweep = configuration.date().addingTimeInterval(86400)
        do { try trash.sweep() } catch { screen.reportOnce("\(error)") }
    }

    /// Whether a pull is due. With `isOnce`, a pull is also due as soon as no other work is left.
    private func isPullDue() async throws -> Bool {
        if ContinuousClock.now >= nextPull { return true }
        guard configuration.isOnce, !isOffline else { return false }
        // The progress reads each queued operation.
        let pipeline = account.uploads.name
        let isQueueEmpty = try await stack.background { context in
            try !context.exists(QueuedOperation.where { $0.pipeline == pipeline })
        }
        guard isQueueEmpty else { return false }
        return try await account.progress().isIdle
    }

    /// - Returns: whether the pull found no changes.
    private func pull() async throws -> Bool {
        do {
            var summary = try await account.pull(ignoringRemovalLimit: configuration.allowsManyDeletes)
            if isOffline { screen.report("the remote can be reached again") }
            isOffline = false
            if summary.unlisted > 0 {
                screen.reportOnce(
                    "the remote does not list \(summary.unlisted) of its files; deletes of these files at the remote "
                        + "are not noticed"
                )
            }
            // Files that the remote has but does not list are the same on both sides.
            summary.unlisted = 0
            return summary == PullSummary()
        } catch let error as RemoteError {
            switch error.code {
            case .unauthorized:
                throw MirrorError(
                    [error.message, configuration.credentialsHint].compactMap(\.self).joined(separator: " ")
                )
            case .forbidden, .untrusted, .misconfigured: throw MirrorError("\(error.message)")
            case .inconsistentListing:
                if configuration.isOnce { throw MirrorError("\(error.message)") }
                screen.reportOnce(error.message)
                return false
            default: break
            }
            if !isOffline {
                let text = error.sentence
                let heading = text.contains("cannot be reached") ? "" : "the remote cannot be reached: "
                screen.report(heading + text + " Changes here are uploaded later.")
            }
            isOffline = true
            return false
        } catch let error as CloudError where error.code == .incompatibleRemote {
            throw MirrorError("\(error.message)")
        } catch let error as CloudError where error.code == .tooManyRemovals {
            throw MirrorError("\(error.message) To delete the files, add --allow-many-deletes to the command.")
        }
    }

    /// Whether all changes have been uploaded and downloaded.
    private func isSettled() async throws -> Bool {
        let progress = try await account.progress()
        // Marked downloads are not counted. Instead, the tree is compared with the folder, because changes to paths
        // that are left out are not downloaded.
        if progress.operationsLeft == 0, progress.uploads.filesLeft == 0 {
            let isFollowed = try await differences().isEmpty
            if !isFollowed { bell.ringForPlacement() }
            return isFollowed
        }
        guard progress.operationsFailed > 0, progress.operationsFailed == progress.operationsLeft else { return false }
        let failed = try await operations(.failed).map { "\($0.path): \($0.reason)" }
        let heading = failed.count == 1 ? "an operation has failed" : "\(failed.count) operations have failed"
        throw MirrorError("\(heading):\n" + failed.joined(separator: "\n"))
    }
}
