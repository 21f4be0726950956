import Strata

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
        var rings: [[Int64]] = []
        try breakRings(from: starts, &rings, waitedFor)
    }

    /// Fails one operation of each ring that can be reached from some.
    ///
    /// - Parameters:
    ///   - rings: is given those that are broken, also where the prerequisites throw.
    ///   - isOwn: whether operations of a pipeline are failed here. Rings without any are left to others.
    private func breakRings(
        from starts: some Sequence<Int64>,
        _ rings: inout [[Int64]],
        isOwn: (PipelineName) -> Bool = { _ in true },
        _ prerequisites: (Int64) throws -> [Int64]
    ) throws {
        // What has failed stays where it is, and what runs does not wait: no ring leads through them any more.
        var passed: Set<Int64> = []
        while let ring = try DependencyRing.find(from: starts, { passed.contains($0) ? [] : try prerequisites($0) }) {
            let own = try ring.first { number in try state(of: number).map { isOwn($0.pipeline) } ?? false }
            passed.insert(own ?? ring[0])
            guard let own else { continue }
            try fail(own, DependencyRing.error(ring).message)
            rings.append(ring)
        }
    }

    /// How many operations a look for stray rings begins at, and how many rows it reads for that, at most: some milliseconds' worth.
    private static let (strayStarts, strayRows) = (200, 10_000)

    /// More rows would be read than there is time for.
    private struct OutOfRows: Error {}

    /// Looks for dependencies that make a ring which nobody has refused, as of raw SQL, and fails one operation of each, as where an order
    /// closes one. What has failed or runs is no part of a ring.
    ///
    /// - Parameters:
    ///   - last: where the look before has ended.
    ///   - isOwn: whether a pipeline is run here. Rings of others are left to those.
    /// - Returns: where this look has ended, and the rings.
    /// - Complexity: bounded, whatever is queued. What leads through more operations than are looked at is passed over.
    func breakStrayRings(after last: Int64, isOwn: (PipelineName) -> Bool) throws -> (last: Int64, rings: [[Int64]]) {
        var starts: [Int64] = []
        while starts.count < Self.strayStarts,
            let next = try transaction.integer(QueueSQL.selectNextDependant, [.integer(starts.last ?? last)])
        {
            starts.append(next)
        }
        var (current, rows) = (last, 0)
        var rings: [[Int64]] = []
        let watched = starts.lazy.map { start in
            current = start
            return start
        }
        do {
            try breakRings(from: watched, &rings, isOwn: isOwn) { number in
                let prerequisites = try transaction.numbers(
                    QueueSQL.selectStandingPrerequisites,
                    [.integer(number), .integer(Int64(Self.strayRows))]
                )
                rows += 1 + prerequisites.count
                if rows > Self.strayRows { throw OutOfRows() }
                return prerequisites
            }
        } catch is OutOfRows {
            // What the first one alone leads to is too much.
            return (current == starts.first ? current : current - 1, rings)
        }
        return (starts.count < Self.strayStarts ? .min : starts.last!, rings)
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
