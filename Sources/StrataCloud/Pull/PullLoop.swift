import Foundation
import Strata
import StrataPipeline
import Synchronization

/// Runs the pulls of an account one after the other: the pulls that callers request, and the scheduled ones.
final class PullLoop: Sendable {
    private struct State {
        var task: Task<Void, Never>?
        var suspensions = 0
        var hasPulled = false
        /// The number of pulls that are running or waiting.
        var running = 0
        /// The error of the last pull; nil if it succeeded.
        var failure: (any Error)?
        /// Called after each pull, with true for the first one.
        var end: (@Sendable (Bool) -> Void)?
        /// When the next pull is due; nil for never.
        var next: Date?
        /// The earliest start of a pull that an operation waits for.
        var earliest = Date.distantPast
    }

    /// The constraint of operations that wait for a pull.
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

        /// Cancels the running pull and the waiting ones, and waits until all of them have ended.
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
                // Operations that have begun to wait since this pull began are retried too. They find out whether they
                // need another pull.
                awaited.set(true)
                return summary
            } catch {
                state.withLock { $0.failure = error }
                // Operations that wait for a pull keep waiting until one succeeds.
                if (error as? RemoteError)?.isOfRemote ?? false {
                    // The next pull is due as soon as the remote is available again.
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

    /// Schedules the next pull, unless an earlier one is already scheduled.
    ///
    /// - Parameter rest: the time in which no pull begins for a waiting operation.
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

    /// Requests a pull that operations wait for from now on.
    func beAwaited() {
        awaited.set(false)
        want()
    }

    /// Requests a pull at once, or at the end of the pause after the last one.
    private func want() {
        let now = clock.now
        state.withLock { state in
            let next = max(now, state.earliest)
            state.next = min(state.next ?? next, next)
        }
        change.yield()
    }

    /// Pulls now instead of at the end of the interval, if the policy pulls automatically.
    func hasten() { if policy.interval != nil { want() } }

    /// The pause before a requested pull.
    private static let pause = Duration.seconds(5)
    /// The pause before a requested pull if the last pull has failed.
    private static let pauseAfterFailure = Duration.seconds(30)

    func suspend() { state.withLock { $0.suspensions += 1 } }

    func resume() {
        state.withLock { $0.suspensions = max(0, $0.suspensions - 1) }
        change.yield()
    }

    /// Starts the automatic pulls.
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

    /// The state of the pulls.
    enum Status {
        /// A pull is running, or begins now.
        case busy
        /// Automatic pulls are suspended.
        case suspended
        /// The last pull failed.
        case failed(any Error)
        /// The last pull succeeded, or none has run.
        case idle
    }

    var status: Status {
        let now = clock.now
        let isAway = !availability.isSatisfied
        return state.withLock { state in
            if state.running > 0 { return .busy }
            if state.suspensions > 0 { return .suspended }
            if !isAway, let next = state.next, next <= now { return .busy }
            return state.failure.map { .failed($0) } ?? .idle
        }
    }

    /// Whether the policy pulls automatically at an interval.
    var isPeriodic: Bool { policy.interval != nil }

    /// When the next automatic pull is due; nil if that is unknown, if pulls are suspended, or if the remote is
    /// unavailable.
    private var due: Date? {
        availability.isSatisfied ? state.withLock { $0.suspensions == 0 ? $0.next : nil } : nil
    }

    /// Reconsiders the schedule after the remote has become available or unavailable.
    func availabilityChanged() { change.yield() }

    /// Runs an automatic pull. Its error is only logged, because the pull is retried. Callers that need the error call
    /// `pull()`.
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
