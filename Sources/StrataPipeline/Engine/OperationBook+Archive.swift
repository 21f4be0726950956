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

    /// Up to where finished operations are too old, or too many.
    ///
    /// Complexity: O(n) in how many are kept, along an index.
    func archiveEnd(_ retention: FinishedRetention) throws -> ArchiveEnd {
        let oldest = now.addingTimeInterval(-retention.maximumAge.seconds).timeIntervalSinceReferenceDate
        var end = ArchiveEnd(finishedAt: oldest, number: 0, oldest: oldest)
        if retention.maximumCount == .max { return end }
        try transaction.rows(QueueSQL.selectFirstExcess, [.integer(Int64(retention.maximumCount))]) { row in
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
        for number in numbers { try transaction.run(sql, [.integer(number)]) }
        try transaction.note(deleted: numbers, of: model)
    }
}
