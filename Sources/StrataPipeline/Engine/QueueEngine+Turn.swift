import Foundation
import Strata
import Synchronization

extension QueueEngine {
    /// The input of one turn.
    struct Work {
        var ended: [Ending] = []
        var progress: [Claim: Double] = [:]
        /// Operations that were skipped or completed without an attempt.
        var decided: [Int64] = []
        var consumers: [Consumer.ID: Consumer] = [:]
        var worker: Int64 = 0
        var now = Date.distantPast
        /// The date up to which due schedules have been handled.
        var seenUntil = Date.distantPast
        /// The next due date, as last known.
        var nextDue: Date?
        /// The facts that the last turn has read from the store.
        var sighting: OperationBook.Sighting?
        /// Whether a hold ends, a schedule is due, or a heartbeat is due.
        var isTimeUp = false
        var isDue = false
        var isNews = false
        /// How many attempts may be started, of all consumers together.
        var slots = 0
        /// The consumer that is served last if the slots do not suffice for all.
        var lastServed = 0
        var isBeatDue = false
        var haveConstraintsChanged = false
        var haveSchedulesChanged = false
        /// Whether there are attempts for which this worker must stay alive.
        var isWorking = false
        var others: [Int64: OperationBook.Sight] = [:]
        var busy = OperationBook.Busy()
        /// The satisfied constraints of each consumer.
        var satisfied: [Consumer.ID: [Constraint]] = [:]
        /// Where the last search for stray cycles has ended.
        var ringsSeen = Int64.min
        /// The position up to which finished operations are being deleted.
        var archiveEnd: OperationBook.ArchiveEnd?

        /// The consumers in the order in which they are served.
        var served: [Consumer] {
            let all = consumers.values.sorted { $0.id < $1.id }
            return all.filter { $0.id > lastServed } + all.filter { $0.id <= lastServed }
        }

        /// Whether operations may have become ready.
        var isEventful: Bool { !ended.isEmpty || isDue || haveConstraintsChanged }

        var isEmpty: Bool {
            ended.isEmpty && progress.isEmpty && decided.isEmpty && !isDue && !isBeatDue && !haveConstraintsChanged
                && !haveSchedulesChanged && archiveEnd == nil
                && (slots == 0 || !consumers.values.contains { $0.isClaimable(isNews: isNews) })
        }
    }

    /// The result of one turn.
    struct Done {
        var claims: [(operation: ClaimedOperation, consumer: Consumer.ID)] = []
        var dry: Set<Consumer.ID> = []
        /// As `dry`, for operations that are exempt from gates.
        var exemptDry: Set<Consumer.ID> = []
        /// Each broker's position in the sweep through its queues.
        var sweeps: [Consumer.ID: Sweep] = [:]
        /// Until when rate limits allow consumers no further start.
        var limited: [Consumer.ID: Date] = [:]
        /// Until when no operation is started, so that a suspected operation runs alone; nil if operations may be
        /// started.
        var withheldUntil: Date?
        /// Whether an operation was released after other consumers had already looked.
        var isNews = false
        /// The queues that several consumers take, with these consumers.
        var disputed: [PipelineName: [Consumer]] = [:]
        var events: [(hub: EventHub, event: PipelineEvent)] = []
        /// Events about requests of other commits.
        var decided: [(hub: EventHub, event: PipelineEvent)] = []
        var requested: Set<Int64> = []
        var nextDue: Date?
        var sighting: OperationBook.Sighting?
        var others: [Int64: OperationBook.Sight]?
        var worker: Int64?
        /// Where the search for stray cycles has ended, and the cycles that it has found.
        var ringsSeen: Int64?
        var rings: [[Int64]] = []
        /// The position up to which more finished operations must be deleted.
        var archiveEnd: OperationBook.ArchiveEnd?
    }

    /// The interval in seconds at which a worker sends a heartbeat and looks for other workers.
    static let beatInterval = 10.0

    /// Runs one turn.
    func runTurn() {
        let now = clock.now
        guard let work = takeWork(now) else { return }
        guard !work.isEmpty else { return setAlarm() }
        var done = Done()
        do {
            try transact { transaction in
                done = Done()
                let book = OperationBook(transaction, now: now, Self.rules(of: work.consumers.values))
                try write(work, book, isUnchanged: book.remember(work.sighting), &done)
            }
        } catch {
            return putBack(work, error)
        }
        conclude(work, done)
    }

    /// Concludes a turn after its commit: sends its events, and starts the claimed operations.
    func conclude(_ work: Work, _ done: Done) {
        settle(work, done)
        for (hub, event) in done.events { hub.send(event) }
        for (hub, event) in done.decided { hub.tell(event) }
        report(done.disputed)
        for ring in done.rings { stack.log(.error, DependencyRing.error(ring).message) }
        start(done.claims.compactMap { claim in work.consumers[claim.consumer].map { (claim.operation, $0) } })
        setAlarm()
    }

    func takeWork(_ now: Date) -> Work? {
        askGates()
        var taken = takeState(now)
        guard let work = taken else { return nil }
        // Constraints are asked here, because they are application code, which may use the stack.
        for (place, ending) in work.ended.enumerated() {
            if case .success(let outcome) = ending.outcome, case .wait(let constraint) = outcome.kind {
                // The observers may have changed since the attempt started.
                let consumer = work.consumers[ending.consumer.id] ?? ending.consumer
                taken?.ended[place].isSatisfied = consumer.options.isSatisfied(constraint)
            }
        }
        if work.haveConstraintsChanged || work.isBeatDue {
            taken?.satisfied = work.consumers.mapValues { consumer in
                consumer.options.constraints.filter(\.isSatisfied).map(\.constraint)
            }
        }
        return taken
    }

    /// Asks which gates are open. A constraint that opens or closes a gate requests a turn afterwards, and each
    /// heartbeat asks once more.
    func askGates() {
        let gates = state.withLock { $0.consumers.compactMapValues(\.options.gate) }
        if gates.isEmpty { return }
        // Not under the lock, because the constraints are not code of the engine.
        let closed = gates.mapValues { !$0.constraint.isSatisfied }
        state.withLock { state in
            for (id, isClosed) in closed { state.consumers[id]?.isGateClosed = isClosed }
        }
    }

    /// The number of attempts that may be started after `ended` of the running ones have ended.
    private func freeSlots(afterEnds ended: Int, _ state: State) -> Int {
        state.suspensions > 0 ? 0 : group.freeSlots(besides: state.running.count - ended)
    }

    private func takeState(_ now: Date) -> Work? {
        state.withLock { state in
            guard let worker = state.worker else { return nil }
            var work = Work()
            (work.worker, work.now, work.seenUntil) = (worker, now, state.seenUntil)
            (work.nextDue, work.sighting) = (state.nextDue, state.sighting)
            work.ended = state.ended
            work.progress = state.progress
            work.decided = state.decided
            work.consumers = state.consumers
            work.isNews = state.isNews
            work.slots = freeSlots(afterEnds: work.ended.count, state)
            work.lastServed = state.lastServed
            let untilBeat = state.nextBeat.timeIntervalSince(now)
            // The next heartbeat is at most one interval away, unless the clock has been set.
            work.isBeatDue = untilBeat <= 0 || untilBeat > 2 * Self.beatInterval
            work.isTimeUp = work.isBeatDue || state.nextDue.map { $0 <= now } ?? false
            work.isDue = state.isNews || work.isTimeUp || state.withheldUntil.map { $0 <= now } ?? false
            work.haveConstraintsChanged = state.haveConstraintsChanged
            work.haveSchedulesChanged = state.haveSchedulesChanged
            work.isWorking = !state.running.isEmpty
            work.others = state.others
            work.archiveEnd = state.archiveEnd
            work.ringsSeen = state.ringsSeen
            for (number, running) in state.running where !running.isEnding {
                work.busy.insert(number, in: running.lane)
            }
            (state.ended, state.progress, state.decided, state.isNews) = ([], [:], [], false)
            (state.haveConstraintsChanged, state.haveSchedulesChanged) = (false, false)
            return work
        }
    }

    /// Returns a turn's work after a failed write. No work is lost; the turn is tried again.
    private func putBack(_ work: Work, _ error: any Error) {
        putBack(work)
        setAlarm(at: clock.now.addingTimeInterval(Self.storePause))
        tellOfStore(error, work.consumers.values)
    }

    /// After how many seconds a failed write is tried again.
    static let storePause = 1.0

    func tellOfStore(_ error: any Error, _ consumers: some Collection<Consumer>) {
        stack.log(.error, "The pipelines could not write, and will try again: \(error)")
        for consumer in consumers { consumer.events.send(.storeFailed(error)) }
    }

    /// Returns work to the state, so that the next turn does it.
    func putBack(_ work: Work) {
        state.withLock { state in
            state.ended = work.ended + state.ended
            state.progress.merge(work.progress) { newer, _ in newer }
            state.decided = work.decided + state.decided
            state.isNews = state.isNews || work.isNews
            state.haveConstraintsChanged = state.haveConstraintsChanged || work.haveConstraintsChanged
            state.haveSchedulesChanged = state.haveSchedulesChanged || work.haveSchedulesChanged
        }
    }

    /// Writes a turn's work.
    ///
    /// - Parameter isUnchanged: whether the store is as the previous turn has left it.
    func write(_ work: Work, _ book: OperationBook, isUnchanged: Bool, _ done: inout Done) throws {
        let transaction = book.transaction
        try writeEnds(work, book, &done)
        for (claim, fraction) in work.progress {
            let values: [StoredValue] = [
                .real(fraction), .integer(transaction.number), .integer(claim.operation), .integer(claim.worker),
                .integer(claim.epoch),
            ]
            if try transaction.run(QueueSQL.setProgress, values) > 0 {
                try transaction.note(updated: claim.operation, ["progress"], of: QueuedOperation.self)
            }
        }
        try tellOfDecided(work, transaction, &done)
        if work.isTimeUp || work.haveSchedulesChanged { try book.plan() }
        if work.isBeatDue {
            try book.planAfterClockChange()
            try book.correctFutureTimes()
        }
        if work.isTimeUp {
            while try book.releaseDueHolds() {}
            try book.runDueSchedules()
        }
        done.archiveEnd = work.archiveEnd
        if work.isBeatDue { try beat(work, book, &done) }
        if let end = done.archiveEnd, try !book.prune(upTo: end) { done.archiveEnd = nil }
        if work.haveConstraintsChanged || work.isBeatDue {
            for (id, constraints) in work.satisfied {
                for constraint in constraints { try book.wake(constraint, of: work.consumers[id]!) }
            }
        }
        if work.isNews { try lookAtRunning(work, book, &done) }
        if work.slots > 0 {
            let known = book.news.reports.count
            let worker = done.worker ?? work.worker
            if try claimSuspect(work, book, by: worker, &done) {
                for consumer in work.served { try claim(for: consumer, work, book, by: worker, &done) }
            }
            if !work.isWorking, !done.claims.isEmpty { try book.remember(worker) }
            // Failures of dependants may have released operations that consumers had already looked at.
            if book.news.reports.count > known { (done.isNews, done.dry, done.exemptDry) = (true, [], []) }
        }
        done.sighting = book.sighting
        // Without holds, only schedules can be due.
        let isDueAsBefore = isUnchanged && done.sighting!.haveNoTies && !work.isTimeUp && !work.haveSchedulesChanged
        done.nextDue =
            try isDueAsBefore
            ? work.nextDue
            : book.nextDue(after: work.isTimeUp ? work.now : work.haveSchedulesChanged ? .distantPast : work.seenUntil)
        for (number, pipeline, report) in book.news.reports {
            guard let consumer = work.consumers.values.first(where: { $0.takes(pipeline) }) else { continue }
            done.events.append((consumer.events, report.event(stack.id(number, of: QueuedOperation.self))))
        }
    }

    /// Reports the results of operations that ended without an attempt.
    private func tellOfDecided(_ work: Work, _ transaction: StoreTransaction, _ done: inout Done) throws {
        for number in work.decided {
            try transaction.rows(QueueSQL.selectResult, [.integer(number)]) { row in
                let pipeline = PipelineName(try row.read(String.self, at: 0))
                guard let consumer = work.consumers.values.first(where: { $0.takes(pipeline) }) else { return }
                let report = OperationBook.Report.finished(try row.read(OperationResult.self, at: 1))
                done.decided.append((consumer.events, report.event(stack.id(number, of: QueuedOperation.self))))
            }
        }
    }

    /// The number of operations that a consumer may start, and the remaining budget of its rate limit.
    private func allowance(
        of consumer: Consumer,
        _ work: Work,
        _ book: OperationBook,
        _ done: inout Done
    ) throws -> (slots: Int, budget: OperationBook.Budget?) {
        let ended = work.ended.reduce(0) { $0 + ($1.consumer.id == consumer.id ? 1 : 0) }
        let slots = min(consumer.freeSlots(afterEnds: ended), work.slots - done.claims.count)
        guard slots > 0, let limit = consumer.options.rateLimit else { return (slots, nil) }
        let budget = try book.budget(of: consumer.name, limit)
        guard budget.pause == 0 else {
            done.limited[consumer.id] = work.now.later(by: budget.pause)
            return (0, nil)
        }
        return (min(slots, budget.whole), budget)
    }

    /// Records that operations of a consumer were claimed.
    private func noteClaims(
        _ claims: [ClaimedOperation],
        of consumer: Consumer,
        _ budget: OperationBook.Budget?,
        _ work: Work,
        _ book: OperationBook,
        _ done: inout Done
    ) throws {
        if var left = budget, !claims.isEmpty {
            try book.spend(claims.count, of: &left, consumer.name)
            if left.pause > 0 { done.limited[consumer.id] = work.now.later(by: left.pause) }
        }
        done.claims += claims.map { ($0, consumer.id) }
    }

    /// Starts a suspected operation, if one is ready and nothing else has just begun here.
    ///
    /// - Returns: whether other operations may be started.
    private func claimSuspect(_ work: Work, _ book: OperationBook, by worker: Int64, _ done: inout Done) throws -> Bool
    {
        guard try book.areSuspected() else { return true }
        let trial = try book.trial(of: worker)
        if trial.isOfSuspect {
            done.withheldUntil = trial.end
            return false
        }
        for name in try book.suspectedNames() {
            let takers = work.consumers.values.filter { $0.takes(name) }
            guard let consumer = takers.first, takers.count == 1 else { continue }
            let exemptKeys = consumer.options.gate?.exemptKeys
            if consumer.isGateClosed, exemptKeys == nil { continue }
            let (slots, budget) = try allowance(of: consumer, work, book, &done)
            guard slots > 0 else { continue }
            if case .queues = consumer.scope { try book.declare(name, consumer.rules, isTransient: true) }
            var looks = OperationBook.lookLimit
            let found = try book.claim(
                1,
                of: name,
                OperationBook.Selection(keys: consumer.isGateClosed ? exemptKeys : nil, isSuspected: true),
                by: worker,
                besides: work.busy,
                isTaking: trial.end == nil,
                &looks
            )
            try noteClaims(found.claims, of: consumer, budget, work, book, &done)
            if !found.claims.isEmpty {
                done.withheldUntil = try book.trial(of: worker).end
                return false
            }
            if trial.end != nil, !found.isDry {
                done.withheldUntil = trial.end
                return false
            }
        }
        return true
    }

    private func claim(
        for consumer: Consumer,
        _ work: Work,
        _ book: OperationBook,
        by worker: Int64,
        _ done: inout Done
    ) throws {
        let (slots, budget) = try allowance(of: consumer, work, book, &done)
        guard slots > 0 else { return }
        let claims: [ClaimedOperation]
        let isDry: Bool
        switch consumer.scope {
        case .pipeline(let name) where consumer.isGateClosed:
            guard let keys = consumer.options.gate?.exemptKeys else { return }
            let selection = OperationBook.Selection(keys: keys)
            let found = try book.claim(slots, of: name, selection, by: worker, besides: work.busy)
            // The other operations are unknown. They are looked at when the gate opens.
            (claims, isDry) = (found.claims, false)
            if found.isDry { done.exemptDry.insert(consumer.id) }
        case .pipeline(let name):
            (claims, isDry) = try book.claim(slots, of: name, by: worker, besides: work.busy)
        case .queues:
            var sweep = consumer.sweep
            // The events of this turn may concern queues that the sweep has passed.
            if work.isEventful { sweep.isFruitful = true }
            (claims, isDry) = try book.claim(slots, for: consumer, by: worker, besides: work.busy, &sweep) { name in
                let claimants = work.consumers.values.filter { $0.takes(name) }
                if claimants.count > 1 { done.disputed[name] = claimants }
                return claimants.count == 1 && claimants[0].id == consumer.id
            }
            done.sweeps[consumer.id] = sweep
        }
        try noteClaims(claims, of: consumer, budget, work, book, &done)
        if isDry { done.dry.insert(consumer.id) }
    }

    /// Reports queues that several consumers take, once for each queue.
    private func report(_ disputed: [PipelineName: [Consumer]]) {
        for (name, consumers) in disputed {
            guard state.withLock({ $0.disputed.insert(name).inserted }) else { continue }
            let error = Self.claimedTwice(name, consumers.sorted { $0.id < $1.id })
            stack.log(.error, "The operations of a queue are held: \(error)")
            for consumer in consumers { consumer.events.send(.queueHeld(name, error)) }
        }
    }

    /// Sends a heartbeat, reclaims the operations of dead workers, and deletes old data.
    private func beat(_ work: Work, _ book: OperationBook, _ done: inout Done) throws {
        if work.isWorking, try !book.beat(work.worker) {
            // Another process has declared this worker dead and reclaimed its operations.
            let worker = try book.register(.own)
            done.worker = worker
            done.requested.formUnion(state.withLock { $0.running.keys })
        }
        done.others = try book.rescueOfTheSilent(work.others, except: done.worker ?? work.worker)
        try book.forgetEmptyQueues()
        done.archiveEnd = try book.archiveEnd()
        try lookForRings(work, book, &done)
    }

    /// Continues the search for stray cycles.
    private func lookForRings(_ work: Work, _ book: OperationBook, _ done: inout Done) throws {
        let (seen, rings) = try book.breakStrayRings(after: work.ringsSeen) { name in
            work.consumers.values.contains { $0.takes(name) }
        }
        (done.ringsSeen, done.rings) = (seen, rings)
    }

    /// Finds running operations that were taken off the queue or have a pending request.
    private func lookAtRunning(_ work: Work, _ book: OperationBook, _ done: inout Done) throws {
        for claim in state.withLock({ $0.running.values.map(\.claim) }) {
            var request: OperationRequest?
            var isHeld = false
            try book.transaction.rows(
                QueueSQL.selectHolder,
                [.integer(claim.operation), .integer(claim.worker), .integer(claim.epoch)]
            ) { row in
                isHeld = true
                request = try row.request(at: 3)
            }
            if !isHeld || request != nil { done.requested.insert(claim.operation) }
        }
    }

    /// Updates the engine's state after the commit.
    private func settle(_ work: Work, _ done: Done) {
        let (tasks, ends) = state.withLock { state in
            for ending in work.ended {
                let number = ending.operation.claim.operation
                guard state.running[number]?.claim == ending.operation.claim else { continue }
                state.running[number] = nil
                state.consumers[ending.consumer.id]?.running.remove(number)
            }
            // Any operation may have waited for the ended ones.
            let mayHaveFreed = work.isEventful || done.isNews
            if work.isTimeUp { state.seenUntil = work.now }
            if work.isBeatDue { state.nextBeat = work.now.addingTimeInterval(Self.beatInterval) }
            if done.isNews { state.isNews = true }
            let unwanted = done.requested.compactMap { number in
                state.running[number]?.isUnwanted = true
                return state.running[number]?.task
            }
            for (id, consumer) in state.consumers {
                state.consumers[id]?.isDry = done.dry.contains(id) || consumer.isDry && !mayHaveFreed
                state.consumers[id]?.isExemptDry =
                    done.exemptDry.contains(id) || consumer.isExemptDry && !mayHaveFreed
                state.consumers[id]?.limitedUntil = done.limited[id]
                if let sweep = done.sweeps[id] { state.consumers[id]?.sweep = sweep }
            }
            for (operation, consumer) in done.claims {
                state.running[operation.claim.operation] = Running(
                    claim: operation.claim,
                    consumer: consumer,
                    lane: OperationBook.Lane(pipeline: operation.pipeline, name: operation.lane)
                )
                state.consumers[consumer]?.running.insert(operation.claim.operation)
            }
            state.withheldUntil = done.withheldUntil
            if let last = done.claims.last { state.lastServed = last.consumer }
            (state.nextDue, state.sighting) = (done.nextDue, done.sighting)
            state.isBusy = work.ended.count > 1 || done.claims.count > 1
            state.archiveEnd = done.archiveEnd
            if let seen = done.ringsSeen { state.ringsSeen = seen }
            if let others = done.others { state.others = others }
            if let worker = done.worker { state.worker = worker }
            let busy = Set(state.running.values.map(\.consumer))
            let ends = state.endWaiters.values.filter { !busy.contains($0.consumer) }
            state.endWaiters = state.endWaiters.filter { busy.contains($0.value.consumer) }
            return (unwanted, ends)
        }
        if let worker = done.worker { LiveWorkers.insert(key(of: worker)) }
        for task in tasks { task.cancel() }
        // Otherwise these attempts would wait for a thread, which handlers may hold for long.
        if !done.requested.isEmpty { withdraw { done.requested.contains($0.operation.claim.operation) } }
        for end in ends { end.continuation.resume() }
        // Operations beyond this turn's limits are handled by the next one.
        let isOpen = state.withLock { state in
            state.archiveEnd != nil
                || state.withheldUntil == nil && freeSlots(afterEnds: 0, state) > 0
                    && state.consumers.values.contains { $0.isClaimable() && $0.limitedUntil == nil }
        }
        if isOpen { scheduleTurn() }
    }

    /// Sets the alarm for the next end of a hold or the next heartbeat.
    private func setAlarm() {
        setAlarm(
            at: state.withLock { state in
                guard state.worker != nil else { return nil }
                let limits =
                    state.consumers.values.compactMap { $0.isDry ? nil : $0.limitedUntil }
                    + [state.withheldUntil].compactMap { $0 }
                return limits.reduce(min(state.nextDue ?? .distantFuture, state.nextBeat)) { min($0, $1) }
            }
        )
    }

    private func setAlarm(at date: Date?) {
        let set: (number: Int, old: (any PipelineAlarm)?)? = state.withLock { state in
            // Most turns do not change the alarm.
            guard state.alarmDate != date else { return nil }
            defer { state.alarm = nil }
            state.alarmDate = date
            state.alarmNumber += 1
            return (state.alarmNumber, state.alarm)
        }
        guard let (number, old) = set else { return }
        old?.cancel()
        guard let date else { return }
        // Not under the lock: an alarm that is already due may call the body at once.
        let alarm = clock.alarm(at: date) { [weak self] in
            self?.state.withLock { state in
                if state.alarmNumber == number { (state.alarm, state.alarmDate) = (nil, nil) }
            }
            self?.scheduleTurn()
        }
        let isStale = state.withLock { state in
            let isStale = state.alarmNumber != number || state.alarmDate == nil
            if !isStale { state.alarm = alarm }
            return isStale
        }
        if isStale { alarm.cancel() }
    }

    // MARK: Ends of attempts

    private func writeEnds(_ work: Work, _ book: OperationBook, _ done: inout Done) throws {
        let completed = try book.complete(work.ended.filter { $0.written == nil && $0.outcome.isDone }.map(\.operation))
        for ending in work.ended {
            let number = ending.operation.claim.operation
            let report =
                try completed.contains(number)
                ? .finished(.completed)
                : ending.written
                    ?? book.end(
                        ending.operation,
                        ending.outcome,
                        ending.consumer.options,
                        isSatisfied: ending.isSatisfied
                    )
            done.events.append((ending.consumer.events, report.event(stack.id(number, of: QueuedOperation.self))))
        }
    }
}
