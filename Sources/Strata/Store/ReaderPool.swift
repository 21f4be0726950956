import DequeModule
import Dispatch
import Synchronization

/// The connections that read, and how many blocks may use them at one time.
///
/// A block of its own takes a place before it begins, and waits for one in the order of calls. All others are given a reader
/// whenever they ask: blocks within blocks, which may be what those in the places wait for; named contexts and main, which are
/// few; cursors and live queries. What they use is counted, so that fewer places are given.
///
/// Isolation: any.
final class ReaderPool: Sendable {
    private struct State {
        var idle: [Reader] = []
        /// How many there are, those in use among them.
        var openCount = 0
        /// How many blocks have a place.
        var places = 0
        /// How many are used by others.
        var others = 0
        var waiters: Deque<Waiter> = []
        /// How often a place was left, to see whether anything goes on.
        var leaveCount = 0
        /// Whether somebody looks whether anything goes on.
        var isWatched = false
        var isClosed = false

        func hasRoom(_ limit: Int) -> Bool { places == 0 || places + others < limit }

        /// Gives places to those who have waited longest.
        ///
        /// - Parameter isForced: whether one is given though there is no room.
        mutating func serve(_ limit: Int, isForced: Bool = false) -> [CheckedContinuation<Void, any Error>] {
            var served: [CheckedContinuation<Void, any Error>] = []
            while !waiters.isEmpty, hasRoom(limit) || isForced && served.isEmpty {
                guard let continuation = waiters.removeFirst().grant() else { continue }
                places += 1
                served.append(continuation)
            }
            return served
        }
    }

    private let writer: StoreWriter
    private let identity: StoreIdentity
    private let entities: [any AnyEntity]
    private let telemetry: Telemetry
    private let limit: Int
    private let cacheSize: Int
    private let state = Mutex(State())

    /// If nobody has left a place for so long, those inside may be waiting for whoever waits here: then one more is let in.
    private static let patience = DispatchTimeInterval.seconds(2)

    init(
        _ writer: StoreWriter,
        limit: Int,
        cacheSize: Int,
        identity: StoreIdentity,
        entities: [any AnyEntity],
        telemetry: Telemetry
    ) {
        self.writer = writer
        self.limit = limit
        self.cacheSize = cacheSize
        self.identity = identity
        self.entities = entities
        self.telemetry = telemetry
    }

    // MARK: Readers

    /// - Parameter isOfPlace: whether it is for a block that has a place.
    func borrow(isOfPlace: Bool = false) throws -> Reader {
        let idle = state.withLock { state in
            if !isOfPlace { state.others += 1 }
            return state.idle.popLast()
        }
        do {
            let reader = try idle ?? open()
            reader.isOfPlace = isOfPlace
            return reader
        } catch {
            if !isOfPlace { serve { $0.others -= 1 } }
            throw error
        }
    }

    private func open() throws -> Reader {
        let reader = try Reader(
            writer,
            cacheSize: cacheSize,
            identity: identity,
            entities: entities,
            telemetry: telemetry
        )
        count(1)
        return reader
    }

    private func count(_ change: Int) {
        state.withLock { state in
            state.openCount += change
            telemetry.metrics?.noteReaders(state.openCount)
        }
    }

    private func close(_ reader: Reader) {
        reader.close()
        count(-1)
    }

    func giveBack(_ reader: Reader) {
        if reader.leave() { return }
        try? reader.end()
        reader.endStreaming()
        reader.connection.overlay.show([:])
        reader.connection.readRecord = nil
        let isKept = state.withLock { state in
            // Those above the limit were needed once.
            guard !state.isClosed, state.openCount <= limit else { return false }
            state.idle.append(reader)
            return true
        }
        if !isKept { close(reader) }
        if !reader.isOfPlace { serve { $0.others -= 1 } }
    }

    func close() {
        let readers = state.withLock { state in
            state.isClosed = true
            defer { state.idle = [] }
            return state.idle
        }
        for reader in readers { close(reader) }
    }

    // MARK: Places

    /// Waits for a place, behind those who have asked before. ``leave()`` must follow.
    ///
    /// - Throws: `CancellationError` when the task is cancelled first.
    nonisolated(nonsending) func enter(_ scope: BlockScope) async throws {
        let isIn = state.withLock { state in
            guard state.waiters.isEmpty, state.hasRoom(limit) else { return false }
            state.places += 1
            return true
        }
        if isIn { return }
        let waiter = Waiter(scope)
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Void, any Error>) in
                guard waiter.arm(continuation) else { return continuation.resume(throwing: CancellationError()) }
                serve { $0.waiters.append(waiter) }
                watch()
            }
        } onCancel: {
            // It stays in the queue, where it is passed over.
            waiter.grant()?.resume(throwing: CancellationError())
        }
    }

    /// How many connections are open, for tests.
    var count: Int { state.withLock { $0.openCount } }

    /// How many wait for a place, for tests.
    var waitingCount: Int { state.withLock { $0.waiters.count } }

    /// Leaves a place.
    func leave() {
        serve { state in
            state.places -= 1
            state.leaveCount += 1
        }
    }

    private func serve(isForced: Bool = false, _ change: (inout State) -> Void = { _ in }) {
        let served = state.withLock { state in
            change(&state)
            return state.serve(limit, isForced: isForced)
        }
        for continuation in served { continuation.resume() }
    }

    /// While anybody waits, sees to it that things go on.
    private func watch() {
        let seen: Int? = state.withLock { state in
            guard !state.waiters.isEmpty, !state.isWatched else { return nil }
            state.isWatched = true
            return state.leaveCount
        }
        guard let seen else { return }
        DispatchQueue.global(qos: .utility).asyncAfter(deadline: .now() + Self.patience) { [weak self] in
            guard let self else { return }
            let isStuck = state.withLock { state in
                state.isWatched = false
                return state.leaveCount == seen && !state.waiters.isEmpty
            }
            if isStuck {
                telemetry.logger?.warning(
                    "no block has ended for two seconds while others wait for one of \(limit) readers: one more is let in"
                )
                serve(isForced: true)
            }
            watch()
        }
    }
}
