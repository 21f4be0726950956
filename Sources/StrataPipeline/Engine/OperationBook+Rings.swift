import Strata
import Synchronization

/// A look at all dependencies of a store for rings that have come into the file without having been refused, as by raw SQL.
final class RingSweep: Sendable {
    struct State {
        /// The last operation at which it began.
        var last = Int64.min
        var search = RingSearch()
    }

    /// How far it has come. It is not put back where a turn fails: a ring that was found is found again.
    let state = Mutex(State())
    /// How many operations it comes by in one turn: some milliseconds' worth.
    static let steps = 200
}

extension OperationBook {
    /// Refuses dependencies by which operations would wait for each other.
    ///
    /// - Complexity: O(1) for each at the end of its lane on which nothing depends, whatever is queued.
    func checkDependants(_ dependants: [Int64]) throws {
        // A ring leads back to where it begins: by way of those that depend on it, or that come behind it in its lane.
        try checkRings(
            from: dependants.filter {
                try transaction.integer(QueueSQL.selectAnyDependant, [.integer($0)]) != nil || isAnyBehind($0)
            }
        )
    }

    /// Refuses places in a lane by which operations would wait for each other.
    func checkMoved(_ numbers: [Int64]) throws {
        try checkRings(from: numbers.filter { try place(of: $0) != nil })
    }

    /// Refuses rings that lead through any of these operations.
    func checkRings(from starts: [Int64]) throws {
        if let ring = try DependencyRing.find(from: starts, waitedFor) { throw DependencyRing.error(ring) }
    }

    /// Where operations of a pipeline wait for each other since they stand in another order, one of each ring fails, so that the others
    /// go on.
    func breakRings(of pipeline: PipelineName) throws {
        guard try rules(pipeline).ordering.isSerial else { return }
        let starts = try transaction.numbers(QueueSQL.selectDependantsIn, [.text(pipeline.rawValue)])
        while let ring = try DependencyRing.find(from: starts, waitedForNow) { try breakRing(ring) }
    }

    /// Looks on for rings, and breaks one that is found.
    ///
    /// - Returns: whether there is more to look at.
    func goOn(with sweep: RingSweep) throws -> Bool {
        try sweep.state.withLock { state in
            var steps = RingSweep.steps
            while true {
                switch try state.search.goOn(&steps, waitedForNow) {
                case .unfinished: return true
                case .ring(let ring):
                    try breakRing(ring)
                    // Behind this, and once more if this comes to nothing.
                    if let start = state.search.forgetWay() { state.last = start - 1 }
                    return true
                case .none:
                    guard steps > 0 else { return true }
                    guard let next = try transaction.integer(QueueSQL.selectNextDependant, [.integer(state.last)])
                    else { return false }
                    steps -= 1
                    try state.search.begin(at: next, waitedForNow)
                    state.last = next
                }
            }
        }
    }

    private func breakRing(_ ring: [Int64]) throws { try fail(ring[0], DependencyRing.error(ring).message) }

    /// What an operation waits for that has not failed nor is started: what has failed stays where it is, and what runs does not wait, so that no ring
    /// leads through them.
    private func waitedForNow(_ number: Int64) throws -> [Int64] {
        switch try state(of: number)?.status {
        case nil, .active, .failed: []
        case .pending, .waiting, .held: try waitedFor(number)
        }
    }

    /// Where an operation stands in a lane that has an order.
    private struct Place {
        let lane: [StoredValue]
        let ordering: PipelineOrdering
        let sortKey: Double
        let commit: Int64

        var values: [StoredValue] { lane + [.real(sortKey), .integer(commit)] }
    }

    /// Whether anything comes behind an operation in a lane that has an order.
    private func isAnyBehind(_ number: Int64) throws -> Bool {
        guard let place = try place(of: number) else { return false }
        let isBeside =
            try place.ordering != .commits
            && transaction.integer(QueueSQL.selectBesideBehind(place.ordering), place.values + [.integer(number)])
                != nil
        return try isBeside || transaction.integer(QueueSQL.selectBehind(place.ordering), place.values) != nil
    }

    /// Nil where its pipeline knows no order, and for what is not queued.
    private func place(of number: Int64) throws -> Place? {
        var place: Place?
        try transaction.rows(QueueSQL.selectPlace, [.integer(number)]) { row in
            let pipeline = try row.read(String.self, at: 0)
            let ordering = try rules(PipelineName(pipeline)).ordering
            guard ordering.isSerial else { return }
            place = Place(
                lane: [.text(pipeline), .text(try row.read(String.self, at: 1))],
                ordering: ordering,
                sortKey: try row.read(Double.self, at: 2),
                commit: try row.read(Int64.self, at: 3)
            )
        }
        return place
    }

    /// What an operation waits for, as far as that may wait itself: what it depends on, and in its lane the nearest ones before it that depend
    /// on anything. Behind those are the others.
    private func waitedFor(_ number: Int64) throws -> [Int64] {
        let prerequisites = try transaction.numbers(QueueSQL.selectPrerequisites, [.integer(number)])
        guard let place = try place(of: number) else { return prerequisites }
        let values = place.values
        // An index holds the order of places by column: within one commit first, and then before that.
        if place.ordering != .commits,
            let near = try transaction.integer(
                QueueSQL.selectDependantBeside(place.ordering),
                values + [.integer(number)]
            )
        {
            return prerequisites + [near]
        }
        var before: (number: Int64, sortKey: Double, commit: Int64)?
        try transaction.rows(QueueSQL.selectDependantBefore(place.ordering), values) { row in
            before = (
                try row.read(Int64.self, at: 0), try row.read(Double.self, at: 1), try row.read(Int64.self, at: 2)
            )
        }
        guard let before else { return prerequisites }
        guard place.ordering == .commits else { return prerequisites + [before.number] }
        // Those of one commit do not wait for each other.
        let group = place.lane + [.real(before.sortKey), .integer(before.commit)]
        return try prerequisites + transaction.numbers(QueueSQL.selectDependantsOfGroup, group)
    }
}
