import Foundation
import Strata

extension OperationRepository {
    /// The last of the finished operations to delete, ordered by their ends.
    struct ArchiveEnd: Sendable {
        var finishedAt: Double
        var number: Int64
        /// The age limit: everything before this time is too old.
        let oldest: Double
    }

    /// Stores the retention of a pipeline or broker, for processes that delete finished operations while it is closed.
    func keep(_ retention: FinishedRetention, for name: String) throws {
        let values: [StoredValue] = [.real(retention.maximumAge.seconds), .integer(Int64(retention.maximumCount))]
        let known = try transaction.integer(QueueSQL.selectRetention, [.text(name)])
        if let known {
            let changed = try transaction.run(
                QueueSQL.updateRetention,
                values + [.integer(transaction.number), .integer(known)]
            )
            guard changed > 0 else { return }
            try transaction.report(updated: known, ["maximumAge", "maximumCount"], of: PipelineRetention.self)
        } else {
            let id = try transaction.newID()
            try transaction.run(
                QueueSQL.insertRetention,
                [.integer(id), .text(name)] + values + [.integer(transaction.number)]
            )
            try transaction.report(inserted: id, of: PipelineRetention.self)
        }
    }

    /// Deletes the stored retention of a pipeline that no longer exists.
    func forgetRetention(of name: String) throws {
        guard let known = try transaction.integer(QueueSQL.selectRetention, [.text(name)]) else { return }
        try delete([known], of: PipelineRetention.self, by: QueueSQL.deleteRetention)
    }

    /// The position up to which finished operations are too old or too many, by the longest stored retention.
    ///
    /// Complexity: O(n) in the number of kept operations, along an index.
    ///
    /// - Returns: nil if no retention is stored.
    func archiveEnd() throws -> ArchiveEnd? {
        var longest: (age: Double, count: Int64)?
        try transaction.rows(QueueSQL.selectLongestRetention, []) { row in
            guard let age = try row.read(Double?.self, at: 0) else { return }
            longest = (age, try row.read(Int64.self, at: 1))
        }
        guard let (age, count) = longest else { return nil }
        let oldest = now.addingTimeInterval(-age).timeIntervalSinceReferenceDate
        var end = ArchiveEnd(finishedAt: oldest, number: 0, oldest: oldest)
        if count == .max { return end }
        try transaction.rows(QueueSQL.selectFirstExcess, [.integer(count)]) { row in
            let finishedAt = try row.read(Double.self, at: 0)
            if finishedAt >= oldest { (end.finishedAt, end.number) = (finishedAt, try row.read(Int64.self, at: 1)) }
        }
        return end
    }

    /// The number of finished operations that one transaction deletes, so that other commits get their turn.
    static let archivePortion = 200

    /// Deletes the oldest finished operations up to a position, and the transitions before the age limit.
    ///
    /// - Returns: whether there may be more.
    func prune(upTo end: ArchiveEnd) throws -> Bool {
        let old = try transaction.numbers(
            QueueSQL.selectOldFinished,
            [.real(end.finishedAt), .integer(end.number), .integer(Int64(Self.archivePortion))]
        )
        try delete(old, of: FinishedOperation.self, by: QueueSQL.deleteFinished)
        try deleteTags(of: old)
        let steps = try transaction.numbers(
            QueueSQL.selectOldTransitions,
            [.real(end.oldest), .integer(Int64(Self.archivePortion))]
        )
        try delete(steps, of: OperationTransition.self, by: QueueSQL.deleteTransition)
        return max(old.count, steps.count) == Self.archivePortion
    }

    /// Deletes rows of a model, each by a statement with its id as argument.
    func delete(_ numbers: [Int64], of model: any Model.Type, by sql: String) throws {
        if numbers.isEmpty { return }
        for number in numbers { try transaction.run(sql, [.integer(number)]) }
        try transaction.report(deleted: numbers, of: model)
    }
}
