import Foundation
import Strata

extension OperationBook {
    /// The last of the finished operations that are to be let go, in the order of their ends.
    struct ArchiveEnd: Sendable {
        let finishedAt: Double
        let number: Int64
    }

    /// Up to where finished operations are too old, or too many.
    ///
    /// Complexity: O(n) in how many are kept, along an index.
    func archiveEnd(_ retention: FinishedRetention) throws -> ArchiveEnd {
        let oldest = now.addingTimeInterval(-retention.maximumAge.seconds).timeIntervalSinceReferenceDate
        var end = ArchiveEnd(finishedAt: oldest, number: 0)
        try transaction.rows(QueueSQL.selectFirstExcess, [.integer(Int64(retention.maximumCount))]) { row in
            let excess = ArchiveEnd(
                finishedAt: try row.read(Double.self, at: 0),
                number: try row.read(Int64.self, at: 1)
            )
            if excess.finishedAt >= oldest { end = excess }
        }
        return end
    }

    /// How many finished operations one transaction lets go, so that others have their turn.
    static let archivePortion = 200

    /// Lets go of the oldest finished operations, up to this one.
    ///
    /// - Returns: whether there may be more.
    func prune(upTo end: ArchiveEnd) throws -> Bool {
        let old = try transaction.numbers(
            QueueSQL.selectOldFinished,
            [.real(end.finishedAt), .integer(end.number), .integer(Int64(Self.archivePortion))]
        )
        for number in old { try transaction.run(QueueSQL.deleteFinished, [.integer(number)]) }
        try transaction.note(deleted: old, of: FinishedOperation.self)
        return old.count == Self.archivePortion
    }
}
