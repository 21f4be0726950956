import Strata

/// Facts about the store as a whole, which spare most passes some statements.
extension OperationRepository {
    /// What a transaction knows of the store as a whole. Its own changes are taken into account. Nil is unknown.
    struct StoreFacts: Sendable {
        /// Whether the store has any dependencies, holds, or operations with options.
        var haveTies: Bool?
        /// Whether any operation is about an object of the application, or has a trace.
        var haveItems: Bool?
        /// Whether any operation waits for a place in its lane.
        var areAwaited: Bool?
        /// Whether any operation is suspected of having ended its process.
        var areSuspected: Bool?
        /// Whether any operation waits to be queued after a time without further calls.
        var areDebounced: Bool?
        /// Whether any operation waits for the rate limit of its lane.
        var areLanesLimited: Bool?
        /// Whether any pipeline records transitions.
        var areTransitionsRecorded: Bool?
        /// Whether operators have changed settings of any pipeline.
        var areOverridden: Bool?
        /// Whether any operation of a schedule's run is queued.
        var areRunsQueued: Bool?

        /// The facts that something does not exist. The others may end with the transaction's own deletes.
        var absences: StoreFacts {
            StoreFacts(
                haveTies: haveTies == false ? false : nil,
                haveItems: haveItems == false ? false : nil,
                areAwaited: areAwaited == false ? false : nil,
                areSuspected: areSuspected == false ? false : nil,
                areDebounced: areDebounced == false ? false : nil,
                areLanesLimited: areLanesLimited == false ? false : nil,
                areTransitionsRecorded: areTransitionsRecorded == false ? false : nil,
                areOverridden: areOverridden == false ? false : nil,
                areRunsQueued: areRunsQueued == false ? false : nil
            )
        }
    }

    /// Facts that one transaction passes to the next one. They hold there if no other commit comes in between.
    struct CachedFacts: Sendable {
        /// The number of the commit that the transaction has seen, or was.
        let sequence: Int64
        let facts: StoreFacts
    }

    /// Adopts the facts of the previous transaction, before this one has read any. Returns whether they still hold.
    func adopt(_ cachedFacts: CachedFacts?) throws -> Bool {
        guard let cachedFacts, try transaction.isUnchanged(since: cachedFacts.sequence, Self.cachedFactModels) else {
            return false
        }
        sideResults.facts = cachedFacts.facts
        return true
    }

    /// The models that the cached facts depend on. Operations are not among them, because a new operation does not wait
    /// for a place and has never run.
    private static let cachedFactModels: [any Model.Type] = [
        OperationDependency.self, OperationHold.self, OperationItem.self, OperationTrace.self, OperationSettings.self,
        PipelineRecord.self, PeriodicOperation.self, DebouncedOperation.self, PipelineOverride.self, ScheduleRun.self,
        LaneBudget.self,
    ]

    /// The facts for the next transaction.
    var cachedFacts: CachedFacts {
        CachedFacts(
            sequence: transaction.isEmpty ? transaction.number - 1 : transaction.number,
            facts: sideResults.facts.absences
        )
    }

    /// Whether the store has any dependencies, holds, or operations with options.
    func haveTies() throws -> Bool {
        if sideResults.facts.haveTies == nil { try readFacts() }
        return sideResults.facts.haveTies!
    }

    /// Whether any operation is about an object of the application, or has a trace.
    func haveItems() throws -> Bool {
        if sideResults.facts.haveItems == nil { try readFacts() }
        return sideResults.facts.haveItems!
    }

    /// Whether any operation waits for a place in its lane.
    func areAwaited() throws -> Bool {
        if sideResults.facts.areAwaited == nil { try readFacts() }
        return sideResults.facts.areAwaited!
    }

    /// Whether any operation is suspected of having ended its process.
    func areSuspected() throws -> Bool {
        if sideResults.facts.areSuspected == nil { try readFacts() }
        return sideResults.facts.areSuspected!
    }

    /// Whether any operation waits to be queued after a time without further calls.
    func areDebounced() throws -> Bool {
        if sideResults.facts.areDebounced == nil { try readFacts() }
        return sideResults.facts.areDebounced!
    }

    /// Whether any operation waits for the rate limit of its lane.
    func areLanesLimited() throws -> Bool {
        if sideResults.facts.areLanesLimited == nil { try readFacts() }
        return sideResults.facts.areLanesLimited!
    }

    /// Whether operators have changed settings of any pipeline.
    func areOverridden() throws -> Bool {
        if sideResults.facts.areOverridden == nil { try readFacts() }
        return sideResults.facts.areOverridden!
    }

    /// Whether any operation of a schedule's run is queued.
    func areRunsQueued() throws -> Bool {
        if sideResults.facts.areRunsQueued == nil { try readFacts() }
        return sideResults.facts.areRunsQueued!
    }

    private func readFacts() throws {
        try transaction.rows(QueueSQL.selectAnyTies, []) { row in
            var facts = sideResults.facts
            facts.haveTies = try facts.haveTies ?? row.read(Bool.self, at: 0)
            facts.haveItems = try facts.haveItems ?? row.read(Bool.self, at: 1)
            facts.areAwaited = try facts.areAwaited ?? row.read(Bool.self, at: 2)
            facts.areSuspected = try facts.areSuspected ?? row.read(Bool.self, at: 3)
            facts.areDebounced = try facts.areDebounced ?? row.read(Bool.self, at: 4)
            facts.areOverridden = try facts.areOverridden ?? row.read(Bool.self, at: 5)
            facts.areRunsQueued = try facts.areRunsQueued ?? row.read(Bool.self, at: 6)
            facts.areLanesLimited = try facts.areLanesLimited ?? row.read(Bool.self, at: 7)
            sideResults.facts = facts
        }
    }
}
