package import Foundation
package import Strata

/// The operations and settings of a pipeline, or of a broker's queue, for lists of queues.
///
/// Unlike ``PipelineSnapshot``, it does not look for blocked lanes, and it does not read the rows of all operations.
package struct QueueSummary: Sendable {
    package let name: PipelineName
    /// The number of operations by status.
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
    /// - Complexity: a scan of the index of the statuses. For each returned queue, O(its different priorities) lookups.
    package func queueSummaries(limit: Int) throws -> [QueueSummary] {
        var counts: [PipelineName: [OperationStatus: Int]] = [:]
        for row in try rows(OperationCounts.byQueue) {
            let name = try row.value(PipelineName.self, at: 0)
            counts[name, default: [:]][try row.value(OperationStatus.self, at: 1)] = try row.value(Int.self, at: 2)
        }
        var settings: [PipelineName: PipelineSettings] = [:]
        for known in try allPipelineSettings() { settings[known.pipeline] = known }
        let names = Set(counts.keys).union(settings.keys).union(try column(PipelineRecord.all, \.name))
        let sorted = names.sorted { $0.rawValue.precedesByBytes($1.rawValue) }
        return try sorted.prefix(limit).map { name in
            let counts = counts[name] ?? [:]
            let dates = try counts.keys.flatMap { status in
                try values(Date?.self, OperationCounts.oldest(of: name, status)).compactMap { $0 }
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
