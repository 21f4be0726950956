import Strata

extension OperationBook {
    /// Has the operations of a pipeline keep the order of their lanes if the pipeline leaves that open from now on: each depends on those that were to
    /// run before it. Later ones are free.
    ///
    /// What has failed for good is waited for if that was declared for those behind it, and is passed otherwise.
    ///
    /// - Complexity: O(operations of the pipeline).
    func keepOrder(of name: PipelineName, from former: Rules, to rules: Rules) throws {
        guard rules.ordering.leavesOpen(former.ordering) else { return }
        let policy: DependencyPolicy = rules.isBlockedByFailed ? .wait : .run
        var place: (lane: String, group: Group)?
        // Those that may run side by side, and those before them.
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

    /// How many dependencies are written for two commits that follow each other.
    private static let mostPairs = 1000

    /// Lets operations depend on all of those before them.
    private func order(_ operations: [Int64], behind before: [Int64], _ policy: DependencyPolicy) throws {
        guard let first = operations.first, !before.isEmpty else { return }
        news.haveTies = true
        let all = before.map { ($0, policy) }
        if operations.count * before.count <= Self.mostPairs {
            for operation in operations { _ = try imply(all, of: operation) }
        } else {
            // Each on each would be millions: the others wait for the first one, which waits for all.
            _ = try imply(all, of: first)
            for operation in operations.dropFirst() { _ = try imply([(first, policy)], of: operation) }
        }
    }
}
