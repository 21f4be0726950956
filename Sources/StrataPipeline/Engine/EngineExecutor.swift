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
    typealias Attempt = (operation: ClaimedOperation, consumer: Consumer)

    /// A thread's own record of the work that it has begun, so that it continues with this work at once. Only this
    /// thread uses it.
    private final class Slot: @unchecked Sendable {
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

    private enum Activity {
        case asleep
        case awake
        /// The thread waits for its bell or for a timeout.
        case waiting
    }

    private struct State {
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
    private static let patience = DispatchTimeInterval.microseconds(200)
    /// How often the last thread checks whether the others are stuck.
    private static let watching = DispatchTimeInterval.milliseconds(1)
    /// The greatest number of passes that a thread runs in a row while handlers wait for it.
    private static let passesInRow = 4
    /// How long a woken thread takes until it has finished its first job, in nanoseconds.
    private static let wakingDuration = 1e5
    private static let key = DispatchSpecificKey<Slot>()

    private let state: Mutex<State>
    /// One queue for each thread. The last thread runs passes only.
    private let queues: [DispatchQueue]
    /// One semaphore for each thread, on which it waits.
    private let bells: [DispatchSemaphore]

    init() {
        let count = ProcessInfo.processInfo.activeProcessorCount + 1
        queues = (0..<count).map { _ in DispatchQueue(label: "strata.pipeline", qos: .default) }
        bells = (0..<count).map { _ in DispatchSemaphore(value: 0) }
        state = Mutex(State(threads: [Activity](repeating: .asleep, count: count)))
        for (thread, queue) in queues.enumerated() {
            queue.setSpecific(key: Self.key, value: Slot(self, runsHandlers: thread != last))
        }
    }

    private var last: Int { queues.count - 1 }
    /// The slot of the current thread, if it belongs to this executor.
    private var slot: Slot? {
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

    // MARK: Threads

    /// Finds a thread for passes.
    ///
    /// - Returns: the thread to wake; nil if a thread that is already awake runs the passes.
    private func callForPasses(_ state: inout State) -> Int? {
        if state.isExclusive { return nil }
        if let gatherer = state.gatherer {
            if state.patience == nil || !state.guests.isEmpty { ring(gatherer, &state) }
            return nil
        }
        if let thread = take(from: bells.indices, &state) { return thread }
        ring(last, &state)
        return nil
    }

    /// Finds a thread for handlers.
    ///
    /// - Parameter isBusy: whether the calling thread does other work first.
    private func callForJobs(_ state: inout State, isBusy: Bool = false) -> Int? {
        if !isBusy, areSeenTo(state) { return nil }
        if let thread = take(from: 0..<last, &state) { return thread }
        if let gatherer = state.gatherer, gatherer != last { ring(gatherer, &state) }
        return nil
    }

    /// Whether the awake threads will finish the waiting jobs sooner than a newly woken thread would. The last thread
    /// checks that they do.
    private func areSeenTo(_ state: State) -> Bool {
        let count = Double(state.jobs.count + state.attempts.count)
        guard count * state.jobDuration < Self.wakingDuration else { return false }
        return state.threads[last] != .asleep && state.threads[..<last].contains(.awake)
    }

    /// Wakes a thread from its wait, if it waits.
    private func ring(_ thread: Int, _ state: inout State) {
        guard endWait(of: thread, &state) else { return }
        bells[thread].signal()
    }

    /// Ends a thread's wait.
    ///
    /// - Returns: whether the thread was still waiting.
    private func endWait(of thread: Int, _ state: inout State) -> Bool {
        guard state.threads[thread] == .waiting else { return false }
        state.threads[thread] = .awake
        if state.gatherer == thread { state.gatherer = nil }
        return true
    }

    /// An idle thread for the caller to wake; nil if none is asleep.
    private func take(from threads: Range<Int>, _ state: inout State) -> Int? {
        guard let thread = threads.first(where: { state.threads[$0] == .asleep }) else { return nil }
        state.threads[thread] = .awake
        return thread
    }

    private func wake(_ thread: Int) { queues[thread].async { self.run(thread) } }

    private enum Step {
        case pass(@Sendable () -> Void)
        case guest(@Sendable () -> Void)
        case job(UnownedJob)
        case attempt(Attempt, (@Sendable (Attempt) -> Void)?)
        /// Wait for more work.
        case wait(until: DispatchTime)
        case leave
    }

    /// A thread's next step, and another thread that it wakes first.
    private typealias Next = (step: Step, waking: Int?)

    /// Runs steps until there is no more work.
    private func run(_ thread: Int) {
        // This runs on one of the queues, each of which has a slot.
        let slot = slot!
        (slot.passesInRow, slot.seenPasses, slot.jobStart) = (0, -1, nil)
        while true {
            let (step, other) = state.withLock { next(thread, slot, &$0) }
            if let other { wake(other) }
            switch step {
            case .pass(let pass):
                pass()
                endExclusive(passes: 1)
            case .guest(let body):
                body()
                endExclusive(passes: 0)
            case .job(let job): job.runSynchronously(on: asUnownedTaskExecutor())
            case .attempt(let attempt, let begin):
                slot.isBeginning = true
                begin?(attempt)
                slot.isBeginning = false
                slot.job.take()?.runSynchronously(on: asUnownedTaskExecutor())
            case .wait(let end): wait(thread, until: end)
            case .leave: return
            }
        }
    }

    private func next(_ thread: Int, _ slot: Slot, _ state: inout State) -> Next {
        let now = slot.runsHandlers ? DispatchTime.now().uptimeNanoseconds : 0
        if let start = slot.jobStart.take() {
            state.jobDuration += (Double(now - start) - state.jobDuration) / 16
        }
        let mayHandle = slot.runsHandlers && state.hasJobs
        // Passes that request further passes must not hold up handlers.
        let mayRunPass = !state.isExclusive && !(mayHandle && slot.passesInRow >= Self.passesInRow)
        if mayRunPass, let next = nextExclusive(&state) {
            slot.passesInRow += 1
            return next
        }
        slot.passesInRow = 0
        if mayHandle {
            slot.jobStart = now
            return nextJob(&state)
        }
        // If jobs are left, the threads that were expected to finish them have not finished.
        let other = state.hasJobs ? take(from: 0..<last, &state) : nil
        let mayGather = state.pass != nil && !state.isExclusive && state.gatherer == nil
        if mayGather, let end = state.patience {
            (state.gatherer, state.threads[thread]) = (thread, .waiting)
            return (.wait(until: end), other)
        }
        if !slot.runsHandlers, slot.seenPasses != state.passes || other != nil {
            slot.seenPasses = state.passes
            state.threads[thread] = .waiting
            return (.wait(until: .now() + Self.watching), other)
        }
        state.threads[thread] = .asleep
        return (.leave, nil)
    }

    private func nextJob(_ state: inout State) -> Next {
        let isAttempt = state.jobs.isEmpty || state.wasJobLast && !state.attempts.isEmpty
        state.wasJobLast = !isAttempt
        let job = isAttempt ? nil : state.jobs.removeFirst()
        let attempt = isAttempt ? state.attempts.removeFirst() : nil
        var other: Int?
        if state.hasJobs, !areSeenTo(state) { other = take(from: 0..<last, &state) }
        // The handler that runs next may block this thread for long, and others may be blocked already.
        if other == nil, !state.isExclusive {
            if state.isExclusiveDue {
                other = callForPasses(&state)
            } else if state.pass != nil, state.gatherer == nil {
                other = take(from: last..<bells.count, &state)
            }
        }
        // `begin` retains the engine, which retains this executor.
        defer { if state.attempts.isEmpty { state.begin = nil } }
        return (job.map { .job($0) } ?? .attempt(attempt!, state.begin), other)
    }

    private func nextExclusive(_ state: inout State) -> Next? {
        let isPassDue = state.isPassDue
        if !state.guests.isEmpty, !isPassDue || !state.wasGuestLast {
            (state.isExclusive, state.wasGuestLast) = (true, true)
            return (.guest(state.guests.removeFirst()), state.hasJobs ? callForJobs(&state, isBusy: true) : nil)
        }
        guard isPassDue, let pass = state.pass else { return nil }
        (state.pass, state.patience) = (nil, nil)
        (state.isExclusive, state.wasGuestLast) = (true, false)
        return (.pass(pass), state.hasJobs ? callForJobs(&state, isBusy: true) : nil)
    }

    private func endExclusive(passes: Int) {
        let idle = state.withLock { state -> [CheckedContinuation<Void, Never>] in
            state.isExclusive = false
            state.passes += passes
            guard state.pass == nil, state.guests.isEmpty else { return [] }
            defer { state.idleWaiters = [] }
            return state.idleWaiters
        }
        for waiter in idle { waiter.resume() }
    }

    private func wait(_ thread: Int, until end: DispatchTime) {
        let isRung = bells[thread].wait(timeout: end) == .success
        let isBeingRung = state.withLock { !endWait(of: thread, &$0) } && !isRung
        // A late signal must not end the next wait.
        if isBeingRung { bells[thread].wait() }
    }
}
