import DequeModule
import Dispatch
import Foundation
import Synchronization

/// Runs an engine's passes, one at a time, and its handlers, on separate threads.
///
/// A thread alternates between the two: the thread that has run a handler to its end also runs the pass that stores
/// the outcome, and runs the operations that this pass has claimed. Waking another thread takes as long as half a pass.
/// Another thread is woken only if there is more work than the awake threads would finish in this time, judged by the
/// duration of earlier jobs. If no thread is woken, the last thread checks that the work is done.
///
/// There are as many threads as cores, and one more that does not run handlers. A handler that blocks its thread delays
/// other handlers, as it would in Swift's own pool, but does not delay passes. A thread without work is released.
///
/// Isolation: any. Passes, and the bodies of ``perform(_:)``, never run at the same time.
final class EngineExecutor: TaskExecutor {
    typealias Attempt = (operation: ClaimedOperation, consumer: Consumer.Definition)

    /// A thread's own record of the work that it has begun, so that it continues with this work at once. Only this
    /// thread uses it.
    final class Slot: @unchecked Sendable {
        // Unchecked, because the slot is reachable only by the specific value of the thread's own queue.
        let executor: ObjectIdentifier
        /// Whether the thread runs handlers.
        let runsHandlers: Bool
        var isBeginning = false
        var job: UnownedJob?
        /// When the thread began a job or an attempt, in nanoseconds; nil if it has none.
        var jobStart: UInt64?
        /// The number of passes that the thread has run in a row, including guests between them.
        var passesInRow = 0
        /// The number of passes at the thread's last check whether other threads are stuck.
        var seenPasses = -1

        init(_ executor: EngineExecutor, runsHandlers: Bool) {
            self.executor = ObjectIdentifier(executor)
            self.runsHandlers = runsHandlers
        }
    }

    enum Activity {
        case asleep
        case awake
        /// The thread waits for its bell or for a timeout.
        case waiting
    }

    struct State {
        /// Runs a pass; nil while no pass is requested.
        var pass: (@Sendable () -> Void)?
        /// Until when the requested pass may wait for more work; nil if it must not wait.
        var patience: DispatchTime?
        /// Bodies that run between two passes.
        var guests = Deque<@Sendable () -> Void>()
        /// Whether a pass comes before the next guest.
        var wasGuestLast = false
        /// Whether a pass or a guest runs now.
        var isExclusive = false
        /// Jobs of handlers that have begun.
        var jobs = Deque<UnownedJob>()
        /// Attempts that have not begun, and the closure that begins one.
        var attempts = Deque<Attempt>()
        var begin: (@Sendable (Attempt) -> Void)?
        /// Whether an attempt comes before the next job.
        var wasJobLast = false
        var threads: [Activity]
        /// The thread that waits for more work to put into the next pass.
        var gatherer: Int?
        /// The number of passes so far.
        var passes = 0
        /// How long a job or an attempt runs until it ends or suspends, in nanoseconds: a moving average.
        var jobDuration = 1e6
        /// Continuations that wait for a moment without a requested pass.
        var idleWaiters: [CheckedContinuation<Void, Never>] = []

        var hasJobs: Bool { !jobs.isEmpty || !attempts.isEmpty }
        /// Whether a pass or a guest is due now.
        var isExclusiveDue: Bool { !guests.isEmpty || isPassDue }
        var isPassDue: Bool { pass != nil && patience.map { $0 <= .now() } ?? true }
    }

    /// How long a pass waits for more work.
    static let patience = DispatchTimeInterval.microseconds(200)
    /// How often the last thread checks whether the others are stuck.
    static let watching = DispatchTimeInterval.milliseconds(1)
    /// The greatest number of passes that a thread runs in a row while handlers wait for it.
    static let passesInRow = 4
    /// How long a woken thread takes until it has finished its first job, in nanoseconds.
    static let wakingDuration = 1e5
    private static let key = DispatchSpecificKey<Slot>()

    let state: Mutex<State>
    /// One queue for each thread. The last thread runs passes only.
    let queues: [DispatchQueue]
    /// One semaphore for each thread, on which it waits.
    let bells: [DispatchSemaphore]

    init() {
        let count = ProcessInfo.processInfo.activeProcessorCount + 1
        queues = (0..<count).map { _ in DispatchQueue(label: "strata.pipeline", qos: .default) }
        bells = (0..<count).map { _ in DispatchSemaphore(value: 0) }
        state = Mutex(State(threads: [Activity](repeating: .asleep, count: count)))
        for (thread, queue) in queues.enumerated() {
            queue.setSpecific(key: Self.key, value: Slot(self, runsHandlers: thread != last))
        }
    }

    /// The thread that runs passes only.
    var last: Int { queues.count - 1 }
    /// The slot of the current thread, if it belongs to this executor.
    var slot: Slot? {
        DispatchQueue.getSpecific(key: Self.key).flatMap { $0.executor == ObjectIdentifier(self) ? $0 : nil }
    }

    // MARK: Asking

    /// Requests a pass. One pass serves all requests made before it.
    ///
    /// - Parameters:
    ///   - isPatient: whether the pass may wait a moment for more work, unless another request needs it sooner.
    ///   - isLast: whether a handler makes the request as its last action. The handler's thread then looks for more
    ///     work anyway.
    func requestPass(isPatient: Bool = false, isLast: Bool = false, _ pass: @escaping @Sendable () -> Void) {
        let isSeenTo = isLast && slot != nil
        let thread = state.withLock { state -> Int? in
            if !isPatient { state.patience = nil } else if state.pass == nil { state.patience = .now() + Self.patience }
            state.pass = pass
            return isSeenTo ? nil : callForPasses(&state)
        }
        if let thread { wake(thread) }
    }

    /// Runs a body while no pass runs.
    func perform<Value: Sendable>(_ body: @escaping @Sendable () throws -> Value) async throws -> Value {
        try await withCheckedThrowingContinuation { continuation in
            enter { continuation.resume(with: Result { try body() }) }
        }
    }

    /// Waits until no pass is requested.
    func waitUntilIdle() async {
        await withCheckedContinuation { continuation in
            // The continuation is enqueued after the current work, which may request a pass.
            enter { self.state.withLock { $0.idleWaiters.append(continuation) } }
        }
    }

    /// Blocks passes until ``endExclusive()``, if no pass or guest runs and no guest waits. The caller takes over the
    /// work of the requested pass.
    ///
    /// - Returns: whether passes are blocked now.
    func beginExclusive() -> Bool {
        state.withLock { state in
            guard !state.isExclusive, state.guests.isEmpty else { return false }
            (state.isExclusive, state.pass, state.patience) = (true, nil, nil)
            return true
        }
    }

    /// Allows passes again.
    func endExclusive() {
        endExclusive(passes: 1)
        let thread = state.withLock { state in
            state.pass == nil && state.guests.isEmpty ? nil : callForPasses(&state)
        }
        if let thread { wake(thread) }
    }

    private func enter(_ body: @escaping @Sendable () -> Void) {
        let thread = state.withLock { state in
            state.guests.append(body)
            return callForPasses(&state)
        }
        if let thread { wake(thread) }
    }

    /// Enqueues attempts to begin.
    ///
    /// The threads that run the attempts also begin them, because memory that one thread allocates and another one
    /// frees slows down both.
    ///
    /// - Parameter begin: creates the task of one attempt.
    func start(_ attempts: [Attempt], _ begin: @escaping @Sendable (Attempt) -> Void) {
        let runsHandlers = slot?.runsHandlers ?? false
        let thread = state.withLock { state -> Int? in
            state.attempts += attempts
            state.begin = begin
            // The thread that runs the pass also runs one of the attempts afterwards.
            if runsHandlers, state.isExclusive, state.attempts.count + state.jobs.count == 1 { return nil }
            return callForJobs(&state)
        }
        if let thread { wake(thread) }
    }

    /// Removes attempts that have not begun.
    func withdraw(where isUnwanted: (Attempt) -> Bool) -> [Attempt] {
        state.withLock { state in
            defer { if state.attempts.isEmpty { state.begin = nil } }
            let withdrawn = state.attempts.filter(isUnwanted)
            state.attempts.removeAll(where: isUnwanted)
            return Array(withdrawn)
        }
    }

    /// Enqueues a job of a handler.
    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        if let slot, slot.isBeginning {
            (slot.isBeginning, slot.job) = (false, job)
            return
        }
        state.withLock { state in
            state.jobs.append(job)
            // This happens under the lock. Once other threads see the job, they may run it to the end of its task, and
            // this task may hold the last reference to this executor. A woken thread holds a reference.
            if let thread = callForJobs(&state) { wake(thread) }
        }
    }
}
