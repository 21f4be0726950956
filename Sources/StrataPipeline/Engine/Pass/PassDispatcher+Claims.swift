import Foundation
import Strata

extension PassDispatcher {
    /// Claims operations for all consumers: suspects first, then one consumer after the other.
    mutating func claim() throws {
        let known = repository.sideResults.reports.count
        if try claimSuspect() {
            for consumer in input.served { try claim(for: consumer) }
        }
        if input.claims.isEmpty, !result.claims.isEmpty { try repository.ensureRegistered(result.memory.worker) }
        // Failures of dependants may have released operations that consumers had already looked at.
        if repository.sideResults.reports.count > known {
            result.hasUnseenWork = true
            for id in result.findings.keys {
                result.findings[id]?.isDry = false
                result.findings[id]?.isExemptDry = false
            }
        }
    }

    /// Starts a suspected operation, if one is ready and nothing else has just begun here.
    ///
    /// - Returns: whether other operations may be started.
    private mutating func claimSuspect() throws -> Bool {
        guard try repository.areSuspected() else { return true }
        let trial = try repository.trial(of: result.memory.worker)
        if trial.isOfSuspect {
            result.memory.withheldUntil = trial.end
            return false
        }
        for name in try repository.suspectedNames() {
            let takers = input.takers(of: name)
            guard let consumer = takers.first, takers.count == 1 else { continue }
            if result.overridden[name]?.isPaused == true { continue }
            let exemptKeys = consumer.gate?.exemptKeys
            if consumer.isGateClosed, exemptKeys == nil { continue }
            let allowance = try allowance(of: consumer)
            guard allowance.slots > 0 else { continue }
            if case .queues = consumer.scope { try repository.declare(name, consumer.rules, isTransient: true) }
            var looks = OperationRepository.lookLimit
            let found = try repository.claim(
                1,
                of: name,
                OperationRepository.Selection(
                    keys: consumer.isGateClosed ? exemptKeys : nil,
                    isSuspected: true,
                    types: consumer.claimedTypes,
                    laneRates: consumer.laneRates
                ),
                by: result.memory.worker,
                besides: input.running,
                isTaking: trial.end == nil,
                &looks
            )
            try record(found.claims, of: consumer, allowance)
            if !found.claims.isEmpty {
                result.memory.withheldUntil = try repository.trial(of: result.memory.worker).end
                return false
            }
            if trial.end != nil, !found.isDry {
                result.memory.withheldUntil = trial.end
                return false
            }
        }
        return true
    }

    private mutating func claim(for consumer: Consumer) throws {
        let allowance = try allowance(of: consumer)
        let slots = allowance.slots
        guard slots > 0 else { return }
        let worker = result.memory.worker
        let claims: [ClaimedOperation]
        var findings = result.findings[consumer.id] ?? PassResult.Findings()
        switch consumer.scope {
        case .pipeline(let name) where consumer.isGateClosed:
            guard let keys = consumer.gate?.exemptKeys else { return }
            let selection = OperationRepository.Selection(
                keys: keys,
                types: consumer.claimedTypes,
                laneRates: consumer.laneRates
            )
            // The other operations are unknown. They are looked at when the gate opens.
            (claims, findings.isExemptDry) = try repository.claim(
                slots,
                of: name,
                selection,
                by: worker,
                besides: input.running
            )
        case .pipeline(let name):
            (claims, findings.isDry) = try repository.claim(
                slots,
                of: name,
                OperationRepository.Selection(types: consumer.claimedTypes, laneRates: consumer.laneRates),
                by: worker,
                besides: input.running
            )
        case .queues:
            var cursor = consumer.cursor
            // The events of this pass may concern queues that the round has passed.
            if input.isEventful { cursor.isFruitful = true }
            var disputed = result.disputed
            let overridden = result.overridden
            (claims, findings.isDry) = try repository.claim(
                slots,
                for: consumer,
                by: worker,
                besides: input.running,
                &cursor
            ) { name in
                if overridden[name]?.isPaused == true { return false }
                let takers = input.takers(of: name)
                if takers.count > 1 { disputed[name] = takers }
                return takers.count == 1 && takers[0].id == consumer.id
            }
            result.disputed = disputed
            findings.cursor = cursor
        }
        result.findings[consumer.id] = findings
        try record(claims, of: consumer, allowance)
    }

    /// How many operations a consumer may start.
    private struct Allowance {
        var slots: Int
        /// The remaining budget of the consumer's rate limit.
        var budget: OperationRepository.Budget?
        /// The free places in all processes together; nil for any number.
        var freePlaces: Int?
    }

    private mutating func allowance(of consumer: Consumer) throws -> Allowance {
        let ended = input.work.ended.count { $0.consumer === consumer.definition }
        let slots = min(consumer.freeSlots(afterEnds: ended), input.slots - result.claims.count)
        var allowance = Allowance(slots: slots)
        if allowance.slots > 0, let limit = consumer.options.maxConcurrentGlobally {
            let count = try repository.runningCount(of: consumer, besides: input.running)
            let places = max(limit - count, 0)
            if places == 0 { recordFull(consumer) }
            (allowance.slots, allowance.freePlaces) = (min(allowance.slots, places), places)
        }
        guard allowance.slots > 0, let limit = consumer.rateLimit else { return allowance }
        let budget = try repository.budget(of: consumer.name, limit)
        if let date = budget.nextStart {
            recordLimit(of: consumer, until: date)
            allowance.slots = 0
            return allowance
        }
        (allowance.slots, allowance.budget) = (min(allowance.slots, budget.whole), budget)
        return allowance
    }

    /// Records that operations of a consumer were claimed.
    private mutating func record(
        _ claims: [ClaimedOperation],
        of consumer: Consumer,
        _ allowance: Allowance
    ) throws {
        if let places = allowance.freePlaces, claims.count >= places { recordFull(consumer) }
        if var left = allowance.budget, !claims.isEmpty {
            try repository.spend(claims.count, of: &left, consumer.name)
            if let date = left.nextStart { recordLimit(of: consumer, until: date) }
        }
        let isTraced = consumer.events.telemetry?.tracer != nil
        let traced = isTraced ? try repository.withTraces(claims) : claims
        result.claims += traced.map { ($0, consumer.definition) }
    }

    /// Records that a consumer runs as many operations in all processes together as its limit allows. It looks again
    /// after any end, and after any commit of another process, because these may free a place.
    private mutating func recordFull(_ consumer: Consumer) {
        result.findings[consumer.id, default: PassResult.Findings()].isDry = true
        result.findings[consumer.id, default: PassResult.Findings()].isExemptDry = true
    }

    /// Records that a rate limit allows a consumer no further start before a date.
    private mutating func recordLimit(of consumer: Consumer, until date: Date) {
        result.findings[consumer.id, default: PassResult.Findings()].limitedUntil = date
    }
}
