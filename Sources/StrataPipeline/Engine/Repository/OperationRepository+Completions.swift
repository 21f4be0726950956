import Strata

extension OperationRepository {
    /// Completes operations with the fewest statements, if they are still as they were claimed. Operations with
    /// consecutive ids are completed by two statements, which cost less than half as much per operation.
    ///
    /// - Returns: the ids of the completed operations.
    func complete(_ operations: [ClaimedOperation]) throws -> Set<Int64> {
        var completed: Set<Int64> = []
        let operations = operations.sorted { $0.claim.operation < $1.claim.operation }
        var start = operations.startIndex
        while start < operations.endIndex {
            var end = start + 1
            while end < operations.endIndex, operations[end].follows(operations[end - 1]) { end += 1 }
            completed.formUnion(try complete(operations[start..<end]))
            start = end
        }
        return completed
    }

    /// Stores the result of an operation that this transaction has completed.
    func storeResult(_ result: ResultValue?, of number: Int64) throws {
        guard let result else { return }
        try transaction.run(QueueSQL.setResultValue, [.blob(result.data), .integer(number)])
    }

    /// Completes operations with consecutive ids.
    private func complete(_ run: ArraySlice<ClaimedOperation>) throws -> [Int64] {
        let (first, last) = (run[run.startIndex], run[run.endIndex - 1])
        // In `commits`, the next group depends on the first group before the deletion, so `finish` handles these
        // operations.
        guard try rules(first.pipeline).ordering != .commits else { return [] }
        let values: [StoredValue] = [
            .integer(first.claim.operation), .integer(last.claim.operation),
            .text(OperationResult.completed.rawValue), .real(now.timeIntervalSinceReferenceDate), version,
            .integer(first.claim.worker), .integer(first.claim.epoch), .text(first.pipeline.rawValue),
            .text(first.lane),
        ]
        let sql = run.count == 1 ? QueueSQL.archiveClaimed : QueueSQL.archiveClaimedRange
        let count = try transaction.run(sql, values)
        guard count > 0 else { return [] }
        let numbers =
            count == run.count
            ? run.map(\.claim.operation) : try transaction.numbers(QueueSQL.selectClaimed, values)
        try removeFromQueue(numbers)
        if try haveTies() || haveItems() { for number in numbers { try releaseDependants(of: number) } }
        try startNextInLane(first.lane, of: first.pipeline, places: numbers.count)
        return numbers
    }
}

extension ClaimedOperation {
    /// Whether this operation has the next id, and was claimed by the same worker with the same epoch in the same lane.
    fileprivate func follows(_ other: ClaimedOperation) -> Bool {
        claim.operation == other.claim.operation + 1 && claim.worker == other.claim.worker
            && claim.epoch == other.claim.epoch && pipeline == other.pipeline
            && lane.hasSameBytes(as: other.lane)
    }
}
