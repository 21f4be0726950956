import Strata

extension OperationRepository {
    /// Claims operations of many queues, one of each in turn, so that a full queue does not keep others waiting.
    ///
    /// - Parameters:
    ///   - cursor: the consumer's position.
    ///   - isOwn: whether a queue belongs to the consumer.
    /// - Returns: the claims, and whether nothing more can be claimed.
    func claim(
        _ limit: Int,
        for consumer: Consumer,
        by worker: Int64,
        besides running: RunningOperations,
        _ cursor: inout RoundRobinCursor,
        isOwn: (PipelineName) -> Bool
    ) throws -> (claims: [ClaimedOperation], isDry: Bool) {
        var claims: [ClaimedOperation] = []
        var looks = Self.lookLimit
        /// Queues in which nothing more can be claimed for now.
        var exhausted: Set<PipelineName> = []
        while claims.count < limit {
            guard looks > 1 else { return (claims, false) }
            looks -= 1
            guard let name = try nextPending(after: cursor.position, upTo: cursor.last) else {
                if cursor.isBehind {
                    (cursor.isBehind, cursor.position) = (false, "")
                    continue
                }
                let isDry = !cursor.isFruitful
                cursor.begin()
                if isDry { return (claims, true) }
                continue
            }
            cursor.position = name
            let pipeline = PipelineName(name)
            guard !exhausted.contains(pipeline), isOwn(pipeline) else { continue }
            try declare(pipeline, consumer.rules, isTransient: true)
            let (taken, isDry) = try claim(
                1,
                of: pipeline,
                Selection(types: consumer.claimedTypes, laneRates: consumer.laneRates),
                by: worker,
                besides: running,
                &looks
            )
            claims += taken
            if !taken.isEmpty || !isDry { cursor.isFruitful = true }
            if isDry { exhausted.insert(pipeline) }
        }
        return (claims, false)
    }

    /// The names of all queues that have a pending operation.
    ///
    /// - Complexity: O(these names), however many operations are pending.
    func pendingNames() throws -> [PipelineName] {
        var names: [PipelineName] = []
        while let next = try nextPending(after: names.last?.rawValue ?? "", upTo: nil) {
            names.append(PipelineName(next))
        }
        return names
    }

    private func nextPending(after name: String, upTo last: String?) throws -> String? {
        var next: String?
        let sql = last == nil ? QueueSQL.selectNextPending : QueueSQL.selectNextPendingUpTo
        try transaction.rows(sql, [.text(name)] + (last.map { [.text($0)] } ?? [])) { row in
            next = try row.read(String.self, at: 0)
        }
        return next
    }
}
