import DequeModule
import Dispatch
import Synchronization

/// The connections that read, and the limit of blocks that use them at the same time.
///
/// A background block or a live block takes a place before it begins, and waits for one in the order of calls. All
/// other users get a reader at once: nested blocks, because blocks with a place may wait for them; named contexts and
/// main, because there are few; cursors and live queries. Their readers count against the limit of places.
///
/// Isolation: any.
final class ReaderPool: Sendable {
    private struct State {
        var idle: [Reader] = []
        /// The number of open connections, used or idle.
        var openCount = 0
        /// The number of blocks with a place.
        var places = 0
        /// The number of readers that other users have.
        var others = 0
        var waiters: Deque<MutexWaiter> = []
        /// The number of blocks that have left their place. It shows whether blocks end.
        var leaveCount = 0
        /// Whether ``watch()`` has a timer.
        var isWatched = false
        var isClosed = false

        /// The number of connections that have a user.
        var usedCount: Int { openCount - idle.count }

        func hasRoom(_ limit: Int) -> Bool { places == 0 || places + others < limit }

        /// Gives places to the blocks that have waited longest.
        ///
        /// - Parameter isForced: whether one block gets a place above the limit.
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

    /// If no block ends for this time, the running blocks may be waiting for one that waits here. Then one more block
    /// runs.
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

    /// Borrows a reader, which is opened if none is idle.
    ///
    /// - Parameter isOfPlace: whether the reader is for a block that has a place.
    func borrow(isOfPlace: Bool = false) throws -> Reader {
        let idle = state.withLock { state in
            if !isOfPlace { state.others += 1 }
            return state.idle.popLast()
        }
        do {
            let reader = try idle ?? open()
            reader.isOfPlace = isOfPlace
            measureUse()
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

    /// Measures how many connections have a user.
    private func measureUse() {
        guard let metrics = telemetry.metrics else { return }
        state.withLock { metrics.noteUsedReaders($0.usedCount) }
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
        // Read now: once the reader is idle, another thread may borrow it.
        let isOfPlace = reader.isOfPlace
        let isKept = state.withLock { state in
            // Readers above the limit served a peak.
            guard !state.isClosed, state.openCount <= limit else { return false }
            state.idle.append(reader)
            return true
        }
        if !isKept { close(reader) }
        measureUse()
        if !isOfPlace { serve { $0.others -= 1 } }
    }

    func close() {
        let readers = state.withLock { state in
            state.isClosed = true
            defer { state.idle = [] }
            return state.idle
        }
        for reader in readers { close(reader) }
        measureUse()
    }

    // MARK: Places

    /// Waits for a place, after the callers that asked earlier. ``leave()`` must follow.
    ///
    /// - Throws: `CancellationError` when the task is cancelled first.
    nonisolated(nonsending) func enter(_ scope: BlockScope) async throws {
        let isIn = state.withLock { state in
            guard state.waiters.isEmpty, state.hasRoom(limit) else { return false }
            state.places += 1
            return true
        }
        if isIn { return }
        let waiter = MutexWaiter(scope)
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Void, any Error>) in
                guard waiter.arm(continuation) else { return continuation.resume(throwing: CancellationError()) }
                serve { $0.waiters.append(waiter) }
                watch()
            }
        } onCancel: {
            // The waiter stays in the queue, and `serve` skips it.
            waiter.grant()?.resume(throwing: CancellationError())
        }
    }

    /// The number of open connections, for tests.
    var count: Int { state.withLock { $0.openCount } }

    /// The number of connections that have a user, for tests.
    var usedCount: Int { state.withLock { $0.usedCount } }

    /// The number of blocks that wait for a place, for tests.
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
            let served = state.serve(limit, isForced: isForced)
            telemetry.metrics?.noteBlocksWaitingForReader(state.waiters.count)
            return served
        }
        for continuation in served { continuation.resume() }
    }

    /// Checks repeatedly that blocks end, while other blocks wait.
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
                    "no block has ended for 2 seconds while others wait for one of \(limit) readers: one more runs"
                )
                serve(isForced: true)
            }
            watch()
        }
    }
}
