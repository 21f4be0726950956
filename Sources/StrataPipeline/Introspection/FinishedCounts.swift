package import Foundation
package import Strata

/// The statement of ``Strata/ObjectContext/finishedCounts(from:minutes:limit:)``.
package enum FinishedCounts {
    /// The number of operations that were finished in each minute, in the order of the minutes.
    ///
    /// Each minute is a separate search in the index of the times, which ends at the limit.
    package static func byMinute(from start: Date, minutes: Int, limit: Int) -> SQL {
        """
        WITH RECURSIVE minutes("minute") AS (SELECT 0 UNION ALL \
        SELECT "minute" + 1 FROM minutes WHERE "minute" + 1 < \(minutes)) \
        SELECT (SELECT count(*) FROM (SELECT 1 FROM "FinishedOperation" \
        WHERE "finishedAt" >= \(start) + 60.0 * minutes."minute" \
        AND "finishedAt" < \(start) + 60.0 * (minutes."minute" + 1) LIMIT \(limit))), minutes."minute" \
        FROM minutes ORDER BY minutes."minute"
        """
    }
}

extension ObjectContext {
    /// The number of operations that were finished in each minute from a date on.
    ///
    /// Operations that were deleted since, by the retention of their pipeline or by an operator, do not count.
    ///
    /// - Parameters:
    ///   - start: the beginning of the first minute.
    ///   - minutes: the number of minutes, at least 1.
    ///   - limit: the number at which the count of a minute ends.
    /// - Throws: the store's errors.
    /// - Complexity: O(`minutes` · `limit`) entries of an index.
    package func finishedCounts(from start: Date, minutes: Int, limit: Int) throws -> [Int] {
        try values(Int.self, FinishedCounts.byMinute(from: start, minutes: minutes, limit: limit))
    }
}
