import Foundation
import Strata
import StrataPipeline
import Synchronization

/// The pulls of an account, one after the other: those that somebody calls for, and those that are due.
final class PullLoop: Sendable {
    private struct State {
        var task: Task<Void, Never>?
        var suspensions = 0
        var hasPulled = false
        /// How many pulls are under way, or wait for those.
        var running = 0
        /// Why the last pull has failed; nil where it has not.
        var failure: (any Error)?
        /// What is called behind each pull, with whether it was the first.
        var end: (@Sendable (Bool) -> Void)?
        /// When the next pull is due; nil for never.
        var next: Date?
        /// Before when no pull begins that an operation waits for.
        var earliest = Date.distantPast
    }

    /// What operations wait for that want a pull.
    let awaited = ManualConstraint(CloudAccount.pullToEnd, isSatisfied: true)

    private let puller: Puller
    private let availability: RemoteAvailability
    private let policy: PullPolicy
    private let clock: any PipelineClock
    private let line = Line()
    private let state = Mutex(State())
    private let (changes, change) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))

    /// Runs one pull at a time.
    private actor Line {
        private var tasks: [Int: Task<PullSummary, any Error>] = [:]
        private var last = 0
        private var isClosed = false

        func run(_ body: @escaping @Sendable () async throws -> PullSummary) -> Task<PullSummary, any Error> {
            let (before, isClosed) = (tasks[last], isClosed)
            last += 1
            let number = last
            let task = Task {
                defer { tasks[number] = nil }
                _ = await before?.result
                if isClosed { throw CloudError(.closed, "The account is closed.") }
                try Task.checkCancellation()
                return try await body()
            }
            tasks[number] = task
            return task
        }

        /// Breaks off what is under way, and what waits behind it, and waits for the end of both.
        func close() async {
            isClosed = true
            let tasks = tasks.values
            for task in tasks { task.cancel() }
            for task in tasks { _ = await task.result }
        }
    }

    init(_ puller: Puller, _ availability: RemoteAvailability, _ options: CloudOptions) {
        (self.puller, self.availability, policy, clock) = (puller, availability, options.pull, options.clock)
    }

    func pull(ignoringRemovalLimit: Bool = false) async throws -> PullSummary {
        let limit = ignoringRemovalLimit ? nil : policy.removalLimit
        state.withLock { $0.running += 1 }
        defer { state.withLock { $0.running -= 1 } }
        let task = await line.run { [self] in
            let now = clock.now
            let due = state.withLock { state in
                defer { state.next = nil }
                state.earliest = now.addingTimeInterval(Self.pause / .seconds(1))
                return state.next
            }
            do {
                let summary = try await puller.pull(limit: limit)
                state.withLock { $0.failure = nil }
                plan(in: policy.interval, rest: Self.pause)
                // What has begun to wait since this pull began finds out once more.
                awaited.set(true)
                return summary
            } catch {
                state.withLock { $0.failure = error }
                // What waits for a pull waits for one that comes to its end.
                if (error as? RemoteError)?.isOfRemote ?? false {
                    // As soon as the remote is there again.
                    plan(in: policy.interval != nil || due != nil ? .zero : nil, rest: .zero)
                } else {
                    plan(in: policy.interval ?? due.map { _ in Self.pauseAfterFailure }, rest: Self.pauseAfterFailure)
                }
                throw error
            }
        }
        let summary = try await withTaskCancellationHandler {
            try await task.value
        } onCancel: {
            task.cancel()
        }
        let (isFirst, end) = state.withLock { state in
            defer { state.hasPulled = true }
            return (!state.hasPulled, state.end)
        }
        end?(isFirst)
        return summary
    }

    /// Says when the next pull is due, unless an earlier one is wanted by now.
    ///
    /// - Parameter rest: how long none begins that an operation waits for.
    private func plan(in interval: Duration?, rest: Duration) {
        let now = clock.now
        state.withLock { state in
            state.earliest = now.addingTimeInterval(rest / .seconds(1))
            if let wanted = state.next { state.next = max(wanted, state.earliest) }
            guard let interval else { return }
            let next = now.addingTimeInterval(interval / .seconds(1))
            state.next = min(state.next ?? next, next)
        }
        change.yield()
    }

    /// Has a pull begin soon, for which operations wait from now on.
    func beAwaited() {
        awaited.set(false)
        want()
    }

    /// Has a pull begin soon: at once, or a while behind the last one.
    private func want() {
        let now = clock.now
        state.withLock { state in
            let next = max(now, state.earliest)
            state.next = min(state.next ?? next, next)
        }
        change.yield()
    }

    /// Pulls now instead of at the end of a pause, if it pulls by itself.
    func hasten() { if policy.interval != nil { want() } }

    /// How long it rests before a pull that is wanted.
    private static let pause = Duration.seconds(5)
    /// The same where the last one has failed.
    private static let pauseAfterFailure = Duration.seconds(30)

    func suspend() { state.withLock { $0.suspensions += 1 } }

    func resume() {
        state.withLock { $0.suspensions = max(0, $0.suspensions - 1) }
        change.yield()
    }

    /// Pulls by itself, from now on.
    func start(_ end: @escaping @Sendable (Bool) -> Void) {
        state.withLock { state in
            state.end = end
            if policy.interval != nil { state.next = clock.now }
            state.task = Task { [weak self, changes, clock] in
                var changes = changes.makeAsyncIterator()
                while !Task.isCancelled {
                    guard let due = self.map({ $0.due }) else { return }
                    if let due, due <= clock.now {
                        await self?.pullByItself()
                        continue
                    }
                    let alarm = due.map { due in clock.alarm(at: due) { [weak self] in self?.change.yield() } }
                    _ = await changes.next()
                    alarm?.cancel()
                }
            }
        }
    }

    /// How it stands with the pulls.
    enum Standing {
        /// One is under way, or begins now.
        case busy
        /// None begins by itself, since they are suspended.
        case suspended
        /// The last one has failed.
        case failed(any Error)
        /// The last one has come to its end, or there was none.
        case idle
    }

    var standing: Standing {
        let now = clock.now
        let isAway = !availability.isSatisfied
        return state.withLock { state in
            if state.running > 0 { return .busy }
            if state.suspensions > 0 { return .suspended }
            if !isAway, let next = state.next, next <= now { return .busy }
            return state.failure.map { .failed($0) } ?? .idle
        }
    }

    /// Whether pulls begin by themselves again and again.
    var isPeriodic: Bool { policy.interval != nil }

    /// When it pulls next by itself; nil while that is not known, or the remote rests.
    private var due: Date? {
        availability.isSatisfied ? state.withLock { $0.suspensions == 0 ? $0.next : nil } : nil
    }

    /// The remote is away, or is there again.
    func availabilityChanged() { change.yield() }

    /// What goes wrong is tried again; who wants to know calls `pull()`.
    private func pullByItself() async {
        do { _ = try await pull() } catch is CancellationError {} catch {
            puller.stack.log(.warning, "a pull has failed: \(error)")
        }
    }

    func stop() async {
        let task = state.withLock { state in
            defer { (state.task, state.end) = (nil, nil) }
            return state.task
        }
        task?.cancel()
        await line.close()
        await task?.value
    }
}
