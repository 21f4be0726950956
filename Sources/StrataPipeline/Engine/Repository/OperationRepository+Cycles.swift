import Strata

extension OperationRepository {
    /// Rejects dependencies by which operations would wait for each other.
    ///
    /// - Complexity: O(1) for each operation at the end of its lane without dependants, whatever is queued.
    func checkDependants(_ dependants: [Int64]) throws {
        // A cycle leads back to its start: through dependants, or through later operations of its lane.
        try checkCycles(
            from: dependants.filter {
                try transaction.integer(QueueSQL.selectAnyDependant, [.integer($0)]) != nil || isAnyBehind($0)
            }
        )
    }

    /// Rejects positions in a lane by which operations would wait for each other.
    func checkMoved(_ numbers: [Int64]) throws {
        try checkCycles(from: numbers.filter { try position(of: $0) != nil })
    }

    /// Rejects cycles that lead through any of these operations.
    func checkCycles(from starts: [Int64]) throws {
        if let cycle = try DependencyCycle.find(from: starts, waitedFor) { throw DependencyCycle.error(cycle) }
    }

    /// Breaks cycles that a changed order has caused in a pipeline: one operation of each cycle fails, so that the
    /// others continue.
    func breakCycles(of pipeline: PipelineName) throws {
        guard try rules(pipeline).ordering.isSerial else { return }
        let starts = try transaction.numbers(QueueSQL.selectDependantsIn, [.text(pipeline.rawValue)])
        var cycles: [[Int64]] = []
        try breakCycles(from: starts, &cycles, waitedFor)
    }

    /// Fails one operation of each cycle that can be reached from the starts.
    ///
    /// - Parameters:
    ///   - cycles: receives the broken cycles, even if `prerequisites` throws.
    ///   - isOwn: whether this call may fail operations of a pipeline. Cycles without such an operation are left to
    ///     other processes.
    private func breakCycles(
        from starts: some Sequence<Int64>,
        _ cycles: inout [[Int64]],
        isOwn: (PipelineName) -> Bool = { _ in true },
        _ prerequisites: (Int64) throws -> [Int64]
    ) throws {
        // A failed operation keeps its place and a running one does not wait, so no cycle leads through them any more.
        var passed: Set<Int64> = []
        while let cycle = try DependencyCycle.find(from: starts, { passed.contains($0) ? [] : try prerequisites($0) }) {
            let own = try cycle.first { number in try state(of: number).map { isOwn($0.pipeline) } ?? false }
            passed.insert(own ?? cycle[0])
            guard let own else { continue }
            try fail(own, DependencyCycle.error(cycle).message)
            cycles.append(cycle)
        }
    }

    /// The limits of a search for stray cycles: the number of operations at which it starts, and the number of rows
    /// that it reads. They are worth some milliseconds.
    private static let (strayStarts, strayRows) = (200, 10_000)

    /// The search has exceeded its limit of rows.
    private struct OutOfRows: Error {}

    /// Searches for cycles that no check has rejected, such as those of raw SQL, and fails one operation of each.
    /// Failed and running operations are not part of a cycle.
    ///
    /// - Parameters:
    ///   - last: where the previous search has ended.
    ///   - isOwn: whether this engine runs a pipeline. Other cycles are left to other processes.
    /// - Returns: where this search has ended, and the cycles.
    /// - Complexity: bounded, whatever is queued. A cycle through more operations than are read is not found.
    func breakStrayCycles(after last: Int64, isOwn: (PipelineName) -> Bool) throws -> (last: Int64, cycles: [[Int64]]) {
        var starts: [Int64] = []
        while starts.count < Self.strayStarts,
            let next = try transaction.integer(QueueSQL.selectNextDependant, [.integer(starts.last ?? last)])
        {
            starts.append(next)
        }
        var (current, rows) = (last, 0)
        var cycles: [[Int64]] = []
        let watched = starts.lazy.map { start in
            current = start
            return start
        }
        do {
            try breakCycles(from: watched, &cycles, isOwn: isOwn) { number in
                let prerequisites = try transaction.numbers(
                    QueueSQL.selectQueuedPrerequisites,
                    [.integer(number), .integer(Int64(Self.strayRows))]
                )
                rows += 1 + prerequisites.count
                if rows > Self.strayRows { throw OutOfRows() }
                return prerequisites
            }
        } catch is OutOfRows {
            // If the first start alone leads to too many rows, it is passed over.
            return (current == starts.first ? current : current - 1, cycles)
        }
        return (starts.count < Self.strayStarts ? .min : starts.last!, cycles)
    }

    /// An operation's position in an ordered lane.
    private struct LanePosition {
        let lane: [StoredValue]
        let ordering: PipelineOrdering
        let sortKey: Double
        let commit: Int64

        var values: [StoredValue] { lane + [.real(sortKey), .integer(commit)] }
    }

    /// Whether any operation comes after this one in an ordered lane.
    private func isAnyBehind(_ number: Int64) throws -> Bool {
        guard let position = try position(of: number) else { return false }
        let isBeside =
            try position.ordering != .commits
            && transaction.integer(QueueSQL.selectBesideBehind(position.ordering), position.values + [.integer(number)])
                != nil
        return try isBeside || transaction.integer(QueueSQL.selectBehind(position.ordering), position.values) != nil
    }

    /// The position of an operation; nil if its pipeline has no order, or if it is not queued.
    private func position(of number: Int64) throws -> LanePosition? {
        var position: LanePosition?
        try transaction.rows(QueueSQL.selectPosition, [.integer(number)]) { row in
            let pipeline = try row.read(String.self, at: 0)
            let ordering = try rules(PipelineName(pipeline)).ordering
            guard ordering.isSerial else { return }
            position = LanePosition(
                lane: [.text(pipeline), .text(try row.read(String.self, at: 1))],
                ordering: ordering,
                sortKey: try row.read(Double.self, at: 2),
                commit: try row.read(Int64.self, at: 3)
            )
        }
        return position
    }

    /// The operations that an operation waits for and that may wait themselves: its prerequisites, and the nearest
    /// earlier operations of its lane that have dependencies. The remaining ones are reached through these.
    private func waitedFor(_ number: Int64) throws -> [Int64] {
        let prerequisites = try transaction.numbers(QueueSQL.selectPrerequisites, [.integer(number)])
        guard let position = try position(of: number) else { return prerequisites }
        let values = position.values
        // The index orders positions by column, so the first query looks within the commit and the second one before
        // it.
        if position.ordering != .commits,
            let near = try transaction.integer(
                QueueSQL.selectDependantBeside(position.ordering),
                values + [.integer(number)]
            )
        {
            return prerequisites + [near]
        }
        var before: (number: Int64, sortKey: Double, commit: Int64)?
        try transaction.rows(QueueSQL.selectDependantBefore(position.ordering), values) { row in
            before = (
                try row.read(Int64.self, at: 0), try row.read(Double.self, at: 1), try row.read(Int64.self, at: 2)
            )
        }
        guard let before else { return prerequisites }
        guard position.ordering == .commits else { return prerequisites + [before.number] }
        // Operations of one commit do not wait for each other.
        let group = position.lane + [.real(before.sortKey), .integer(before.commit)]
        return try prerequisites + transaction.numbers(QueueSQL.selectDependantsOfGroup, group)
    }
}
