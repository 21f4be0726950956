import Foundation
import Strata
import StrataPipeline

/// A queued or finished operation in a list. Its payload is not read.
package struct JobRow: Sendable {
    package let id: Int64
    package let pipeline: String
    package let lane: String
    /// The name of an ``OperationStatus`` or of an ``OperationResult``.
    package let status: String
    package let type: String
    package let key: String?
    /// Nil for a finished operation.
    package let priority: Int64?
    package let attempts: Int64?
    package let queuedAt: Date?
    /// When the handler was last started; nil for a finished operation.
    package let startedAt: Date?
    /// The progress that the running handler has reported, from 0 to 1.
    package let progress: Double?
    package let finishedAt: Date?
    /// The size of the payload in bytes.
    package let payloadSize: Int64?

    // MARK: Reading

    /// The rows of queued operations, in the order of the filter.
    ///
    /// - Complexity: that of the filter's query up to the limit, and a lookup for each row.
    package static func list(_ filter: OperationFilter, limit: Int, in context: ObjectContext) throws -> [JobRow] {
        try rows(ofQueued: context.ids(filter.query.limit(limit)).map(\.rawValue), in: context)
    }

    /// The rows of finished operations, in the order of the filter.
    package static func list(_ filter: FinishedFilter, limit: Int, in context: ObjectContext) throws -> [JobRow] {
        try rows(ofFinished: context.ids(filter.query.limit(limit)).map(\.rawValue), in: context)
    }

    /// The rows of queued operations, in the order of the ids. Other operations are left out.
    package static func rows(ofQueued ids: [Int64], in context: ObjectContext) throws -> [JobRow] {
        ordered(try context.rows(selectQueued(ids)), ids) { queued($0) }
    }

    /// The rows of finished operations, in the order of the ids. Other operations are left out.
    package static func rows(ofFinished ids: [Int64], in context: ObjectContext) throws -> [JobRow] {
        ordered(try context.rows(selectFinished(ids)), ids) { finished($0) }
    }

    /// The row of an operation; nil if it is neither queued nor finished.
    package static func find(_ id: Int64, in context: ObjectContext) throws -> JobRow? {
        if let row = try context.rows(selectQueued([id])).first { return queued(row) }
        return try context.rows(selectFinished([id])).first.map { finished($0) }
    }

    private static func ordered(_ rows: [SQLRow], _ ids: [Int64], _ make: (SQLRow) -> JobRow) -> [JobRow] {
        let known = Dictionary(rows.map { make($0) }.map { ($0.id, $0) }) { first, _ in first }
        // Another process may have ended an operation meanwhile.
        return ids.compactMap { known[$0] }
    }

    package static func selectQueued(_ ids: [Int64]) -> SQL {
        """
        SELECT "id", "pipeline", "lane", \(heldStatus) AS "status", "type", "key", "priority", "attempts", \
        "enqueuedAt", "startedAt", "progress", length("payload") AS "payloadSize" FROM "QueuedOperation" WHERE "id" IN \(list: ids)
        """
    }

    /// The status of a row of operations. Pending operations with a hold are held, as in the filters and counts.
    private static var heldStatus: SQL {
        """
        CASE WHEN "status" = \(OperationStatus.pending) AND EXISTS (SELECT 1 FROM "OperationHold" AS h \
        WHERE h."operation" = "QueuedOperation"."id" AND h."until" > \(Date())) \
        THEN \(OperationStatus.held) ELSE "status" END
        """
    }

    package static func selectFinished(_ ids: [Int64]) -> SQL {
        """
        SELECT "id", "pipeline", "lane", "result", "type", "key", "attempts", "enqueuedAt", "finishedAt", \
        length("payload") AS "payloadSize" FROM "FinishedOperation" WHERE "id" IN \(list: ids)
        """
    }

    private static func queued(_ row: SQLRow) -> JobRow {
        let number = row.lenient("status").lenientInteger
        let status = number.flatMap { OperationStatus(rawValue: Int($0)) }?.description
        return JobRow(row, status: status ?? row.lenient("status").lenientText)
    }

    private static func finished(_ row: SQLRow) -> JobRow {
        let text = row.lenient("result").lenientText
        let result = text.flatMap { OperationResult(rawValue: $0) }.map { "\($0)" }
        return JobRow(row, status: result ?? text)
    }

    private init(_ row: SQLRow, status: String?) {
        id = row.lenient("id").lenientInteger ?? 0
        pipeline = row.lenient("pipeline").lenientText ?? ""
        lane = row.lenient("lane").lenientText ?? ""
        self.status = status ?? ""
        type = row.lenient("type").lenientText ?? ""
        key = row.lenient("key").lenientText
        priority = row.lenient("priority").lenientInteger
        attempts = row.lenient("attempts").lenientInteger
        queuedAt = row.lenient("enqueuedAt").lenientDate
        startedAt = row.lenient("startedAt").lenientDate
        progress = row.lenient("progress").lenientReal
        finishedAt = row.lenient("finishedAt").lenientDate
        payloadSize = row.lenient("payloadSize").lenientInteger
    }
}
