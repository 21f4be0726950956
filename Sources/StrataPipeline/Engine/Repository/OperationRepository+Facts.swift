import Strata

/// Facts about the store as a whole, which spare most passes some statements.
extension OperationRepository {
    /// A kind of rows that few stores contain. ``QueueSQL/selectFacts`` looks for all of them.
    enum Fact: Int32, CaseIterable, Sendable {
        /// Dependencies, holds, or operations with options.
        case ties
        /// Operations about an object of the application, or with a trace.
        case items
        /// Operations that wait for a place in their lane.
        case awaitedPlaces
        /// Operations that are suspected of having ended their process.
        case suspects
        /// Operations that wait to be queued after a time without further calls.
        case debounced
        /// Settings of pipelines that operators have changed.
        case overrides
        /// Queued operations of a schedule's run.
        case queuedRuns
        /// Operations that wait for the rate limit of their lane.
        case limitedLanes
    }

    /// What a transaction knows of the store as a whole. Its own changes are taken into account.
    struct StoreFacts: Sendable {
        /// Sets of facts, by bits.
        private var known: UInt32 = 0
        private var present: UInt32 = 0
        /// Whether any pipeline records transitions; nil if unknown. A separate statement reads it when it is needed.
        var areTransitionsRecorded: Bool?

        /// Whether the store has rows of this kind; nil if unknown.
        subscript(fact: Fact) -> Bool? {
            get {
                let bit: UInt32 = 1 << fact.rawValue
                return known & bit == 0 ? nil : present & bit != 0
            }
            set {
                let bit: UInt32 = 1 << fact.rawValue
                known = newValue == nil ? known & ~bit : known | bit
                present = newValue == true ? present | bit : present & ~bit
            }
        }

        /// The facts that something does not exist. The others may end with the transaction's own deletes.
        var absences: StoreFacts {
            var absences = StoreFacts()
            absences.known = known & ~present
            if areTransitionsRecorded == false { absences.areTransitionsRecorded = false }
            return absences
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
    func haveTies() throws -> Bool { try has(.ties) }
    /// Whether any operation is about an object of the application, or has a trace.
    func haveItems() throws -> Bool { try has(.items) }
    /// Whether any operation waits for a place in its lane.
    func areAwaited() throws -> Bool { try has(.awaitedPlaces) }
    /// Whether any operation is suspected of having ended its process.
    func areSuspected() throws -> Bool { try has(.suspects) }
    /// Whether any operation waits to be queued after a time without further calls.
    func areDebounced() throws -> Bool { try has(.debounced) }
    /// Whether operators have changed settings of any pipeline.
    func areOverridden() throws -> Bool { try has(.overrides) }
    /// Whether any operation of a schedule's run is queued.
    func areRunsQueued() throws -> Bool { try has(.queuedRuns) }
    /// Whether any operation waits for the rate limit of its lane.
    func areLanesLimited() throws -> Bool { try has(.limitedLanes) }

    /// Whether the store has rows of this kind. The first question that is not answered yet reads all unknown facts.
    private func has(_ fact: Fact) throws -> Bool {
        if let isPresent = sideResults.facts[fact] { return isPresent }
        try transaction.rows(QueueSQL.selectFacts, []) { row in
            for fact in Fact.allCases where sideResults.facts[fact] == nil {
                sideResults.facts[fact] = try row.read(Bool.self, at: fact.rawValue)
            }
        }
        return sideResults.facts[fact]!
    }
}

extension QueueSQL {
    /// Whether the store has rows of each kind, in the order of the facts.
    static let selectFacts =
        "SELECT " + OperationRepository.Fact.allCases.map { existence(of: $0) }.joined(separator: ", ")

    private static func existence(of fact: OperationRepository.Fact) -> String {
        func any(_ rows: String) -> String { "EXISTS (SELECT 1 FROM \(rows))" }
        return switch fact {
        case .ties: "\(any(dependencies)) OR \(any(holds)) OR \(any(settings))"
        case .items: "\(any(items)) OR \(any(traces))"
        case .awaitedPlaces: any("\(operations) WHERE \"awaitsPlace\" IS NOT NULL")
        case .suspects: any("\(operations) WHERE \"suspicion\" IS NOT NULL")
        case .debounced: any(debounced)
        case .overrides: any(overrides)
        case .queuedRuns: any("\(runs) WHERE \"isQueued\" IS NOT NULL")
        case .limitedLanes: any("\(laneBudgets) WHERE \(isAwaited)")
        }
    }
}
