import Dispatch
import Foundation
import Synchronization

/// Takes the turns of an engine, one after the other, and runs its handlers, on threads of its own.
///
/// A thread goes from one to the other: the one that has run a handler to its end takes the turn that writes it down, and runs what
/// that has claimed. To wake another one takes as long as half a turn, and is done only where there is more to do at once.
///
/// There are as many threads as cores, and one more that takes turns alone: a handler that blocks its thread holds up others, as it would
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

        init(_ executor: EngineExecutor, runsHandlers: Bool) {
            self.executor = ObjectIdentifier(executor)
            self.runsHandlers = runsHandlers
        }
    }

    private struct State {
        /// Takes a turn; nil while none is wanted.
        var turn: (@Sendable () -> Void)?
        /// Until when the turn that is wanted may wait for more to do; nil where it may not.
        var patience: DispatchTime?
        /// What is to be done between two turns.
        var guests: [@Sendable () -> Void] = []
        /// Whether a turn comes before the next guest.
        var wasGuestLast = false
        /// Whether a turn is taken, or something done between two.
        var isExclusive = false
        /// What is to be done of handlers that have begun.
        var jobs = Line<UnownedJob>()
        /// Attempts that are to begin, and how.
        var attempts = Line<Attempt>()
        var begin: (@Sendable (Attempt) -> Void)?
        /// Which threads are on their way.
        var isAwake: [Bool]
        /// Whether a thread waits for what makes the next turn worth taking.
        var isGathering = false
        /// Whether the last thread waits for the others to be stuck.
        var isWatching = false
        /// How many turns there were.
        var turns = 0
        /// Who waits for a moment in which no turn is wanted.
        var idleWaiters: [CheckedContinuation<Void, Never>] = []

        var hasJobs: Bool { jobs.count + attempts.count > 0 }
    }

    /// First in, first out.
    private struct Line<Element> {
        private var all: [Element] = []
        private var taken = 0

        var count: Int { all.count - taken }

        mutating func append(_ more: [Element]) { all += more }

        mutating func next() -> Element? {
            guard taken < all.count else { return nil }
            defer {
                taken += 1
                // Room for what is usual is kept.
                if taken == all.count || taken == 1000 {
                    if taken == all.count {
                        all.removeAll(keepingCapacity: taken < 1000)
                    } else {
                        all.removeFirst(taken)
                    }
                    taken = 0
                }
            }
            return all[taken]
        }

        mutating func remove(where isWanted: (Element) -> Bool) -> [Element] {
            let removed = all[taken...].filter(isWanted)
            (all, taken) = (all[taken...].filter { !isWanted($0) }, 0)
            return removed
        }
    }

    /// How long a turn waits for more to do.
    private static let patience = DispatchTimeInterval.microseconds(200)
    /// How often the last thread looks whether the others are stuck.
    private static let watching = DispatchTimeInterval.milliseconds(1)
    private static let key = DispatchSpecificKey<Slot>()

    private let state: Mutex<State>
    /// One for each thread; the last one takes turns alone.
    private let queues: [DispatchQueue]
    /// Signalled by who ends a wait.
    private let gathered = DispatchSemaphore(value: 0)
    private let watched = DispatchSemaphore(value: 0)

    init() {
        let count = ProcessInfo.processInfo.activeProcessorCount + 1
        queues = (0..<count).map { _ in DispatchQueue(label: "strata.pipeline") }
        state = Mutex(State(isAwake: [Bool](repeating: false, count: count)))
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
            state.attempts.append(attempts)
            state.begin = begin
            // Who takes a turn does one of them behind it.
            if runsHandlers, state.isExclusive, state.attempts.count + state.jobs.count == 1 { return nil }
            return callForJobs(&state)
        }
        if let thread { wake(thread) }
    }

    /// Takes the attempts of a consumer back that have not begun.
    func withdraw(attemptsOf id: Consumer.ID) -> [Attempt] {
        state.withLock { state in
            defer { if state.attempts.count == 0 { state.begin = nil } }
            return state.attempts.remove { $0.consumer.id == id }
        }
    }

    /// Runs what is to be done of a handler.
    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        if let slot, slot.isBeginning {
            (slot.isBeginning, slot.job) = (false, job)
            return
        }
        let thread = state.withLock { state in
            state.jobs.append([job])
            return callForJobs(&state)
        }
        if let thread { wake(thread) }
    }

    // MARK: Threads

    /// Calls for somebody to see to turns.
    ///
    /// - Returns: the thread to wake; nil where one that is on its way sees to it.
    private func callForTurns(_ state: inout State) -> Int? {
        if state.isExclusive { return nil }
        if state.isGathering {
            if state.patience == nil || !state.guests.isEmpty { endGathering(&state) }
            return nil
        }
        if let thread = take(from: queues.indices, &state) { return thread }
        if state.isWatching {
            state.isWatching = false
            watched.signal()
        }
        return nil
    }

    /// Calls for somebody to see to handlers.
    private func callForJobs(_ state: inout State) -> Int? {
        if let thread = take(from: 0..<last, &state) { return thread }
        endGathering(&state)
        return nil
    }

    private func endGathering(_ state: inout State) {
        guard state.isGathering else { return }
        state.isGathering = false
        gathered.signal()
    }

    /// A thread that has nothing to do, and is to be woken.
    private func take(from threads: Range<Int>, _ state: inout State) -> Int? {
        guard let thread = threads.first(where: { !state.isAwake[$0] }) else { return nil }
        state.isAwake[thread] = true
        return thread
    }

    private func wake(_ thread: Int) { queues[thread].async { self.run(thread) } }

    private enum Step {
        case turn(@Sendable () -> Void, waking: Int?)
        case guest(@Sendable () -> Void, waking: Int?)
        case job(UnownedJob, waking: Int?)
        case attempt(Attempt, (@Sendable (Attempt) -> Void)?, waking: Int?)
        /// Wait for more to do.
        case gather(until: DispatchTime)
        case watch
        case leave
    }

    /// Does whatever there is to do.
    private func run(_ thread: Int) {
        var seenTurns = -1
        // It runs on one of the queues, each of which has one.
        let slot = slot!
        while true {
            switch state.withLock({ next(thread, &seenTurns, &$0) }) {
            case .turn(let turn, let other):
                if let other { wake(other) }
                turn()
                endExclusive(turns: 1)
            case .guest(let body, let other):
                if let other { wake(other) }
                body()
                endExclusive(turns: 0)
            case .job(let job, let other):
                if let other { wake(other) }
                job.runSynchronously(on: asUnownedTaskExecutor())
            case .attempt(let attempt, let begin, let other):
                if let other { wake(other) }
                slot.isBeginning = true
                begin?(attempt)
                slot.isBeginning = false
                slot.job.take()?.runSynchronously(on: asUnownedTaskExecutor())
            case .gather(let end): wait(for: gathered, until: end, \.isGathering)
            case .watch: wait(for: watched, until: .now() + Self.watching, \.isWatching)
            case .leave: return
            }
        }
    }

    private func next(_ thread: Int, _ seenTurns: inout Int, _ state: inout State) -> Step {
        if !state.isExclusive, let step = nextExclusive(&state) { return step }
        let mayGather = state.turn != nil && !state.isExclusive && !state.isGathering
        if thread != last, state.hasJobs {
            let job = state.jobs.next()
            let attempt = job == nil ? state.attempts.next() : nil
            var other: Int?
            if state.hasJobs { other = take(from: 0..<last, &state) }
            // This one may be stuck for long, with all the others.
            if other == nil, mayGather { other = take(from: last..<queues.count, &state) }
            // It holds what holds this.
            defer { if state.attempts.count == 0 { state.begin = nil } }
            return if let job { .job(job, waking: other) } else { .attempt(attempt!, state.begin, waking: other) }
        }
        if mayGather, let end = state.patience {
            state.isGathering = true
            return .gather(until: end)
        }
        if thread == last, seenTurns != state.turns {
            seenTurns = state.turns
            state.isWatching = true
            return .watch
        }
        state.isAwake[thread] = false
        return .leave
    }

    private func nextExclusive(_ state: inout State) -> Step? {
        let isTurnDue = state.turn != nil && state.patience.map { $0 <= .now() } ?? true
        if !state.guests.isEmpty, !isTurnDue || !state.wasGuestLast {
            (state.isExclusive, state.wasGuestLast) = (true, true)
            return .guest(state.guests.removeFirst(), waking: state.hasJobs ? callForJobs(&state) : nil)
        }
        guard isTurnDue, let turn = state.turn else { return nil }
        (state.turn, state.patience) = (nil, nil)
        (state.isExclusive, state.wasGuestLast) = (true, false)
        return .turn(turn, waking: state.hasJobs ? callForJobs(&state) : nil)
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

    private func wait(
        for semaphore: DispatchSemaphore,
        until end: DispatchTime,
        _ isWaiting: WritableKeyPath<State, Bool> & Sendable
    ) {
        let isEnded = semaphore.wait(timeout: end) == .success
        let isBeingEnded = state.withLock { state in
            defer { state[keyPath: isWaiting] = false }
            return !isEnded && !state[keyPath: isWaiting]
        }
        // The signal that came too late is not to end the next wait.
        if isBeingEnded { semaphore.wait() }
    }
}
