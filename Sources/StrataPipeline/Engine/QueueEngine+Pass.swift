import Foundation
import Strata
import Synchronization

extension QueueEngine {
    /// The input of one pass.
    struct PassInput {
        var ended: [AttemptEnd] = []
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
        /// The facts that the last pass has read from the store.
        var cachedFacts: OperationRepository.CachedFacts?
        /// Whether a hold ends, a schedule is due, or a heartbeat is due.
        var isTimeUp = false
        var isDue = false
        var hasUnseenWork = false
        /// How many attempts may be started, of all consumers together.
        var slots = 0
        /// The consumer that is served last if the slots do not suffice for all.
        var lastServed = 0
        var isHeartbeatDue = false
        var haveConstraintsChanged = false
        var haveSchedulesChanged = false
        /// Whether there are attempts for which this worker must stay alive.
        var isWorking = false
        var others: [Int64: OperationRepository.WorkerObservation] = [:]
        var running = OperationRepository.RunningOperations()
        /// The satisfied constraints of each consumer.
        var satisfied: [Consumer.ID: [Constraint]] = [:]
        /// Where the last search for stray cycles has ended.
        var cyclesSearchedTo = Int64.min
        /// The position up to which finished operations are being deleted.
        var archiveEnd: OperationRepository.ArchiveEnd?

        /// The consumers in the order in which they are served.
        var served: [Consumer] {
            let all = consumers.values.sorted { $0.id < $1.id }
            return all.filter { $0.id > lastServed } + all.filter { $0.id <= lastServed }
        }

        /// Whether operations may have become ready.
        var isEventful: Bool { !ended.isEmpty || isDue || haveConstraintsChanged }

        var isEmpty: Bool {
            ended.isEmpty && progress.isEmpty && decided.isEmpty && !isDue && !isHeartbeatDue && !haveConstraintsChanged
                && !haveSchedulesChanged && archiveEnd == nil
                && (slots == 0 || !consumers.values.contains { $0.isClaimable(hasUnseenWork: hasUnseenWork) })
        }
    }

    /// The result of one pass.
    struct PassResult {
        var claims: [(operation: ClaimedOperation, consumer: Consumer.ID)] = []
        var dry: Set<Consumer.ID> = []
        /// As `dry`, for operations that are exempt from gates.
        var exemptDry: Set<Consumer.ID> = []
        /// Each broker's position in the round through its queues.
        var cursors: [Consumer.ID: RoundRobinCursor] = [:]
        /// Until when rate limits allow consumers no further start.
        var limited: [Consumer.ID: Date] = [:]
        /// Until when no operation is started, so that a suspected operation runs alone; nil if operations may be
        /// started.
        var withheldUntil: Date?
        /// Whether an operation was released after other consumers had already looked.
        var hasUnseenWork = false
        /// The queues that several consumers take, with these consumers.
        var disputed: [PipelineName: [Consumer]] = [:]
        var events: [(hub: EventHub, event: PipelineEvent)] = []
        /// Events about requests of other commits.
        var decided: [(hub: EventHub, event: PipelineEvent)] = []
        var requested: Set<Int64> = []
        var nextDue: Date?
        var cachedFacts: OperationRepository.CachedFacts?
        var others: [Int64: OperationRepository.WorkerObservation]?
        var worker: Int64?
        /// Where the search for stray cycles has ended, and the cycles that it has found.
        var cyclesSearchedTo: Int64?
        var cycles: [[Int64]] = []
        /// The position up to which more finished operations must be deleted.
        var archiveEnd: OperationRepository.ArchiveEnd?
    }

    /// The interval in seconds at which a worker sends a heartbeat and looks for other workers.
    static let heartbeatInterval = 10.0

    /// Runs one pass.
    func runPass() {
        let now = clock.now
        guard let input = collectInput(at: now) else { return }
        guard !input.isEmpty else { return setAlarm() }
        var result = PassResult()
        do {
            try transact { transaction in
                result = PassResult()
                let repository = OperationRepository(transaction, now: now, Self.rules(of: input.consumers.values))
                try write(input, repository, isUnchanged: repository.adopt(input.cachedFacts), &result)
            }
        } catch {
            return restore(input, error)
        }
        conclude(input, result)
    }

    /// Concludes a pass after its commit: sends its events, and starts the claimed operations.
    func conclude(_ input: PassInput, _ result: PassResult) {
        updateState(after: input, result)
        for (hub, event) in result.events { hub.send(event) }
        for (hub, event) in result.decided { hub.deliver(event) }
        report(result.disputed)
        for cycle in result.cycles { stack.log(.error, DependencyCycle.error(cycle).message) }
        start(result.claims.compactMap { claim in input.consumers[claim.consumer].map { (claim.operation, $0) } })
        setAlarm()
    }

    func collectInput(at now: Date) -> PassInput? {
        checkGates()
        var taken = takeState(at: now)
        guard let input = taken else { return nil }
        // Constraints are asked here, because they are application code, which may use the stack.
        for (index, attemptEnd) in input.ended.enumerated() {
            if case .success(let outcome) = attemptEnd.outcome, case .wait(let constraint) = outcome.kind {
                // The sources may have changed since the attempt started.
                let consumer = input.consumers[attemptEnd.consumer.id] ?? attemptEnd.consumer
                taken?.ended[index].isSatisfied = consumer.options.isSatisfied(constraint)
            }
        }
        if input.haveConstraintsChanged || input.isHeartbeatDue {
            taken?.satisfied = input.consumers.mapValues { consumer in
                consumer.options.constraints.filter(\.isSatisfied).map(\.constraint)
            }
        }
        return taken
    }

    /// Asks which gates are open. A constraint that opens or closes a gate requests a pass afterwards, and each
    /// heartbeat asks once more.
    func checkGates() {
        let gates = state.withLock { $0.consumers.compactMapValues(\.gate) }
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

    private func takeState(at now: Date) -> PassInput? {
        state.withLock { state in
            guard let worker = state.worker else { return nil }
            var input = PassInput()
            (input.worker, input.now, input.seenUntil) = (worker, now, state.seenUntil)
            (input.nextDue, input.cachedFacts) = (state.nextDue, state.cachedFacts)
            input.ended = state.ended
            input.progress = state.progress
            input.decided = state.decided
            input.consumers = state.consumers
            input.hasUnseenWork = state.hasUnseenWork
            input.slots = freeSlots(afterEnds: input.ended.count, state)
            input.lastServed = state.lastServed
            let untilHeartbeat = state.nextHeartbeat.timeIntervalSince(now)
            // The next heartbeat is at most one interval away, unless the clock has been set.
            input.isHeartbeatDue = untilHeartbeat <= 0 || untilHeartbeat > 2 * Self.heartbeatInterval
            input.isTimeUp = input.isHeartbeatDue || state.nextDue.map { $0 <= now } ?? false
            input.isDue = state.hasUnseenWork || input.isTimeUp || state.withheldUntil.map { $0 <= now } ?? false
            input.haveConstraintsChanged = state.haveConstraintsChanged
            input.haveSchedulesChanged = state.haveSchedulesChanged
            input.isWorking = !state.running.isEmpty
            input.others = state.others
            input.archiveEnd = state.archiveEnd
            input.cyclesSearchedTo = state.cyclesSearchedTo
            for (number, running) in state.running where !running.isEnding {
                input.running.insert(number, in: running.lane)
            }
            (state.ended, state.progress, state.decided, state.hasUnseenWork) = ([], [:], [], false)
            (state.haveConstraintsChanged, state.haveSchedulesChanged) = (false, false)
            return input
        }
    }

    /// Returns a pass's work after a failed write. No work is lost; the pass is tried again.
    private func restore(_ input: PassInput, _ error: any Error) {
        restore(input)
        setAlarm(at: clock.now.addingTimeInterval(Self.storePause))
        reportStoreFailure(error, input.consumers.values)
    }

    /// After how many seconds a failed write is tried again.
    static let storePause = 1.0

    func reportStoreFailure(_ error: any Error, _ consumers: some Collection<Consumer>) {
        stack.log(.error, "the pipelines cannot write to the store, and retry: \(error)")
        for consumer in consumers { consumer.events.send(.storeFailed(error)) }
    }

    /// Returns work to the state, so that the next pass does it.
    func restore(_ input: PassInput) {
        state.withLock { state in
            state.ended = input.ended + state.ended
            state.progress.merge(input.progress) { newer, _ in newer }
            state.decided = input.decided + state.decided
            state.hasUnseenWork = state.hasUnseenWork || input.hasUnseenWork
            state.haveConstraintsChanged = state.haveConstraintsChanged || input.haveConstraintsChanged
            state.haveSchedulesChanged = state.haveSchedulesChanged || input.haveSchedulesChanged
        }
    }

    /// Writes a pass's work.
    ///
    /// - Parameter isUnchanged: whether the store is as the previous pass has left it.
    func write(_ input: PassInput, _ repository: OperationRepository, isUnchanged: Bool, _ result: inout PassResult)
        throws
    {
        let transaction = repository.transaction
        try writeEnds(input, repository, &result)
        for (claim, fraction) in input.progress {
            let values: [StoredValue] = [
                .real(fraction), .integer(transaction.number), .integer(claim.operation), .integer(claim.worker),
                .integer(claim.epoch),
            ]
            if try transaction.run(QueueSQL.setProgress, values) > 0 {
                try transaction.report(updated: claim.operation, ["progress"], of: QueuedOperation.self)
            }
        }
        try reportDecided(input, transaction, &result)
        if input.isTimeUp || input.haveSchedulesChanged { try repository.plan() }
        if input.isHeartbeatDue {
            try repository.planAfterClockChange()
            try repository.correctFutureTimes()
        }
        if input.isTimeUp {
            while try repository.releaseDueHolds() {}
            try repository.runDueSchedules()
        }
        result.archiveEnd = input.archiveEnd
        if input.isHeartbeatDue { try sendHeartbeat(input, repository, &result) }
        if let end = result.archiveEnd, try !repository.prune(upTo: end) { result.archiveEnd = nil }
        if input.haveConstraintsChanged || input.isHeartbeatDue {
            for (id, constraints) in input.satisfied {
                for constraint in constraints { try repository.wake(constraint, of: input.consumers[id]!) }
            }
        }
        if input.hasUnseenWork { try lookAtRunning(input, repository, &result) }
        if input.slots > 0 {
            let known = repository.sideResults.reports.count
            let worker = result.worker ?? input.worker
            if try claimSuspect(input, repository, by: worker, &result) {
                for consumer in input.served { try claim(for: consumer, input, repository, by: worker, &result) }
            }
            if !input.isWorking, !result.claims.isEmpty { try repository.ensureRegistered(worker) }
            // Failures of dependants may have released operations that consumers had already looked at.
            if repository.sideResults.reports.count > known {
                (result.hasUnseenWork, result.dry, result.exemptDry) = (true, [], [])
            }
        }
        result.cachedFacts = repository.cachedFacts
        // Without holds, only schedules can be due.
        let isDueAsBefore =
            isUnchanged && result.cachedFacts!.haveNoTies && !input.isTimeUp && !input.haveSchedulesChanged
        result.nextDue =
            try isDueAsBefore
            ? input.nextDue
            : repository.nextDue(
                after: input.isTimeUp ? input.now : input.haveSchedulesChanged ? .distantPast : input.seenUntil
            )
        for (number, pipeline, report) in repository.sideResults.reports {
            guard let consumer = input.consumers.values.first(where: { $0.takes(pipeline) }) else { continue }
            result.events.append((consumer.events, report.event(stack.id(number, of: QueuedOperation.self))))
        }
    }

    /// Reports the results of operations that ended without an attempt.
    private func reportDecided(_ input: PassInput, _ transaction: StoreTransaction, _ result: inout PassResult) throws {
        for number in input.decided {
            try transaction.rows(QueueSQL.selectResult, [.integer(number)]) { row in
                let pipeline = PipelineName(try row.read(String.self, at: 0))
                guard let consumer = input.consumers.values.first(where: { $0.takes(pipeline) }) else { return }
                let report = OperationRepository.Report.finished(try row.read(OperationResult.self, at: 1))
                result.decided.append((consumer.events, report.event(stack.id(number, of: QueuedOperation.self))))
            }
        }
    }

    /// The number of operations that a consumer may start, and the remaining budget of its rate limit.
    private func allowance(
        of consumer: Consumer,
        _ input: PassInput,
        _ repository: OperationRepository,
        _ result: inout PassResult
    ) throws -> (slots: Int, budget: OperationRepository.Budget?) {
        let ended = input.ended.reduce(0) { $0 + ($1.consumer.id == consumer.id ? 1 : 0) }
        let slots = min(consumer.freeSlots(afterEnds: ended), input.slots - result.claims.count)
        guard slots > 0, let limit = consumer.options.rateLimit else { return (slots, nil) }
        let budget = try repository.budget(of: consumer.name, limit)
        guard budget.pause == 0 else {
            result.limited[consumer.id] = input.now.later(by: budget.pause)
            return (0, nil)
        }
        return (min(slots, budget.whole), budget)
    }

    /// Records that operations of a consumer were claimed.
    private func recordClaims(
        _ claims: [ClaimedOperation],
        of consumer: Consumer,
        _ budget: OperationRepository.Budget?,
        _ input: PassInput,
        _ repository: OperationRepository,
        _ result: inout PassResult
    ) throws {
        if var left = budget, !claims.isEmpty {
            try repository.spend(claims.count, of: &left, consumer.name)
            if left.pause > 0 { result.limited[consumer.id] = input.now.later(by: left.pause) }
        }
        result.claims += claims.map { ($0, consumer.id) }
    }

    /// Starts a suspected operation, if one is ready and nothing else has just begun here.
    ///
    /// - Returns: whether other operations may be started.
    private func claimSuspect(
        _ input: PassInput,
        _ repository: OperationRepository,
        by worker: Int64,
        _ result: inout PassResult
    ) throws -> Bool {
        guard try repository.areSuspected() else { return true }
        let trial = try repository.trial(of: worker)
        if trial.isOfSuspect {
            result.withheldUntil = trial.end
            return false
        }
        for name in try repository.suspectedNames() {
            let takers = input.consumers.values.filter { $0.takes(name) }
            guard let consumer = takers.first, takers.count == 1 else { continue }
            let exemptKeys = consumer.gate?.exemptKeys
            if consumer.isGateClosed, exemptKeys == nil { continue }
            let (slots, budget) = try allowance(of: consumer, input, repository, &result)
            guard slots > 0 else { continue }
            if case .queues = consumer.scope { try repository.declare(name, consumer.rules, isTransient: true) }
            var looks = OperationRepository.lookLimit
            let found = try repository.claim(
                1,
                of: name,
                OperationRepository.Selection(keys: consumer.isGateClosed ? exemptKeys : nil, isSuspected: true),
                by: worker,
                besides: input.running,
                isTaking: trial.end == nil,
                &looks
            )
            try recordClaims(found.claims, of: consumer, budget, input, repository, &result)
            if !found.claims.isEmpty {
                result.withheldUntil = try repository.trial(of: worker).end
                return false
            }
            if trial.end != nil, !found.isDry {
                result.withheldUntil = trial.end
                return false
            }
        }
        return true
    }

    private func claim(
        for consumer: Consumer,
        _ input: PassInput,
        _ repository: OperationRepository,
        by worker: Int64,
        _ result: inout PassResult
    ) throws {
        let (slots, budget) = try allowance(of: consumer, input, repository, &result)
        guard slots > 0 else { return }
        let claims: [ClaimedOperation]
        let isDry: Bool
        switch consumer.scope {
        case .pipeline(let name) where consumer.isGateClosed:
            guard let keys = consumer.gate?.exemptKeys else { return }
            let selection = OperationRepository.Selection(keys: keys)
            let found = try repository.claim(slots, of: name, selection, by: worker, besides: input.running)
            // The other operations are unknown. They are looked at when the gate opens.
            (claims, isDry) = (found.claims, false)
            if found.isDry { result.exemptDry.insert(consumer.id) }
        case .pipeline(let name):
            (claims, isDry) = try repository.claim(slots, of: name, by: worker, besides: input.running)
        case .queues:
            var cursor = consumer.cursor
            // The events of this pass may concern queues that the round has passed.
            if input.isEventful { cursor.isFruitful = true }
            (claims, isDry) = try repository.claim(slots, for: consumer, by: worker, besides: input.running, &cursor) {
                name in
                let claimants = input.consumers.values.filter { $0.takes(name) }
                if claimants.count > 1 { result.disputed[name] = claimants }
                return claimants.count == 1 && claimants[0].id == consumer.id
            }
            result.cursors[consumer.id] = cursor
        }
        try recordClaims(claims, of: consumer, budget, input, repository, &result)
        if isDry { result.dry.insert(consumer.id) }
    }

    /// Reports queues that several consumers take, once for each queue.
    private func report(_ disputed: [PipelineName: [Consumer]]) {
        for (name, consumers) in disputed {
            guard state.withLock({ $0.disputed.insert(name).inserted }) else { continue }
            let error = Self.claimedTwice(name, consumers.sorted { $0.id < $1.id })
            stack.log(.error, "the operations of a queue are held: \(error)")
            for consumer in consumers { consumer.events.send(.queueHeld(name, error)) }
        }
    }

    /// Sends a heartbeat, reclaims the operations of dead workers, and deletes old data.
    private func sendHeartbeat(_ input: PassInput, _ repository: OperationRepository, _ result: inout PassResult) throws
    {
        if input.isWorking, try !repository.recordHeartbeat(of: input.worker) {
            // Another process has declared this worker dead and reclaimed its operations.
            let worker = try repository.register(.own)
            result.worker = worker
            result.requested.formUnion(state.withLock { $0.running.keys })
        }
        result.others = try repository.reclaimFromSilentWorkers(input.others, except: result.worker ?? input.worker)
        try repository.forgetEmptyQueues()
        result.archiveEnd = try repository.archiveEnd()
        try searchForCycles(input, repository, &result)
    }

    /// Continues the search for stray cycles.
    private func searchForCycles(_ input: PassInput, _ repository: OperationRepository, _ result: inout PassResult)
        throws
    {
        let (seen, cycles) = try repository.breakStrayCycles(after: input.cyclesSearchedTo) { name in
            input.consumers.values.contains { $0.takes(name) }
        }
        (result.cyclesSearchedTo, result.cycles) = (seen, cycles)
    }

    /// Finds running operations that were taken off the queue or have a pending request.
    private func lookAtRunning(_ input: PassInput, _ repository: OperationRepository, _ result: inout PassResult) throws
    {
        for claim in state.withLock({ $0.running.values.map(\.claim) }) {
            var request: OperationRequest?
            var isHeld = false
            try repository.transaction.rows(
                QueueSQL.selectHolder,
                [.integer(claim.operation), .integer(claim.worker), .integer(claim.epoch)]
            ) { row in
                isHeld = true
                request = try row.request(at: 3)
            }
            if !isHeld || request != nil { result.requested.insert(claim.operation) }
        }
    }

    /// Updates the engine's state after the commit.
    private func updateState(after input: PassInput, _ result: PassResult) {
        let (tasks, ends) = state.withLock { state in
            for attemptEnd in input.ended {
                let number = attemptEnd.operation.claim.operation
                guard state.running[number]?.claim == attemptEnd.operation.claim else { continue }
                state.running[number] = nil
                state.consumers[attemptEnd.consumer.id]?.running.remove(number)
            }
            // Any operation may have waited for the ended ones.
            let mayHaveFreed = input.isEventful || result.hasUnseenWork
            if input.isTimeUp { state.seenUntil = input.now }
            if input.isHeartbeatDue { state.nextHeartbeat = input.now.addingTimeInterval(Self.heartbeatInterval) }
            if result.hasUnseenWork { state.hasUnseenWork = true }
            let unwanted = result.requested.compactMap { number in
                state.running[number]?.isUnwanted = true
                return state.running[number]?.task
            }
            for (id, consumer) in state.consumers {
                state.consumers[id]?.isDry = result.dry.contains(id) || consumer.isDry && !mayHaveFreed
                state.consumers[id]?.isExemptDry =
                    result.exemptDry.contains(id) || consumer.isExemptDry && !mayHaveFreed
                state.consumers[id]?.limitedUntil = result.limited[id]
                if let cursor = result.cursors[id] { state.consumers[id]?.cursor = cursor }
            }
            for (operation, consumer) in result.claims {
                state.running[operation.claim.operation] = Running(
                    claim: operation.claim,
                    consumer: consumer,
                    lane: OperationRepository.Lane(pipeline: operation.pipeline, name: operation.lane)
                )
                state.consumers[consumer]?.running.insert(operation.claim.operation)
            }
            state.withheldUntil = result.withheldUntil
            if let last = result.claims.last { state.lastServed = last.consumer }
            (state.nextDue, state.cachedFacts) = (result.nextDue, result.cachedFacts)
            state.isBusy = input.ended.count > 1 || result.claims.count > 1
            state.archiveEnd = result.archiveEnd
            if let seen = result.cyclesSearchedTo { state.cyclesSearchedTo = seen }
            if let others = result.others { state.others = others }
            if let worker = result.worker { state.worker = worker }
            let busy = Set(state.running.values.map(\.consumer))
            let ends = state.endWaiters.values.filter { !busy.contains($0.consumer) }
            state.endWaiters = state.endWaiters.filter { busy.contains($0.value.consumer) }
            return (unwanted, ends)
        }
        if let worker = result.worker { LiveWorkers.insert(key(of: worker)) }
        for task in tasks { task.cancel() }
        // Otherwise these attempts would wait for a thread, which handlers may hold for long.
        if !result.requested.isEmpty { withdraw { result.requested.contains($0.operation.claim.operation) } }
        for end in ends { end.continuation.resume() }
        // Operations beyond this pass's limits are handled by the next one.
        let isOpen = state.withLock { state in
            state.archiveEnd != nil
                || state.withheldUntil == nil && freeSlots(afterEnds: 0, state) > 0
                    && state.consumers.values.contains { $0.isClaimable() && $0.limitedUntil == nil }
        }
        if isOpen { schedulePass() }
    }

    /// Sets the alarm for the next end of a hold or the next heartbeat.
    private func setAlarm() {
        setAlarm(
            at: state.withLock { state in
                guard state.worker != nil else { return nil }
                let limits =
                    state.consumers.values.compactMap { $0.isDry ? nil : $0.limitedUntil }
                    + [state.withheldUntil].compactMap { $0 }
                return limits.reduce(min(state.nextDue ?? .distantFuture, state.nextHeartbeat)) { min($0, $1) }
            }
        )
    }

    private func setAlarm(at date: Date?) {
        let set: (number: Int, old: (any PipelineAlarm)?)? = state.withLock { state in
            // Most passes do not change the alarm.
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
            self?.schedulePass()
        }
        let isStale = state.withLock { state in
            let isStale = state.alarmNumber != number || state.alarmDate == nil
            if !isStale { state.alarm = alarm }
            return isStale
        }
        if isStale { alarm.cancel() }
    }

    // MARK: Ends of attempts

    private func writeEnds(_ input: PassInput, _ repository: OperationRepository, _ result: inout PassResult) throws {
        let completed = try repository.complete(
            input.ended.filter { $0.written == nil && $0.outcome.isDone }.map(\.operation)
        )
        for attemptEnd in input.ended {
            let number = attemptEnd.operation.claim.operation
            let report =
                try completed.contains(number)
                ? .finished(.completed)
                : attemptEnd.written
                    ?? repository.end(
                        attemptEnd.operation,
                        attemptEnd.outcome,
                        attemptEnd.consumer.options,
                        isSatisfied: attemptEnd.isSatisfied
                    )
            result.events.append((attemptEnd.consumer.events, report.event(stack.id(number, of: QueuedOperation.self))))
        }
    }
}
