import Strata

extension OperationRepository {
    /// Preserves the order of a pipeline's lanes if its new ordering leaves this order open: each operation depends on
    /// those that were to run before it. Later operations are free.
    ///
    /// If the pipeline was declared to block on failed operations, later operations wait for a failed one; otherwise
    /// they do not.
    ///
    /// - Complexity: O(operations of the pipeline).
    func keepOrder(of name: PipelineName, from former: Rules, to rules: Rules) throws {
        guard rules.ordering.leavesOpen(former.ordering) else { return }
        let policy: DependencyPolicy = rules.isBlockedByFailed ? .wait : .run
        var place: (lane: String, group: Group)?
        // The operations that may run concurrently, and those before them.
        var (current, before): ([Int64], [Int64]) = ([], [])
        let sql = QueueSQL.selectLanes(former.ordering, countingFailed: rules.isBlockedByFailed)
        try transaction.rows(sql, [.text(name.rawValue)]) { row in
            let lane = try row.read(String.self, at: 1)
            let group = Group(sortKey: try row.read(Double.self, at: 2), commit: try row.read(Int64.self, at: 3))
            if let place, place.lane.utf8.elementsEqual(lane.utf8) {
                if former.ordering != .commits || place.group != group {
                    try order(current, behind: before, policy)
                    (current, before) = ([], current)
                }
            } else {
                try order(current, behind: before, policy)
                (current, before) = ([], [])
            }
            place = (lane, group)
            current.append(try row.read(Int64.self, at: 0))
        }
        try order(current, behind: before, policy)
    }

    /// The greatest number of dependencies that are stored for two consecutive commits.
    private static let mostPairs = 1000

    /// Makes operations depend on all operations of the preceding group.
    private func order(_ operations: [Int64], behind before: [Int64], _ policy: DependencyPolicy) throws {
        guard let first = operations.first, !before.isEmpty else { return }
        sideResults.facts[.ties] = true
        let all = before.map { ($0, policy) }
        if operations.count * before.count <= Self.mostPairs {
            for operation in operations { _ = try imply(all, of: operation) }
        } else {
            // A dependency for each pair would be millions. So the first operation depends on all, and the others
            // depend on the first.
            _ = try imply(all, of: first)
            for operation in operations.dropFirst() { _ = try imply([(first, policy)], of: operation) }
        }
    }
}
