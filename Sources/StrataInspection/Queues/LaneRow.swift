import Foundation
import Strata
import StrataPipeline

/// A lane of a pipeline in a list, with the operation that comes first in it.
package struct LaneRow: Sendable {
    /// The greatest number of operations of a lane that are counted.
    package static let countLimit = 1000
    /// The greatest number of failed operations that are passed over, if they do not block their lane.
    package static let failedLimit = 1000
    /// The greatest number of failed, and of held operations whose lanes are looked at for ``blocked(of:_:limit:in:)``.
    package static let blockedLimit = 500
    /// The greatest size in bytes of a payload that is read together with the wait reasons of its operation.
    private static let payloadLimit: Int64 = 256 << 10
    /// The greatest number of holds and of dependencies that are read for one operation.
    private static let reasonLimit = 20

    /// The token bucket of a lane with a rate limit.
    package struct Bucket: Sendable {
        /// The number of attempts that may start now.
        package let tokens: Double
        /// The number of tokens in the full bucket.
        package let capacity: Int64
        /// When operations that wait for a token are looked at again; nil if none wait.
        package let opensAt: Date?
    }

    package let name: String
    /// The number of queued operations, at most ``countLimit`` of them.
    package let count: Int
    /// The running operation of a lane that runs one at a time, or else the operation that comes first; nil if more
    /// failed operations than ``failedLimit`` come first.
    package let head: JobRow?
    /// Whether the head is failed or held, and the later operations of the lane wait for it.
    package let isBlocked: Bool
    /// Why the head does not run. This process's own reasons are left out if it does not open the pipeline.
    package let waitReasons: [WaitReason]
    /// Why the reasons could not be read; nil if they could.
    package let problem: String?
    /// Nil for a lane without a rate limit, and for one that has not started an operation lately.
    package let bucket: Bucket?

    /// Since when the head is what the lane waits for: the start of its last attempt, or else the time when it was
    /// queued.
    package var since: Date? { head?.startedAt ?? head?.queuedAt }

    // MARK: Lists

    /// The lanes of a pipeline in the order of their names.
    ///
    /// - Parameters:
    ///   - name: the lane after which the list begins; nil for the first lanes.
    ///   - record: how the pipeline was declared; nil if it was not.
    ///   - limit: the greatest number of lanes.
    /// - Complexity: for each returned lane, a few lookups, and O(``countLimit``) entries of an index.
    package static func list(
        of pipeline: PipelineName,
        _ record: PipelineRecord.Row?,
        after name: String?,
        limit: Int,
        in context: ObjectContext
    ) throws -> [LaneRow] {
        let names = try context.rows(LaneSQL.names(of: pipeline, after: name, limit: limit)).compactMap(text)
        return try names.map { try LaneRow($0, of: pipeline, record, in: context) }
    }

    /// The lanes whose first operation has failed or is held. Pipelines with the ordering `flat` do not have any.
    ///
    /// - Complexity: O(``blockedLimit``) lookups, and those of ``list(of:_:after:limit:in:)`` for each looked at lane,
    ///   of which there are at most four times `limit`.
    package static func blocked(
        of pipeline: PipelineName,
        _ record: PipelineRecord.Row?,
        limit: Int,
        in context: ObjectContext
    ) throws -> [LaneRow] {
        guard let record, record.ordering != .flat else { return [] }
        var names: Set<UTF8Text> = []
        for status in [OperationStatus.failed, .held] {
            let sql = LaneSQL.lanes(of: pipeline, status, limit: blockedLimit)
            names.formUnion(try context.rows(sql).compactMap(text).map { UTF8Text($0) })
        }
        var lanes: [LaneRow] = []
        for name in names.sorted().prefix(4 * limit) where lanes.count < limit {
            let lane = try LaneRow(name.string, of: pipeline, record, in: context)
            if lane.isBlocked { lanes.append(lane) }
        }
        return lanes
    }

    /// The text in the first column; nil for another value, which another program has stored.
    private static func text(_ row: SQLRow) -> String? {
        guard case .text(let text) = row.values[0] else { return nil }
        return text
    }

    // MARK: Reading

    private init(
        _ name: String,
        of pipeline: PipelineName,
        _ record: PipelineRecord.Row?,
        in context: ObjectContext
    ) throws {
        self.name = name
        count = try context.values(Int.self, LaneSQL.count(of: name, pipeline, limit: Self.countLimit)).first ?? 0
        let head = try Self.head(of: name, pipeline, record, in: context).flatMap { try JobRow.find($0, in: context) }
        self.head = head
        let isSerial = record.map { $0.ordering != .flat } ?? false
        let isStuck = head.map { row in
            row.status.hasSameBytes(as: OperationStatus.failed.description)
                || row.status.hasSameBytes(as: OperationStatus.held.description)
        }
        isBlocked = isSerial && isStuck == true
        bucket = try Self.bucket(of: name, pipeline, in: context)
        guard let head, head.finishedAt == nil else {
            (waitReasons, problem) = ([], nil)
            return
        }
        guard (head.payloadSize ?? 0) <= Self.payloadLimit else {
            (waitReasons, problem) = ([], "The payload is too large to read the reasons here.")
            return
        }
        var reasons: [WaitReason] = []
        var failure: String?
        do {
            reasons = try Self.reasons(head.id, in: context)
        } catch {
            failure = (error as? any ProductError)?.message ?? "\(error)"
        }
        (waitReasons, problem) = (reasons, failure)
    }

    private static func reasons(_ id: Int64, in context: ObjectContext) throws -> [WaitReason] {
        guard let operation = try context.fetch(QueuedOperation.self, sql: LaneSQL.operation(id)).first else {
            return []
        }
        // This process need not run the pipeline.
        return try operation.waitReasons(limit: reasonLimit).filter { $0 != .notOpen }
    }

    /// The id of the operation that comes first.
    private static func head(
        of lane: String,
        _ pipeline: PipelineName,
        _ record: PipelineRecord.Row?,
        in context: ObjectContext
    ) throws -> Int64? {
        let ordering = record?.ordering ?? .flat
        if ordering == .fifo || ordering == .lifo {
            let running = try context.values(Int64.self, LaneSQL.running(in: lane, pipeline))
            if let first = running.first { return first }
        }
        let isNewestFirst = ordering == .lifo
        let first = try context.rows(LaneSQL.first(of: lane, pipeline, isNewestFirst: isNewestFirst)).first
        guard let first else { return nil }
        let isFailed = first.lenient("status").lenientInteger == Int64(OperationStatus.failed.rawValue)
        let isPassedOver = ordering != .flat && record?.whenFailed != .blockLane && isFailed
        guard isPassedOver else { return first.lenient("id").lenientInteger }
        let sql = LaneSQL.firstUnfailed(of: lane, pipeline, isNewestFirst: isNewestFirst, limit: failedLimit)
        return try context.values(Int64.self, sql).first
    }

    private static func bucket(of lane: String, _ pipeline: PipelineName, in context: ObjectContext) throws -> Bucket? {
        guard let row = try context.rows(LaneSQL.bucket(of: lane, pipeline)).first,
            let tokens = row.lenient("tokens").lenientReal, let rate = row.lenient("rate").lenientReal,
            let capacity = row.lenient("capacity").lenientInteger, let counted = row.lenient("countedAt").lenientDate
        else { return nil }
        // If the clock was set back, no tokens have come.
        let come = max(Date().timeIntervalSince(counted), 0) * rate
        return Bucket(
            tokens: min(tokens + come, Double(capacity)),
            capacity: capacity,
            opensAt: row.lenient("opensAt").lenientDate
        )
    }
}
