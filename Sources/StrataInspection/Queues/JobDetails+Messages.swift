import Strata
import StrataPipeline

extension JobDetails {
    /// The greatest size in bytes of the failures of an operation in a list.
    private static let failureSize = 65_536

    /// The messages of the last failed attempts of queued operations, without those that cannot be read.
    ///
    /// - Complexity: a lookup for each id.
    package static func lastMessages(of ids: [Int64], in context: ObjectContext) throws -> [Int64: String] {
        var messages: [Int64: String] = [:]
        for row in try context.rows(selectFailures(ids)) {
            guard let id = row.lenient("id").lenientInteger,
                let failures = AttemptFailures(storedValue: row.lenient("failures"))
            else { continue }
            messages[id] = failures.list.last?.message
        }
        return messages
    }

    package static func selectFailures(_ ids: [Int64]) -> SQL {
        """
        SELECT "id", "failures" FROM "QueuedOperation" WHERE "id" IN \(list: ids) \
        AND length(CAST("failures" AS BLOB)) <= \(failureSize)
        """
    }
}
