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
    /// The number of operations of each queue by status, without the queues that have none. Pending operations with a
    /// hold are held.
    ///
    /// - Throws: the store's errors.
    /// - Complexity: a scan of the index of the statuses, and a lookup for each hold that has not ended.
    package func queueCounts() throws -> [PipelineName: [OperationStatus: Int]] {
        var counts: [PipelineName: [OperationStatus: Int]] = [:]
        for row in try rows(OperationCounts.byQueue) {
            // Another program may have stored any value.
            guard case .text(let name) = row.values[0], case .integer(let number) = row.values[1],
                let status = OperationStatus(rawValue: Int(number))
            else { continue }
            counts[PipelineName(name), default: [:]][status] = try row.value(Int.self, at: 2)
        }
        for (name, count) in try pendingHolds() { OperationCounts.hold(count, in: &counts[name, default: [:]]) }
        return counts
    }

    /// Summaries of the queues under whose names operations are queued, that a process has opened, or whose settings an
    /// operator has changed.
    ///
    /// - Parameters:
    ///   - offset: the number of queues before the first one of the list.
    ///   - limit: the greatest number of queues.
    ///   - known: the result of ``queueCounts()``; nil to count now.
    /// - Returns: the queues in the order of their names.
    /// - Throws: the store's errors.
    /// - Complexity: that of ``queueCounts()`` without `known`, and O(queues). For each returned queue, at most
    ///   ``OperationCounts/priorityLimit`` lookups for each status.
    package func queueSummaries(
        from offset: Int = 0,
        limit: Int,
        counts known: [PipelineName: [OperationStatus: Int]]? = nil
    ) throws -> [QueueSummary] {
        let counts = try known ?? queueCounts()
        var settings: [PipelineName: PipelineSettings] = [:]
        for known in try allPipelineSettings() { settings[known.pipeline] = known }
        let names = Set(counts.keys).union(settings.keys).union(try column(PipelineRecord.all, \.name))
        let sorted = names.sorted { $0.rawValue.precedesByBytes($1.rawValue) }
        return try sorted.dropFirst(offset).prefix(limit).map { name in
            let counts = counts[name] ?? [:]
            let dates = try counts.keys.compactMap { try oldestOperation(of: name, $0) }
            return QueueSummary(
                name: name,
                counts: counts,
                oldest: dates.min(),
                settings: try settings[name] ?? pipelineSettings(of: name)
            )
        }
    }

    /// The summary of one queue.
    ///
    /// - Parameter known: the counts of the queue in the result of ``queueCounts()``; nil to count now.
    /// - Returns: nil if no process has used the name, and no operator has changed its settings.
    /// - Throws: the store's errors.
    /// - Complexity: at most ``OperationCounts/priorityLimit`` lookups for each status. Without `known`, also a scan of
    ///   the entries of this queue in the index of the statuses, and a lookup of the holds of each pending operation.
    package func queueSummary(
        of name: PipelineName,
        counts known: [OperationStatus: Int]? = nil
    ) throws -> QueueSummary? {
        guard try isKnown(name) else { return nil }
        let counts = try known ?? self.counts(of: name)
        let dates = try counts.keys.compactMap { try oldestOperation(of: name, $0) }
        return QueueSummary(
            name: name,
            counts: counts,
            oldest: dates.min(),
            settings: try pipelineSettings(of: name)
        )
    }

    private func counts(of name: PipelineName) throws -> [OperationStatus: Int] {
        var counts: [OperationStatus: Int] = [:]
        for row in try rows(OperationCounts.byStatus(of: name)) {
            counts[try row.value(OperationStatus.self, at: 0)] = try row.value(Int.self, at: 1)
        }
        let held = try values(Int.self, OperationCounts.pendingWithHold(of: name, at: pipelineTime)).first ?? 0
        if held > 0 { OperationCounts.hold(held, in: &counts) }
        return counts
    }

    /// The number of pending operations of each queue that have a hold. The engine has not looked at these holds yet. In
    /// a queue that is paused or not open, it never does.
    private func pendingHolds() throws -> [PipelineName: Int] {
        var found: [PipelineName: Int] = [:]
        for row in try rows(OperationCounts.pendingWithHold(at: pipelineTime)) {
            found[try row.value(PipelineName.self, at: 0)] = try row.value(Int.self, at: 1)
        }
        return found
    }

    /// When the oldest operation with a status was queued; nil without one.
    ///
    /// - Complexity: at most ``OperationCounts/priorityLimit`` lookups. If the operations have more priorities than
    ///   this, the lowest ones are not looked at.
    package func oldestOperation(of name: PipelineName, _ status: OperationStatus) throws -> Date? {
        let sql = OperationCounts.oldest(of: name, status, priorities: OperationCounts.priorityLimit)
        return try values(Date?.self, sql).compactMap { $0 }.min()
    }

    /// How a process has last declared a queue; nil if none has.
    package func pipelineRecord(of name: PipelineName) throws -> PipelineRecord.Row? {
        try rows(PipelineRecord.where { $0.name == name }).first
    }
}

/// The statements of ``Strata/ObjectContext/queueSummaries(limit:)`` and of related functions.
package enum OperationCounts {
    /// The number of priorities that the summary of one queue looks at.
    package static let priorityLimit = 1000

    /// Counts pending operations as held.
    static func hold(_ count: Int, in counts: inout [OperationStatus: Int]) {
        counts[.pending, default: 0] -= count
        counts[.held, default: 0] += count
    }

    /// The number of operations of each queue and status.
    package static let byQueue: SQL = """
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

    /// The number of pending operations of one queue that have a hold.
    package static func pendingWithHold(of name: PipelineName, at time: Date) -> SQL {
        // CROSS JOIN and the plus sign keep SQLite from reading the holds of other queues.
        """
        SELECT count(DISTINCT o."id") FROM "QueuedOperation" AS o CROSS JOIN "OperationHold" AS h \
        ON h."operation" = o."id" WHERE o."status" = \(OperationStatus.pending) AND o."pipeline" = \(name) \
        AND +h."until" > \(time)
        """
    }

    /// The number of operations of one queue by status.
    package static func byStatus(of name: PipelineName) -> SQL {
        """
        SELECT "status", count(*) FROM "QueuedOperation" WHERE "status" IN \(list: OperationStatus.allCases) \
        AND "pipeline" = \(name) GROUP BY "status"
        """
    }

    /// When the operation of the earliest commit of each priority was queued, among the operations with a status.
    ///
    /// - Parameter limit: the greatest number of priorities; a negative number for all.
    package static func oldest(of name: PipelineName, _ status: OperationStatus, priorities limit: Int = -1) -> SQL {
        """
        WITH RECURSIVE ranks("rank") AS (\
        SELECT min("rank") FROM "QueuedOperation" WHERE "status" = \(status) AND "pipeline" = \(name) UNION ALL \
        SELECT (SELECT min(o."rank") FROM "QueuedOperation" o WHERE o."status" = \(status) AND o."pipeline" = \(name) \
        AND o."rank" > ranks."rank") FROM ranks WHERE ranks."rank" IS NOT NULL LIMIT \(limit)) \
        SELECT (SELECT o."enqueuedAt" FROM "QueuedOperation" o WHERE o."status" = \(status) AND o."pipeline" = \(name) \
        AND o."rank" = ranks."rank" ORDER BY o."commit", o."id" LIMIT 1) FROM ranks WHERE ranks."rank" IS NOT NULL
        """
    }
}
