import Strata

extension OperationBook {
    /// Takes operations of many queues, of each one after the other, so that a full one does not keep others waiting.
    ///
    /// - Parameter isOwn: whether a queue is the consumer's.
    /// - Returns: what was taken, whether there is nothing more to take, and the queue that had its turn last.
    func claim(
        _ limit: Int,
        for consumer: Consumer,
        by worker: Int64,
        besides busy: Busy,
        isOwn: (PipelineName) -> Bool
    ) throws -> (claims: [ClaimedOperation], isDry: Bool, cursor: String) {
        var claims: [ClaimedOperation] = []
        var looks = Self.lookLimit
        var cursor = consumer.cursor
        /// Queues of which nothing more can be taken for now.
        var exhausted: Set<String> = []
        while claims.count < limit {
            let countBefore = claims.count
            // One round: the queues behind the one that had its turn last, and then those from the beginning to it.
            let last = cursor
            var isBehind = true
            while claims.count < limit {
                guard looks > 0 else { return (claims, false, cursor) }
                looks -= 1
                guard let name = try nextPending(after: cursor, upTo: isBehind ? nil : last) else {
                    guard isBehind else { break }
                    (isBehind, cursor) = (false, "")
                    continue
                }
                cursor = name
                let pipeline = PipelineName(name)
                guard !exhausted.contains(name), isOwn(pipeline) else { continue }
                try declare(pipeline, consumer.rules, isTransient: true)
                let (taken, isDry) = try claim(1, of: pipeline, by: worker, besides: busy, &looks)
                claims += taken
                if isDry { exhausted.insert(name) }
            }
            if claims.count == countBefore { return (claims, true, cursor) }
        }
        return (claims, false, cursor)
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
