import Foundation
import Strata
import StrataPipeline

/// All that a store knows of one operation.
package struct JobDetails: Sendable {
    /// The greatest number of transitions that are read, the newest ones.
    package static let transitionLimit = 50
    /// The greatest number of tags and holds that are read for a person, and of prerequisites that are examined.
    package static let partLimit = 200

    package struct Hold: Sendable {
        package let name: String
        package let until: Date
    }

    package struct Transition: Sendable {
        package let status: String
        package let attempts: Int
        package let reason: String?
        package let at: Date
    }

    package let row: JobRow
    package let payload: StoredDocument
    package let payloadVersion: Int64?
    /// The value that the handler has returned; nil without one.
    package let result: StoredDocument?
    package let failures: [AttemptFailure]
    package let schedule: String?
    package let request: String?

    package private(set) var tags: [String] = []
    package private(set) var holds: [Hold] = []
    package private(set) var expiresAt: Date?
    package private(set) var timeout: Duration?
    package private(set) var retry: RetryPolicy?
    package private(set) var waitReasons: [WaitReason] = []
    /// The recorded changes of the status, oldest first.
    package private(set) var transitions: [Transition] = []
    /// Parts that could not be read, with the reasons.
    package private(set) var problems: [String] = []

    /// - Parameter isComplete: whether everything is read, or only what a person sees: the beginning of the payload, and
    ///   at most ``partLimit`` tags and holds.
    /// - Returns: nil if the operation is neither queued nor finished.
    package static func find(_ id: Int64, isComplete: Bool, in context: ObjectContext) throws -> JobDetails? {
        guard let row = try JobRow.find(id, in: context) else { return nil }
        let size = isComplete ? Int(Int32.max) : StoredDocument.shownSize
        let isFinished = row.finishedAt != nil
        let sql = isFinished ? selectFinished(id, size: size) : selectQueued(id, size: size)
        guard let values = try context.rows(sql).first else { return nil }
        var details = JobDetails(row, values)
        details.readRest(of: id, isFinished: isFinished, isComplete: isComplete, values, in: context)
        return details
    }

    package static func selectQueued(_ id: Int64, size: Int) -> SQL {
        """
        SELECT "id", substr(CAST("payload" AS BLOB), 1, \(size)) AS "payload", \
        length(CAST("payload" AS BLOB)) AS "size", "payloadVersion", "failures", "schedule", "request", \
        NULL AS "result", NULL AS "resultSize" FROM "QueuedOperation" WHERE "id" = \(id)
        """
    }

    package static func selectFinished(_ id: Int64, size: Int) -> SQL {
        """
        SELECT "id", substr(CAST("payload" AS BLOB), 1, \(size)) AS "payload", \
        length(CAST("payload" AS BLOB)) AS "size", "payloadVersion", "failures", NULL AS "schedule", \
        NULL AS "request", substr(CAST("resultValue" AS BLOB), 1, \(size)) AS "result", \
        length(CAST("resultValue" AS BLOB)) AS "resultSize" FROM "FinishedOperation" WHERE "id" = \(id)
        """
    }

    private init(_ row: JobRow, _ values: SQLRow) {
        self.row = row
        payload = StoredDocument(
            bytes: values.lenient("payload").lenientBytes ?? Data(),
            size: Int(values.lenient("size").lenientInteger ?? 0)
        )
        payloadVersion = values.lenient("payloadVersion").lenientInteger
        result = values.lenient("result").lenientBytes.map { bytes in
            StoredDocument(bytes: bytes, size: Int(values.lenient("resultSize").lenientInteger ?? 0))
        }
        let known = AttemptFailures(storedValue: values.lenient("failures"))
        failures = known?.list ?? []
        schedule = values.lenient("schedule").lenientText
        let number = values.lenient("request").lenientInteger
        request = number.flatMap { OperationRequest(rawValue: Int($0)) }.map { "\($0)" }
        if known == nil { problems.append("The failures of its attempts cannot be read.") }
    }

    private mutating func readRest(
        of id: Int64,
        isFinished: Bool,
        isComplete: Bool,
        _ values: SQLRow,
        in context: ObjectContext
    ) {
        let limit = isComplete ? Int(Int32.max) : Self.partLimit
        attempt("tags") { details in
            let all = OperationTag.where { $0.operation == id }.sorted { $0.name }
            details.tags = try context.column(all.limit(limit), \.name)
        }
        attempt("transitions") { details in
            let all = OperationTransition.where { $0.operation == id }.sorted { [$0.at.descending, $0.id.descending] }
            details.transitions = try context.rows(all.limit(Self.transitionLimit)).reversed().map {
                Transition(status: $0.status, attempts: $0.attempts, reason: $0.reason, at: $0.at)
            }
        }
        if isFinished { return }
        attempt("holds") { details in
            let all = OperationHold.where { $0.operation == id }.sorted { $0.until }
            details.holds = try context.rows(all.limit(limit)).map { Hold(name: $0.name, until: $0.until) }
        }
        attempt("options") { details in
            guard let settings = try context.rows(OperationSettings.where { $0.operation == id }).first else { return }
            details.expiresAt = settings.expiresAt
            details.timeout = settings.attempts?.timeout
            details.retry = settings.attempts?.retry
        }
        attempt("wait reasons") { details in
            // Each prerequisite is a reason, and becomes an object.
            guard try Self.prerequisiteCount(of: id, upTo: limit + 1, in: context) <= limit else {
                let text = "Its wait reasons are left out, because it depends on more than \(limit) operations."
                details.problems.append(text)
                return
            }
            guard let known = try values.id(of: QueuedOperation.self) else { return }
            guard let operation = try context.find(known) else { return }
            // This process runs nothing, and says so of each operation.
            details.waitReasons = try operation.waitReasons().filter { $0 != .notOpen }
        }
    }

    private static func prerequisiteCount(of id: Int64, upTo limit: Int, in context: ObjectContext) throws -> Int {
        let found: SQL = "SELECT 1 FROM \"OperationDependency\" WHERE \"dependant\" = \(id) LIMIT \(limit)"
        return try context.values(Int.self, "SELECT count(*) FROM (\(found))").first ?? 0
    }

    /// Reads a part, which another program may have damaged.
    private mutating func attempt(_ part: String, _ body: (inout JobDetails) throws -> Void) {
        do {
            try body(&self)
        } catch {
            problems.append("Its \(part) cannot be read. \((error as? any ProductError)?.message ?? "\(error)")")
        }
    }
}
