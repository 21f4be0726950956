import Foundation
import Strata
import Synchronization

/// A pass: the engine collects its input, a ``PassDispatcher`` writes it, and the engine applies its result.
///
/// Isolation: one pass at a time, on the executor's threads or within a ``JointPass``.
extension QueueEngine {
    /// Runs one pass in its own transaction.
    func runPass() {
        guard let input = collectInput() else { return }
        guard !input.isEmpty else { return setAlarm() }
        var result = PassResult(memory: input.memory)
        // The number of claims of the first run, which the copy may have allowed and the home may refuse.
        var found: Int?
        do {
            // A pass is a function of its input and the store, so it can run twice.
            try transact(access: input.mustWrite ? .newest : .look) { transaction in
                let repository = OperationRepository(transaction, now: input.now, input.rules)
                let isUnchanged = try repository.adopt(input.memory.cachedFacts)
                result = try PassDispatcher.dispatch(input, repository, isUnchanged: isUnchanged)
                noteWorker(of: result, after: input)
                found = found ?? result.claims.count
            }
        } catch {
            // No work is lost; the pass is tried again.
            restore(input)
            setAlarm(at: clock.now.addingTimeInterval(Self.storePause))
            return reportStoreFailure(error, input.consumers.values.map(\.events))
        }
        conclude(input, result, found: found ?? 0)
    }

    // MARK: Before

    /// Takes the work for a pass; nil while the engine has no worker.
    func collectInput() -> PassInput? {
        let now = clock.now
        checkGates()
        let taken = state.withLock { state in
            state.takeInput(at: now) { group.freeSlots(besides: $0) }
        }
        guard var input = taken else { return nil }
        // Constraints are asked here, because they are application code, which may use the stack.
        for index in input.work.ended.indices {
            guard let constraint = input.work.ended[index].outcome.constraint else { continue }
            let consumer = input.work.ended[index].consumer
            // The sources may have changed since the consumer was opened.
            let sources = input.consumers[consumer.id]?.constraints ?? consumer.options.constraints
            let source = sources.first { $0.constraint == constraint }
            input.work.ended[index].isSatisfied = source?.isSatisfied ?? false
        }
        if input.mustWakeConstrained {
            input.satisfied = input.consumers.mapValues { consumer in
                consumer.constraints.filter(\.isSatisfied).map(\.constraint)
            }
        }
        return input
    }

    /// Asks which gates are open. A constraint that opens or closes a gate requests a pass afterwards, and each
    /// heartbeat asks once more.
    func checkGates() {
        let gates = state.withLock { state -> [Consumer.ID: PipelineGate] in
            guard state.consumers.values.contains(where: { $0.gate != nil }) else { return [:] }
            return state.consumers.compactMapValues(\.gate)
        }
        if gates.isEmpty { return }
        // Not under the lock, because the constraints are not code of the engine.
        let closed = gates.mapValues { !$0.constraint.isSatisfied }
        state.withLock { state in
            for (id, isClosed) in closed { state.consumers[id]?.isGateClosed = isClosed }
        }
    }

    // MARK: After

    /// Concludes a pass after its commit: sends its events, and starts the claimed operations.
    ///
    /// - Parameters:
    ///   - input: the work that the pass has written.
    ///   - result: the result of its last run.
    ///   - found: the number of claims of its first run.
    func conclude(_ input: PassInput, _ result: PassResult, found: Int) {
        state.withLock { $0.claimBackoff.note(found: found, claimed: result.claims.count) }
        apply(result, of: input)
        for (hub, number, report) in result.events { hub.send(event(of: number, report)) }
        for (hub, number, report) in result.decided { hub.deliver(event(of: number, report)) }
        report(result.disputed)
        report(unhandledTypes: result.unhandledTypes)
        report(deletedLimits: result.deletedLimits)
        for cycle in result.cycles { stack.log(.error, DependencyCycle.error(cycle).message) }
        start(result.claims)
        if input.isHeartbeatDue { measureQueues(of: input.consumers.values, now: input.now) }
        setAlarm()
    }

    func event(of operation: Int64, _ report: OperationRepository.Report) -> PipelineEvent {
        report.event(stack.id(operation, of: QueuedOperation.self))
    }

    /// Notes that this process has registered a new worker. Called inside the transaction of the pass, so that another
    /// stack of this process does not take the worker for one of an ended process.
    func noteWorker(of result: PassResult, after input: PassInput) {
        if result.memory.worker != input.memory.worker { LiveWorkers.insert(key(of: result.memory.worker)) }
    }

    private func apply(_ result: PassResult, of input: PassInput) {
        let (tasks, waiters) = state.withLock { $0.apply(result, of: input) }
        for task in tasks { task.cancel() }
        // Otherwise these attempts would wait for a thread, which handlers may hold for long.
        if !result.unwanted.isEmpty { withdraw { result.unwanted.contains($0.operation.claim.operation) } }
        for waiter in waiters { waiter.continuation.resume() }
        // Operations beyond this pass's limits are handled by the next one.
        let isNextDue = state.withLock { state in
            guard let memory = state.memory else { return false }
            return memory.heartbeat.isPruning
                || memory.withheldUntil == nil && !state.registry.isAbandoned
                    && group.freeSlots(besides: state.running.count) > 0
                    && state.consumers.values.contains { $0.isClaimable() && $0.limitedUntil == nil }
        }
        if isNextDue { schedulePass() }
    }

    /// Reports queues that several consumers take, once for each queue.
    private func report(_ disputed: [PipelineName: [Consumer]]) {
        for (name, consumers) in disputed {
            guard state.withLock({ $0.registry.disputed.insert(name).inserted }) else { continue }
            let error = Self.claimedTwice(name, consumers.sorted { $0.id < $1.id })
            stack.log(.error, "the operations of a queue are held: \(error)")
            for consumer in consumers { consumer.events.send(.queueHeld(name, error)) }
        }
    }

    /// Reports types of payloads that a consumer leaves to other processes, once for each type.
    private func report(unhandledTypes: [Consumer.ID: Set<UTF8Text>]) {
        for (id, types) in unhandledTypes {
            let (name, unreported): (String, Set<UTF8Text>) = state.withLock { state in
                guard let consumer = state.consumers[id] else { return ("", []) }
                state.consumers[id]?.reportedTypes.formUnion(types)
                return (consumer.name, types.subtracting(consumer.reportedTypes))
            }
            for type in unreported.sorted() {
                stack.log(
                    .warning,
                    "\(name) has no handler for payloads of type \(type.string.onOneLine): their operations stay "
                        + "queued for processes that have one"
                )
            }
        }
    }

    private func report(deletedLimits: [PipelineName]) {
        for name in deletedLimits {
            stack.log(
                .warning,
                "the limits that an operator has set for \(name.rawValue.onOneLine) are deleted: it is a queue of a "
                    + "broker, whose limits count all of its queues together"
            )
        }
    }

    // MARK: Failures

    /// After how many seconds a failed write is tried again.
    static let storePause = 1.0

    /// Puts back the work of a pass that was not written, so that the next pass does it.
    func restore(_ input: PassInput) { state.withLock { $0.work.restore(input.work) } }

    func reportStoreFailure(_ error: any Error, _ hubs: [EventHub]) {
        if storeFailures.withLock({ $0.note(error, at: Date()) }) {
            stack.log(.error, "the pipelines cannot write to the store, and retry each second: \(error)")
        }
        for hub in hubs { hub.send(.storeFailed(error)) }
    }

    // MARK: Alarm

    /// Sets the alarm for the next date that needs a pass, such as the end of a hold or the next heartbeat.
    private func setAlarm() {
        setAlarm(
            at: state.withLock { state in
                guard let memory = state.memory else { return nil }
                var date = memory.heartbeat.next
                if let due = memory.nextDue { date = min(date, due) }
                if let end = memory.withheldUntil { date = min(date, end) }
                // Without a free slot, the end of a limit makes no pass necessary, and the end of an attempt does. An
                // alarm for it would ring again and again once the limit is over.
                guard group.freeSlots(besides: state.running.count) > 0 else { return date }
                for consumer in state.consumers.values {
                    if let end = consumer.limitedUntil, consumer.isClaimable() { date = min(date, end) }
                }
                return date
            }
        )
    }

    private func setAlarm(at date: Date?) {
        let set: (number: Int, old: (any PipelineAlarm)?)? = state.withLock { state in
            // Most passes do not change the alarm.
            guard state.alarm.date != date else { return nil }
            defer { state.alarm.pending = nil }
            state.alarm.date = date
            state.alarm.number += 1
            return (state.alarm.number, state.alarm.pending)
        }
        guard let (number, old) = set else { return }
        old?.cancel()
        guard let date else { return }
        // Not under the lock: an alarm that is already due may call the body at once.
        let alarm = clock.alarm(at: date) { [weak self] in
            self?.state.withLock { state in
                if state.alarm.number == number { (state.alarm.pending, state.alarm.date) = (nil, nil) }
            }
            self?.schedulePass()
        }
        let isStale = state.withLock { state in
            let isStale = state.alarm.number != number || state.alarm.date == nil
            if !isStale { state.alarm.pending = alarm }
            return isStale
        }
        if isStale { alarm.cancel() }
    }
}
