import Strata

extension OperationRepository {
    /// Moves the operations of a pipeline that no longer exists to another one, where they keep their order.
    ///
    /// - Returns: whether there were any.
    @discardableResult
    func move(_ name: PipelineName, to other: PipelineName) throws -> Bool {
        try keepOrder(of: name, from: rules(name), to: rules(other))
        let numbers = try transaction.numbers(QueueSQL.selectOfPipeline, [.text(name.rawValue)])
        // If both pipelines have an operation with the same key, both operations run. The moved one loses its key.
        let taken = try transaction.numbers(QueueSQL.selectKeyTaken, [.text(name.rawValue), .text(other.rawValue)])
        for number in taken { try dropKey(of: number) }
        let related: [(model: any Model.Type, select: String, move: String)] = [
            (PeriodicOperation.self, QueueSQL.selectSchedulesOf, QueueSQL.moveSchedule),
            (OperationUniqueness.self, QueueSQL.selectUniquenessOf, QueueSQL.moveUniqueness),
            (DebouncedOperation.self, QueueSQL.selectDebouncedOf, QueueSQL.moveDebounced),
        ]
        for (model, select, move) in related {
            let rows = try transaction.numbers(select, [.text(name.rawValue)])
            for row in rows {
                try transaction.run(move, [.text(other.rawValue), .integer(transaction.number), .integer(row)])
            }
            try transaction.report(updated: rows, ["pipeline"], of: model)
        }
        for number in numbers {
            try transaction.run(
                QueueSQL.move,
                [.text(other.rawValue), .integer(transaction.number), .integer(number)]
            )
        }
        for number in numbers { try reportStatusChange(of: number, ["pipeline"] + Self.statusColumns) }
        try forgetRetention(of: Consumer.name(of: name))
        return !numbers.isEmpty
    }

    /// Removes the key of an operation in favour of another operation.
    func dropKey(of number: Int64) throws {
        try transaction.run(QueueSQL.dropKey, [.integer(transaction.number), .integer(number)])
        try transaction.report(updated: number, ["key"], of: QueuedOperation.self)
    }

    /// Stores a pipeline's declaration. If it has changed, all waiting operations are looked at again, and queued
    /// operations keep their former order.
    ///
    /// - Parameter isTransient: whether the record may be deleted when the queue is empty.
    func declare(_ name: PipelineName, _ rules: Rules, isTransient: Bool = false) throws {
        var known: (id: Int64, rules: Rules, isTransient: Bool)?
        try transaction.rows(QueueSQL.selectRecord, [.text(name.rawValue)]) { row in
            known = (try row.read(Int64.self, at: 0), try Rules(row), try row.read(Bool.self, at: 4))
        }
        // The record of a declared pipeline is never deleted.
        let isTransient = isTransient && known?.isTransient ?? true
        if let known, known.rules == rules, known.isTransient == isTransient { return }
        let values: [StoredValue] = [
            .text(rules.ordering.rawValue), .text(rules.onFailure.rawValue),
            .integer(Int64(rules.maxCrashes)), .integer(isTransient ? 1 : 0),
            .integer(rules.recordsTransitions ? 1 : 0),
            rules.laneLimit.map { .integer(Int64($0)) } ?? .null, .integer(transaction.number),
        ]
        if let known {
            try transaction.run(QueueSQL.updateRecord, values + [.integer(known.id)])
            try transaction.report(
                updated: known.id,
                ["ordering", "whenFailed", "crashLimit", "isTransient", "isJournalled", "laneLimit"],
                of: PipelineRecord.self
            )
        } else {
            let id = try transaction.newID()
            try transaction.run(QueueSQL.insertRecord, [.integer(id), .text(name.rawValue)] + values)
            try transaction.report(inserted: id, of: PipelineRecord.self)
            if isTransient { try deleteLimits(of: name) }
        }
        // The cached value no longer holds.
        sideResults.facts.areTransitionsRecorded = nil
        guard known?.rules != rules else { return }
        if let known { try keepOrder(of: name, from: known.rules, to: rules) }
        try set(.pending, of: transaction.numbers(QueueSQL.selectWaiting, [.text(name.rawValue)]))
        if known.map({ $0.rules.ordering != rules.ordering }) ?? true { try breakCycles(of: name) }
    }

    /// Makes operations pending again that waited for a constraint.
    func wake(_ constraint: Constraint, of consumer: Consumer) throws {
        var waiting: [Int64] = []
        try transaction.rows(QueueSQL.selectConstrained, [.text(constraint.rawValue)]) { row in
            guard consumer.takes(PipelineName(try row.read(String.self, at: 1))) else { return }
            waiting.append(try row.read(Int64.self, at: 0))
        }
        for number in waiting {
            try transaction.run(QueueSQL.wake, [.integer(transaction.number), .integer(number)])
            try reportStatusChange(of: number, ["status", "constraint"])
        }
    }

    /// Deletes the records of brokers' queues that are empty and have no transitions, a bounded number of them.
    func forgetEmptyQueues() throws {
        let empty = try transaction.numbers(QueueSQL.selectEmptyRecords, [])
        try delete(empty, of: PipelineRecord.self, by: QueueSQL.deleteRecord)
    }
}
