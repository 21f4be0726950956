import Foundation
import Strata

extension OperationBook {
    /// The last of the finished operations that are to be let go, in the order of their ends.
    struct ArchiveEnd: Sendable {
        var finishedAt: Double
        var number: Int64
        /// Before which everything is too old.
        let oldest: Double
    }

    /// Remembers how long a pipeline or broker has finished operations kept, for those who let them go while it is closed.
    func keep(_ retention: FinishedRetention, for name: String) throws {
        let values: [StoredValue] = [.real(retention.maximumAge.seconds), .integer(Int64(retention.maximumCount))]
        let known = try transaction.integer(QueueSQL.selectRetention, [.text(name)])
        if let known {
            let changed = try transaction.run(
                QueueSQL.updateRetention,
                values + [.integer(transaction.number), .integer(known)]
            )
            guard changed > 0 else { return }
            try transaction.note(updated: known, ["maximumAge", "maximumCount"], of: PipelineRetention.self)
        } else {
            let id = try transaction.newID()
            try transaction.run(
                QueueSQL.insertRetention,
                [.integer(id), .text(name)] + values + [.integer(transaction.number)]
            )
            try transaction.note(inserted: id, of: PipelineRetention.self)
        }
    }

    /// Forgets how long a pipeline that is none any more has finished operations kept.
    func forgetRetention(of name: String) throws {
        guard let known = try transaction.integer(QueueSQL.selectRetention, [.text(name)]) else { return }
        try delete([known], of: PipelineRetention.self, by: QueueSQL.deleteRetention)
    }

    /// Up to where finished operations are too old, or too many, by the longest of what was said.
    ///
    /// Complexity: O(n) in how many are kept, along an index.
    ///
    /// - Returns: nil where nothing was said.
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

    /// How many finished operations one transaction lets go, so that others have their turn.
    static let archivePortion = 200

    /// Lets go of the oldest finished operations, up to this one, and of what the journal says of times before.
    ///
    /// - Returns: whether there may be more.
    func prune(upTo end: ArchiveEnd) throws -> Bool {
        let old = try transaction.numbers(
            QueueSQL.selectOldFinished,
            [.real(end.finishedAt), .integer(end.number), .integer(Int64(Self.archivePortion))]
        )
        try delete(old, of: FinishedOperation.self, by: QueueSQL.deleteFinished)
        let steps = try transaction.numbers(
            QueueSQL.selectOldSteps,
            [.real(end.oldest), .integer(Int64(Self.archivePortion))]
        )
        try delete(steps, of: OperationTransition.self, by: QueueSQL.deleteStep)
        return max(old.count, steps.count) == Self.archivePortion
    }

    /// Deletes rows of a model, each by a statement that is given its id.
    func delete(_ numbers: [Int64], of model: any Model.Type, by sql: String) throws {
        if numbers.isEmpty { return }
        for number in numbers { try transaction.run(sql, [.integer(number)]) }
        try transaction.note(deleted: numbers, of: model)
    }
}
