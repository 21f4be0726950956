import DequeModule
import Dispatch
import Foundation
import Synchronization

/// Takes the turns of an engine, one after the other, and runs its handlers, on threads of its own.
///
/// A thread goes from one to the other: the one that has run a handler to its end takes the turn that writes it down, and runs what
/// that has claimed. To wake another one takes as long as half a turn, and is done only where there is more to do at once than the one
/// would be done with by then, to judge by what such things took so far. Where it is not, the last thread sees to the rest.
///
/// There are as many threads as cores, and one more that runs no handlers: a handler that blocks its thread holds up others, as it would
/// in Swift's own pool, and no turn. None is kept that has nothing to do.
///
/// Isolation: any. Turns, and what is done by ``perform(_:)``, never run at once.
final class EngineExecutor: TaskExecutor {
    typealias Attempt = (operation: ClaimedOperation, consumer: Consumer)

    /// Where a thread finds what it has begun, so that it goes on with that at once. Used by this thread alone.
    private final class Slot: @unchecked Sendable {
        // Nobody has it but by the specific of the thread's own queue.
        let executor: ObjectIdentifier
        /// Whether it runs handlers.
        let runsHandlers: Bool
        var isBeginning = false
        var job: UnownedJob?
        /// When it has begun with a job or an attempt, in nanoseconds; nil where it is at none.
        var jobStart: UInt64?
        /// How many turns it has taken in a row, with what it has done between them.
        var turnsInRow = 0
        /// How many turns there were when it last looked whether the others are stuck.
        var seenTurns = -1

        init(_ executor: EngineExecutor, runsHandlers: Bool) {
            self.executor = ObjectIdentifier(executor)
            self.runsHandlers = runsHandlers
        }
    }

    private enum Activity {
        case asleep
        case awake
        /// Until its bell rings, or for as long as it may.
        case waiting
    }

    private struct State {
        /// Takes a turn; nil while none is wanted.
        var turn: (@Sendable () -> Void)?
        /// Until when the turn that is wanted may wait for more to do; nil where it may not.
        var patience: DispatchTime?
        /// What is to be done between two turns.
        var guests = Deque<@Sendable () -> Void>()
        /// Whether a turn comes before the next guest.
        var wasGuestLast = false
        /// Whether a turn is taken, or something done between two.
        var isExclusive = false
        /// What is to be done of handlers that have begun.
        var jobs = Deque<UnownedJob>()
        /// Attempts that are to begin, and how.
        var attempts = Deque<Attempt>()
        var begin: (@Sendable (Attempt) -> Void)?
        /// Whether an attempt comes before the next job.
        var wasJobLast = false
        var threads: [Activity]
        /// The thread that waits for what makes the next turn worth taking.
        var gatherer: Int?
        /// How many turns there were.
        var turns = 0
        /// How long a job or an attempt takes until it is done or waits, in nanoseconds: a moving average.
        var jobDuration = 1e6
        /// Who waits for a moment in which no turn is wanted.
        var idleWaiters: [CheckedContinuation<Void, Never>] = []

        var hasJobs: Bool { !jobs.isEmpty || !attempts.isEmpty }
        /// Whether a turn, or something between two, is to be done now.
        var isExclusiveDue: Bool { !guests.isEmpty || isTurnDue }
        var isTurnDue: Bool { turn != nil && patience.map { $0 <= .now() } ?? true }
    }

    /// How long a turn waits for more to do.
    private static let patience = DispatchTimeInterval.microseconds(200)
    /// How often the last thread looks whether the others are stuck.
    private static let watching = DispatchTimeInterval.milliseconds(1)
    /// How many turns a thread takes in a row where handlers wait for it.
    private static let turnsInRow = 4
    /// How long it takes until a thread that is woken has done its first job, in nanoseconds.
    private static let wakingDuration = 1e5
    private static let key = DispatchSpecificKey<Slot>()

    private let state: Mutex<State>
    /// One for each thread; the last one takes turns alone.
    private let queues: [DispatchQueue]
    /// Each thread waits for its own.
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
    /// Where the caller runs on one of the threads, that one's.
    private var slot: Slot? {
        DispatchQueue.getSpecific(key: Self.key).flatMap { $0.executor == ObjectIdentifier(self) ? $0 : nil }
    }

    // MARK: Asking

    /// Has a turn taken, once for all who ask before it.
    ///
    /// - Parameters:
    ///   - isPatient: whether it may wait a moment for more to do, unless somebody wants it sooner.
    ///   - isLast: whether a handler asks by the last thing that it does, behind which its thread looks for more to do anyway.
    func ask(isPatient: Bool = false, isLast: Bool = false, _ turn: @escaping @Sendable () -> Void) {
        let isSeenTo = isLast && slot != nil
        let thread = state.withLock { state -> Int? in
            if !isPatient { state.patience = nil } else if state.turn == nil { state.patience = .now() + Self.patience }
            state.turn = turn
            return isSeenTo ? nil : callForTurns(&state)
        }
        if let thread { wake(thread) }
    }

    /// Does something where no turn is taken meanwhile.
    func perform<Value: Sendable>(_ body: @escaping @Sendable () throws -> Value) async throws -> Value {
        try await withCheckedThrowingContinuation { continuation in
            enter { continuation.resume(with: Result { try body() }) }
        }
    }

    /// Waits until no turn is wanted.
    func settle() async {
        await withCheckedContinuation { continuation in
            // Behind what is being done, which may ask for a turn.
            enter { self.state.withLock { $0.idleWaiters.append(continuation) } }
        }
    }

    /// Has no turn be taken until ``endExclusive()``, where none is under way, nor anything to be done between two: whoever asks takes over what
    /// the turn that is wanted was to do.
    ///
    /// - Returns: whether that is so.
    func beginExclusive() -> Bool {
        state.withLock { state in
            guard !state.isExclusive, state.guests.isEmpty else { return false }
            (state.isExclusive, state.turn, state.patience) = (true, nil, nil)
            return true
        }
    }

    /// Has turns be taken again.
    func endExclusive() {
        endExclusive(turns: 1)
        let thread = state.withLock { state in
            state.turn == nil && state.guests.isEmpty ? nil : callForTurns(&state)
        }
        if let thread { wake(thread) }
    }

    private func enter(_ body: @escaping @Sendable () -> Void) {
        let thread = state.withLock { state in
            state.guests.append(body)
            return callForTurns(&state)
        }
        if let thread { wake(thread) }
    }

    /// Has attempts begin.
    ///
    /// They are begun by the threads that run them: memory that one thread takes and another one lets go of holds both up.
    ///
    /// - Parameter begin: makes the task of one.
    func start(_ attempts: [Attempt], _ begin: @escaping @Sendable (Attempt) -> Void) {
        let runsHandlers = slot?.runsHandlers ?? false
        let thread = state.withLock { state -> Int? in
            state.attempts += attempts
            state.begin = begin
            // Who takes a turn does one of them behind it.
            if runsHandlers, state.isExclusive, state.attempts.count + state.jobs.count == 1 { return nil }
            return callForJobs(&state)
        }
        if let thread { wake(thread) }
    }

    /// Takes attempts back that have not begun.
    func withdraw(where isUnwanted: (Attempt) -> Bool) -> [Attempt] {
        state.withLock { state in
            defer { if state.attempts.isEmpty { state.begin = nil } }
            let withdrawn = state.attempts.filter(isUnwanted)
            state.attempts.removeAll(where: isUnwanted)
            return Array(withdrawn)
        }
    }

    /// Runs what is to be done of a handler.
    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        if let slot, slot.isBeginning {
            (slot.isBeginning, slot.job) = (false, job)
            return
        }
        state.withLock { state in
            state.jobs.append(job)
            // Under the lock: as soon as others see the job they may run it, to the end of its task, which may be the last that holds this executor.
            // Who is woken holds it.
            if let thread = callForJobs(&state) { wake(thread) }
        }
    }

    // MARK: Threads

    /// Calls for somebody to see to turns.
    ///
    /// - Returns: the thread to wake; nil where one that is on its way sees to it.
    private func callForTurns(_ state: inout State) -> Int? {
        if state.isExclusive { return nil }
        if let gatherer = state.gatherer {
            if state.patience == nil || !state.guests.isEmpty { ring(gatherer, &state) }
            return nil
        }
        if let thread = take(from: bells.indices, &state) { return thread }
        ring(last, &state)
        return nil
    }

    /// Calls for somebody to see to handlers.
    ///
    /// - Parameter isBusy: whether the thread that calls does something else before.
    private func callForJobs(_ state: inout State, isBusy: Bool = false) -> Int? {
        if !isBusy, areSeenTo(state) { return nil }
        if let thread = take(from: 0..<last, &state) { return thread }
        if let gatherer = state.gatherer, gatherer != last { ring(gatherer, &state) }
        return nil
    }

    /// Whether the threads that are awake will be done with the handlers before another one would be; the last one looks whether they are.
    private func areSeenTo(_ state: State) -> Bool {
        let count = Double(state.jobs.count + state.attempts.count)
        guard count * state.jobDuration < Self.wakingDuration else { return false }
        return state.threads[last] != .asleep && state.threads[..<last].contains(.awake)
    }

    /// Has a thread go on that waits, if it does.
    private func ring(_ thread: Int, _ state: inout State) {
        guard endWait(of: thread, &state) else { return }
        bells[thread].signal()
    }

    /// - Returns: whether it was waiting still.
    private func endWait(of thread: Int, _ state: inout State) -> Bool {
        guard state.threads[thread] == .waiting else { return false }
        state.threads[thread] = .awake
        if state.gatherer == thread { state.gatherer = nil }
        return true
    }

    /// A thread that has nothing to do, and is to be woken.
    private func take(from threads: Range<Int>, _ state: inout State) -> Int? {
        guard let thread = threads.first(where: { state.threads[$0] == .asleep }) else { return nil }
        state.threads[thread] = .awake
        return thread
    }

    private func wake(_ thread: Int) { queues[thread].async { self.run(thread) } }

    private enum Step {
        case turn(@Sendable () -> Void)
        case guest(@Sendable () -> Void)
        case job(UnownedJob)
        case attempt(Attempt, (@Sendable (Attempt) -> Void)?)
        /// Wait for more to do.
        case wait(until: DispatchTime)
        case leave
    }

    /// What a thread does next, and which other one it wakes before.
    private typealias Next = (step: Step, waking: Int?)

    /// Does whatever there is to do.
    private func run(_ thread: Int) {
        // It runs on one of the queues, each of which has one.
        let slot = slot!
        (slot.turnsInRow, slot.seenTurns, slot.jobStart) = (0, -1, nil)
        while true {
            let (step, other) = state.withLock { next(thread, slot, &$0) }
            if let other { wake(other) }
            switch step {
            case .turn(let turn):
                turn()
                endExclusive(turns: 1)
            case .guest(let body):
                body()
                endExclusive(turns: 0)
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
        // Turns that ask for turns are not to hold up handlers.
        let isItsTurn = !state.isExclusive && !(mayHandle && slot.turnsInRow >= Self.turnsInRow)
        if isItsTurn, let next = nextExclusive(&state) {
            slot.turnsInRow += 1
            return next
        }
        slot.turnsInRow = 0
        if mayHandle {
            slot.jobStart = now
            return nextJob(&state)
        }
        // Those that were to see to them are not done with them.
        let other = state.hasJobs ? take(from: 0..<last, &state) : nil
        let mayGather = state.turn != nil && !state.isExclusive && state.gatherer == nil
        if mayGather, let end = state.patience {
            (state.gatherer, state.threads[thread]) = (thread, .waiting)
            return (.wait(until: end), other)
        }
        if !slot.runsHandlers, slot.seenTurns != state.turns || other != nil {
            slot.seenTurns = state.turns
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
        // This one may be stuck for long, with all the others.
        if other == nil, !state.isExclusive {
            if state.isExclusiveDue {
                other = callForTurns(&state)
            } else if state.turn != nil, state.gatherer == nil {
                other = take(from: last..<bells.count, &state)
            }
        }
        // It holds what holds this.
        defer { if state.attempts.isEmpty { state.begin = nil } }
        return (job.map { .job($0) } ?? .attempt(attempt!, state.begin), other)
    }

    private func nextExclusive(_ state: inout State) -> Next? {
        let isTurnDue = state.isTurnDue
        if !state.guests.isEmpty, !isTurnDue || !state.wasGuestLast {
            (state.isExclusive, state.wasGuestLast) = (true, true)
            return (.guest(state.guests.removeFirst()), state.hasJobs ? callForJobs(&state, isBusy: true) : nil)
        }
        guard isTurnDue, let turn = state.turn else { return nil }
        (state.turn, state.patience) = (nil, nil)
        (state.isExclusive, state.wasGuestLast) = (true, false)
        return (.turn(turn), state.hasJobs ? callForJobs(&state, isBusy: true) : nil)
    }

    private func endExclusive(turns: Int) {
        let idle = state.withLock { state -> [CheckedContinuation<Void, Never>] in
            state.isExclusive = false
            state.turns += turns
            guard state.turn == nil, state.guests.isEmpty else { return [] }
            defer { state.idleWaiters = [] }
            return state.idleWaiters
        }
        for waiter in idle { waiter.resume() }
    }

    private func wait(_ thread: Int, until end: DispatchTime) {
        let isRung = bells[thread].wait(timeout: end) == .success
        let isBeingRung = state.withLock { !endWait(of: thread, &$0) } && !isRung
        // What came too late is not to end the next wait.
        if isBeingRung { bells[thread].wait() }
    }
}
