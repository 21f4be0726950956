import DequeModule
import Dispatch
import Synchronization

/// The threads of the executor: which one is woken, and what it does next.
extension EngineExecutor {
    /// Finds a thread for passes.
    ///
    /// - Returns: the thread to wake; nil if a thread that is already awake runs the passes.
    func callForPasses(_ state: inout State) -> Int? {
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
    func callForJobs(_ state: inout State, isBusy: Bool = false) -> Int? {
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

    func wake(_ thread: Int) { queues[thread].async { self.run(thread) } }

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

    func endExclusive(passes: Int) {
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
