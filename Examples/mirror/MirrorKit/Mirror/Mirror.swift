public import Foundation
public import Logging
public import ServiceLifecycle
import Strata
public import StrataCloud
import StrataHTTP
import StrataPipeline

/// A folder and a remote that are kept the same.
///
/// Each turn brings what others have done into the tree (a pull), the folder to what the tree is (a placement), and what was done in the folder into
/// the tree (a scan, whose changes are one commit). What follows for the remote is queued by that commit, and sent meanwhile.
///
/// Isolation: its own; one turn at a time.
public actor Mirror: Service {
    /// What a mirror is of.
    public struct Configuration: Sendable {
        /// The folder; it must be there.
        public var folder: URL
        /// The file of the store, outside of the folder.
        public var store: URL
        public var remote: any Remote
        /// What is at the other end of a network says when it can be reached.
        public var reachability: Reachability?
        /// The name of this machine, for conflicts.
        public var host: String
        /// Whether it ends when both are the same.
        public var isOnce = false
        /// Whether a pull may remove any number of files here.
        public var allowsManyDeletes = false
        /// How long it rests between looks at the folder, and at the remote.
        public var scanInterval = Duration.seconds(1)
        public var pullInterval = Duration.seconds(5)
        /// How many bytes a second are sent at most.
        public var limit: Int?
        /// What a person is to do where the remote does not know who asks.
        public var credentialsHint: String?
        /// For how many days files are kept that others delete or replace; nil keeps none.
        public var trashDays: Int? = 30
        /// What tells the time for pauses.
        var now: @Sendable () -> ContinuousClock.Instant = { .now }
        /// What tells the day.
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
    let partings: Partings
    let screen: MirrorScreen
    private let lock: StoreLock
    let pauses: Pauses
    /// Whether both are the same, for one that works for that.
    public private(set) var isDone = false
    private var nextPull = ContinuousClock.now
    /// What is in the way of being done with.
    var isOffline = false
    var skipped: Set<LocalPath> = []
    /// What the last placement has left for later, and why.
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
        partings = handler.partings
        (self.screen, self.lock) = (screen, lock)
        pauses = Pauses(now: configuration.now)
        waits = WaitWatch(now: configuration.now)
        nextTrashSweep = configuration.date()
    }

    /// What goes wrong with files the screen says, and what has been tried and will be tried again nobody needs to know.
    public static var logger: Logger {
        var logger = Logger(label: "mirror")
        logger.logLevel = .error
        return logger
    }

    /// Opens the store, and goes on with what was queued when it was closed.
    ///
    /// - Throws: ``MirrorError`` where another process has the store; what the store and the file system report.
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
            note: { [screen] in screen.noteOnce($0) }
        )
        do {
            let exchanges = try await stack.background { context in
                try context.rows(MirrorEntry.all).compactMap(\.exchange)
            }
            for path in try handler.folder.sweep(exchanges, handler.conflictName) {
                screen.note("\(path) is what was written while another version took its place")
            }
            let account = try await CloudAccount.open(
                stack,
                id: "mirror",
                remote: configuration.remote,
                handler: handler,
                options: CloudOptions(
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

    /// Mirrors until it is shut down, or with `isOnce` until both are the same.
    ///
    /// - Throws: ``MirrorError`` with what has to be seen to by a person.
    public func run() async throws {
        do {
            try await cancelWhenGracefulShutdown { try await self.mirror() }
        } catch is CancellationError {
            if configuration.isOnce {
                let reason = waits.reason.map { " while it waited: \($0)" } ?? ""
                screen.note("stopped\(reason); the same command continues from here")
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
        do { try await stack.close() } catch { screen.note("the store: \(error)") }
    }

    /// Whatever goes wrong in one of its tasks ends all of them.
    private func mirror() async throws {
        let (account, screen) = (account, screen)
        try await withThrowingTaskGroup(of: Bool.self) { group in
            defer { group.cancelAll() }
            group.addTask {
                for try await progress in account.progressChanges() { screen.show(progress) }
                return false
            }
            group.addTask { [bell, interval = configuration.scanInterval] in
                while true {
                    try await Task.sleep(for: interval)
                    bell.ring()
                }
            }
            group.addTask { [bell, events = account.push.events] in
                for await event in events {
                    switch event {
                    // A node may have taken another name, or have become two: by a commit that is done when this is told.
                    case .retrying, .waiting: bell.ringForPlacement()
                    default: break
                    }
                }
                return false
            }
            group.addTask {
                try await self.takeTurns()
                return true
            }
            while try await group.next() == false {}
        }
        isDone = true
    }

    // MARK: Turns

    private func takeTurns() async throws {
        while try await !turn() {
            for await _ in bell.rings { break }
            try Task.checkCancellation()
        }
    }

    /// - Returns: whether there is nothing left to do, where that is what it works for.
    private func turn() async throws -> Bool {
        emptyTrash()
        // Without a look at the remote nobody knows.
        var isQuiet = false
        if try await isPullDue() {
            isQuiet = try await pull()
            nextPull = .now + configuration.pullInterval
        }
        if bell.takePlacement() {
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
        try await noteWaits()
        return false
    }

    /// Removes expired files from the trash, once a day.
    private func emptyTrash() {
        guard let trash = folder.trash, configuration.date() >= nextTrashSweep else { return }
        nextTrashSweep = configuration.date().addingTimeInterval(86400)
        do { try trash.sweep() } catch { screen.noteOnce("\(error)") }
    }

    /// Where it is to end, it looks once more as soon as nothing else is left.
    private func isPullDue() async throws -> Bool {
        if ContinuousClock.now >= nextPull { return true }
        guard configuration.isOnce, !isOffline else { return false }
        return try await account.progress().isIdle
    }

    /// - Returns: whether there was nothing new.
    private func pull() async throws -> Bool {
        do {
            var summary = try await account.pull(ignoringRemovalLimit: configuration.allowsManyDeletes)
            if isOffline { screen.note("the remote can be reached again") }
            isOffline = false
            if summary.unlisted > 0 {
                screen.noteOnce(
                    "the remote does not list \(summary.unlisted) of the files that it has; their deletes by others are not seen"
                )
            }
            // What the remote has and does not list is the same on both sides.
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
                screen.noteOnce(error.message)
                return false
            default: break
            }
            if !isOffline {
                let text = error.sentence
                let heading = text.contains("cannot be reached") ? "" : "the remote cannot be reached: "
                screen.note(heading + text + " What is changed here is sent later.")
            }
            isOffline = true
            return false
        } catch let error as CloudError where error.code == .remoteUnfit {
            throw MirrorError("\(error.message)")
        } catch let error as CloudError where error.code == .tooManyRemovals {
            throw MirrorError("\(error.message) The same command with --allow-many-deletes does so.")
        }
    }

    /// Whether all has been sent and has come.
    private func isSettled() async throws -> Bool {
        let progress = try await account.progress()
        // Marked downloads are not counted but compared with the folder: changes to paths that are left out do not come
        // here.
        if progress.operationsLeft == 0, progress.uploads.filesLeft == 0 {
            let isFollowed = try await differences().isEmpty
            if !isFollowed { bell.ringForPlacement() }
            return isFollowed
        }
        guard progress.operationsFailed > 0, progress.operationsFailed == progress.operationsLeft else { return false }
        let failed = try await operations { $0.status == .failed }.map { "\($0.path): \($0.reason)" }
        let heading = failed.count == 1 ? "an operation has failed" : "\(failed.count) operations have failed"
        throw MirrorError("\(heading):\n" + failed.joined(separator: "\n"))
    }
}
