package import Foundation
package import Strata

/// The operations and settings of a pipeline, or of a broker's queue, for lists of queues.
///
/// Unlike ``PipelineSnapshot``, it does not look for blocked lanes, and it does not read the rows of all operations.
package struct QueueSummary: Sendable {
    package let name: PipelineName
    /// The number of operations by status. Pending operations with a hold are held, although the engine sets their status
    /// only when it next looks at them.
    package let counts: [OperationStatus: Int]
    /// When the operation of the earliest commit was queued; nil if nothing is queued.
    package let oldest: Date?
    package let settings: PipelineSettings

    /// The number of queued operations.
    package var total: Int { counts.values.reduce(0, +) }
}

extension ObjectContext {
    /// Summaries of the queues under whose names operations are queued, that a process has opened, or whose settings an
    /// operator has changed.
    ///
    /// - Parameter limit: the greatest number of queues.
    /// - Returns: the first ones by name.
    /// - Throws: the store's errors.
    /// - Complexity: a scan of the index of the statuses, and a lookup for each hold that has not ended. For each returned
    ///   queue, O(its different priorities) lookups.
    package func queueSummaries(limit: Int) throws -> [QueueSummary] {
        var counts: [PipelineName: [OperationStatus: Int]] = [:]
        for row in try rows(OperationCounts.byQueue) {
            let name = try row.value(PipelineName.self, at: 0)
            counts[name, default: [:]][try row.value(OperationStatus.self, at: 1)] = try row.value(Int.self, at: 2)
        }
        // The engine has not looked at these yet. In a queue that is paused or not open, it never does.
        var unseen: [PipelineName: Int] = [:]
        for row in try rows(OperationCounts.pendingWithHold(at: pipelineTime)) {
            unseen[try row.value(PipelineName.self, at: 0)] = try row.value(Int.self, at: 1)
        }
        var settings: [PipelineName: PipelineSettings] = [:]
        for known in try allPipelineSettings() { settings[known.pipeline] = known }
        let names = Set(counts.keys).union(settings.keys).union(try column(PipelineRecord.all, \.name))
        let sorted = names.sorted { $0.rawValue.precedesByBytes($1.rawValue) }
        return try sorted.prefix(limit).map { name in
            var counts = counts[name] ?? [:]
            let dates = try counts.keys.flatMap { status in
                try values(Date?.self, OperationCounts.oldest(of: name, status)).compactMap { $0 }
            }
            if let held = unseen[name] {
                counts[.pending, default: 0] -= held
                counts[.held, default: 0] += held
            }
            return QueueSummary(
                name: name,
                counts: counts,
                oldest: dates.min(),
                settings: try settings[name] ?? pipelineSettings(of: name)
            )
        }
    }
}

/// The statements of ``Strata/ObjectContext/queueSummaries(limit:)``.
enum OperationCounts {
    /// The number of operations of each queue and status.
    static let byQueue: SQL = """
        SELECT "pipeline", "status", count(*) FROM "QueuedOperation" GROUP BY "status", "pipeline"
        """

    /// The number of pending operations of each queue that have a hold.
    static func pendingWithHold(at time: Date) -> SQL {
        // CROSS JOIN and the plus sign make SQLite begin with the holds, of which there are fewer than operations.
        """
        SELECT o."pipeline", count(DISTINCT o."id") FROM "OperationHold" AS h CROSS JOIN "QueuedOperation" AS o \
        ON o."id" = h."operation" WHERE h."until" > \(time) AND +o."status" = \(OperationStatus.pending) \
        GROUP BY o."pipeline"
        """
    }

    /// When the operation of the earliest commit of each priority was queued, among the operations with a status.
    static func oldest(of name: PipelineName, _ status: OperationStatus) -> SQL {
        """
        WITH RECURSIVE ranks("rank") AS (\
        SELECT min("rank") FROM "QueuedOperation" WHERE "status" = \(status) AND "pipeline" = \(name) UNION ALL \
        SELECT (SELECT min(o."rank") FROM "QueuedOperation" o WHERE o."status" = \(status) AND o."pipeline" = \(name) \
        AND o."rank" > ranks."rank") FROM ranks WHERE ranks."rank" IS NOT NULL) \
        SELECT (SELECT o."enqueuedAt" FROM "QueuedOperation" o WHERE o."status" = \(status) AND o."pipeline" = \(name) \
        AND o."rank" = ranks."rank" ORDER BY o."commit", o."id" LIMIT 1) FROM ranks WHERE ranks."rank" IS NOT NULL
        """
    }
}
