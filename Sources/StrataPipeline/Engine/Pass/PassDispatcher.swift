import Foundation
import Strata

/// Writes one pass: ends attempts, handles due dates, and claims operations.
///
/// The input and the result are values. The dispatcher changes nothing but the store, so a pass whose transaction
/// fails leaves no trace.
///
/// Isolation: used by one thread, inside one transaction.
struct PassDispatcher {
    private(set) var input: PassInput
    let repository: OperationRepository
    var result: PassResult
    /// Whether the next pass must queue further debounced operations.
    private var hasMoreDebounced = false

    private init(_ input: PassInput, _ repository: OperationRepository) {
        self.input = input
        self.repository = repository
        result = PassResult(memory: input.memory)
    }

    /// Writes a pass in the transaction of a repository.
    ///
    /// - Parameter isUnchanged: whether the store is as the previous pass has left it.
    static func dispatch(
        _ input: PassInput,
        _ repository: OperationRepository,
        isUnchanged: Bool
    ) throws -> PassResult {
        var dispatcher = PassDispatcher(input, repository)
        try dispatcher.write()
        try dispatcher.remember(isUnchanged: isUnchanged)
        return dispatcher.result
    }

    private mutating func write() throws {
        try readSettings()
        try writeEnds()
        try writeProgress()
        try reportDecided()
        try handleDueDates()
        if input.isHeartbeatDue { try sendHeartbeat() }
        hasMoreDebounced = try repository.queueDebounced()
        if let end = result.memory.heartbeat.archiveEnd, try !repository.prune(upTo: end) {
            result.memory.heartbeat.archiveEnd = nil
        }
        if result.memory.heartbeat.prunesUniqueness {
            result.memory.heartbeat.prunesUniqueness = try repository.pruneUniqueness()
        }
        if result.memory.heartbeat.isForgettingLanes {
            result.memory.heartbeat.isForgettingLanes = try repository.forgetFullLanes()
        }
        if input.mustWakeConstrained {
            for (id, constraints) in input.satisfied {
                // The consumer may have been closed since the constraints were asked.
                guard let consumer = input.consumers[id] else { continue }
                for constraint in constraints { try repository.wake(constraint, of: consumer) }
            }
        }
        if input.work.hasUnseenWork { try findUnwantedAttempts() }
        result.memory.withheldUntil = nil
        if input.slots > 0 { try claim() }
        for (number, pipeline, report) in repository.sideResults.reports {
            guard let consumer = input.taker(of: pipeline) else { continue }
            result.events.append((consumer.events, number, report))
        }
        for (pipeline, types) in repository.sideResults.unhandledTypes {
            guard let consumer = input.taker(of: pipeline) else { continue }
            result.unhandledTypes[consumer.id, default: []].formUnion(types)
        }
        result.deletedLimits = repository.sideResults.deletedLimits
    }

    /// Reads the settings of operators in the transaction that claims. So no operation is claimed after the commit of a
    /// pause.
    private mutating func readSettings() throws {
        result.overridden = try repository.overriddenOptions()
        for consumer in input.consumers.values {
            let overridden = result.overriddenOptions(for: consumer.definition)
            if overridden != consumer.overridden { input.consumers[consumer.id]?.overridden = overridden }
        }
    }

    // MARK: Attempts

    private mutating func writeEnds() throws {
        let ended = input.work.ended
        let completed = try repository.complete(
            ended.compactMap { $0.written == nil && $0.outcome.isDone ? $0.operation : nil }
        )
        for attemptEnd in ended {
            let number = attemptEnd.operation.claim.operation
            if let result = attemptEnd.outcome.result, completed.contains(number) {
                try repository.storeResult(result, of: number)
            }
            let report =
                try completed.contains(number)
                ? .finished(.completed)
                : attemptEnd.written
                    ?? repository.end(
                        attemptEnd.operation,
                        attemptEnd.outcome,
                        attemptEnd.consumer.options,
                        isSatisfied: attemptEnd.isSatisfied,
                        pause: attemptEnd.pause
                    )
            result.events.append((attemptEnd.consumer.events, number, report))
        }
    }

    private func writeProgress() throws {
        let transaction = repository.transaction
        for (claim, fraction) in input.work.progress {
            let values: [StoredValue] = [
                .real(fraction), .integer(transaction.number), .integer(claim.operation), .integer(claim.worker),
                .integer(claim.epoch),
            ]
            if try transaction.run(QueueSQL.setProgress, values) > 0 {
                try transaction.report(updated: claim.operation, ["progress"], of: QueuedOperation.self)
            }
        }
    }

    /// Reports the results of operations that ended without an attempt.
    private mutating func reportDecided() throws {
        for number in input.work.decided {
            try repository.transaction.rows(QueueSQL.selectResult, [.integer(number)]) { row in
                let pipeline = PipelineName(try row.read(String.self, at: 0))
                guard let consumer = input.taker(of: pipeline) else { return }
                let report = OperationRepository.Report.finished(try row.read(OperationResult.self, at: 1))
                result.decided.append((consumer.events, number, report))
            }
        }
    }

    /// Finds running operations that were taken off the queue or have a pending request.
    private mutating func findUnwantedAttempts() throws {
        for claim in input.claims {
            var request: OperationRequest?
            var isHeld = false
            try repository.transaction.rows(
                QueueSQL.selectHolder,
                [.integer(claim.operation), .integer(claim.worker), .integer(claim.epoch)]
            ) { row in
                isHeld = true
                request = try row.request(at: 3)
            }
            if !isHeld || request != nil { result.unwanted.insert(claim.operation) }
        }
    }

    // MARK: Dates

    private func handleDueDates() throws {
        if input.isTimeUp || input.work.haveSchedulesChanged { try repository.plan() }
        if input.isHeartbeatDue {
            try repository.planAfterClockChange()
            try repository.correctFutureTimes()
        }
        if input.isTimeUp {
            while try repository.releaseDueHolds() {}
            try repository.expireDue()
            try repository.openLanes()
            try repository.runDueSchedules()
        }
    }

    /// Sends a heartbeat, reclaims the operations of dead workers, plans pruning, and continues the search for stray
    /// cycles.
    private mutating func sendHeartbeat() throws {
        if !input.claims.isEmpty, try !repository.recordHeartbeat(of: input.memory.worker) {
            // Another process has declared this worker dead and reclaimed its operations.
            result.memory.worker = try repository.register(.own)
            result.unwanted.formUnion(input.claims.map(\.operation))
        }
        var heartbeat = result.memory.heartbeat
        heartbeat.next = input.now.addingTimeInterval(PassMemory.Heartbeat.interval)
        heartbeat.others = try repository.reclaimFromSilentWorkers(heartbeat.others, except: result.memory.worker)
        try repository.forgetEmptyQueues()
        heartbeat.archiveEnd = try repository.archiveEnd()
        heartbeat.prunesUniqueness = true
        heartbeat.isForgettingLanes = true
        let consumers = input.consumers.values
        (heartbeat.cyclesSearchedTo, result.cycles) = try repository.breakStrayCycles(
            after: heartbeat.cyclesSearchedTo
        ) { name in
            consumers.contains { $0.takes(name) }
        }
        result.memory.heartbeat = heartbeat
    }

    // MARK: The next pass

    /// Records what the next pass may reuse.
    private mutating func remember(isUnchanged: Bool) throws {
        // Without holds, options, debounced operations and limited lanes, only schedules can be due.
        let facts = repository.sideResults.facts
        let isDueAsBefore =
            isUnchanged && facts[.ties] == false && facts[.debounced] == false
            && facts[.limitedLanes] == false && !input.isTimeUp
            && !input.work.haveSchedulesChanged
        if !isDueAsBefore {
            let start =
                input.isTimeUp
                ? input.now : input.work.haveSchedulesChanged ? .distantPast : input.memory.seenUntil
            result.memory.nextDue = try repository.nextDue(after: start)
        }
        if hasMoreDebounced { result.memory.nextDue = input.now }
        result.memory.cachedFacts = repository.cachedFacts
        if input.isTimeUp { result.memory.seenUntil = input.now }
        if let last = result.claims.last { result.memory.lastServed = last.consumer.id }
        result.memory.isBusy = input.work.ended.count > 1 || result.claims.count > 1
    }
}
