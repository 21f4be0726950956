import Strata
import StrataPipeline

/// Derives the dependencies between operations from their reads and writes, in the order of the commits. The
/// transaction that queues the operations also writes the dependencies, so that they include concurrent commits.
extension ResourceAccess: CommitHook {
    package static var guards: [String] { [AccessSQL.cleanUp] }

    package static func afterWrite(_ commit: ModelChanges<Row>, in transaction: StoreTransaction) throws {
        var accesses: [Int64: [Access]] = [:]
        for number in commit.inserted {
            // The operation was removed before its commit.
            guard try transaction.run(AccessSQL.deleteOrphan, [.integer(number)]) == 0 else { continue }
            try transaction.rows(AccessSQL.select, [.integer(number)]) { row in
                let operation = try row.read(Int64.self, at: 0)
                accesses[operation, default: []].append(
                    Access(
                        resource: .text(try row.read(String.self, at: 1)),
                        isWrite: try row.read(Bool.self, at: 2),
                        isBefore: try row.read(Bool.self, at: 3),
                        commit: try row.read(Int64.self, at: 4),
                        isUpload: try row.read(Int.self, at: 5) == Role.upload.rawValue
                    )
                )
            }
        }
        for (operation, accesses) in accesses.sorted(by: { $0.key < $1.key }) {
            try addDependencies(of: operation, accesses, in: transaction)
        }
    }

    private struct Access {
        let resource: StoredValue
        let isWrite: Bool
        let isBefore: Bool
        let commit: Int64
        let isUpload: Bool
    }

    private static func addDependencies(of operation: Int64, _ accesses: [Access], in transaction: StoreTransaction)
        throws
    {
        var prerequisites: Set<Int64> = []
        var messages: Set<Int64> = []
        var dependants: Set<Int64> = []
        for access in accesses where access.isBefore {
            // Among operations of one commit that run before others, the first one queued runs first.
            let values: [StoredValue] = [access.resource, .integer(operation), .integer(access.commit)]
            dependants.formUnion(try transaction.numbers(AccessSQL.selectWaiting, values))
        }
        // An operation that already precedes this one, such as one that is sent again together with it, must not depend
        // on it too.
        if !dependants.isEmpty {
            dependants.subtract(try CommitConsequences.impliedPrerequisites(of: [operation], in: transaction))
        }
        // The operation takes the place of the earliest operation that depends on it, directly or indirectly, and
        // depends on the operations before this place. Some indirect dependants may have been queued before the direct
        // ones.
        let behind = try CommitConsequences.dependants(of: dependants, in: transaction)
        let own = (commit: accesses.map(\.commit).max() ?? 0, operation: operation)
        var place = own
        for dependant in behind {
            guard let commit = try transaction.integer(AccessSQL.selectCommit, [.integer(dependant)]) else { continue }
            if (commit, dependant) < place { place = (commit, dependant) }
        }
        for access in accesses {
            let moment: [StoredValue] = [.integer(place.commit), .integer(place.operation)]
            var since: [StoredValue] = [.integer(-1), .integer(-1)]
            try transaction.rows(AccessSQL.selectLastWriter, [access.resource] + moment) { row in
                let writer = try row.read(Int64.self, at: 0)
                prerequisites.insert(writer)
                since = [.integer(try row.read(Int64.self, at: 1)), .integer(writer)]
            }
            // An operation that runs before others does not run in its queue order, so the query for the last writer
            // excludes it. Every such operation that was queued since the last writer is a prerequisite as well. The
            // last writer already depends on the earlier ones.
            let queued: [StoredValue] = [.integer(own.commit), .integer(own.operation)]
            prerequisites.formUnion(
                try transaction.numbers(AccessSQL.selectGoneBefore, [access.resource] + queued + since)
            )
            guard access.isWrite else { continue }
            try transaction.rows(AccessSQL.selectReadersSince, [access.resource] + moment + since) { row in
                let reader = try row.read(Int64.self, at: 0)
                // A message only reads, so this query is the only one that finds messages.
                if try row.read(Int.self, at: 1) == Role.message.rawValue {
                    messages.insert(reader)
                } else {
                    prerequisites.insert(reader)
                }
            }
        }
        // If the operation has moved to another place, some operations already depend on it because of their reads and
        // writes. They do not become prerequisites. If the application has declared a dependency that contradicts the
        // reads and writes, the two dependencies form a cycle, which is rejected. Neither of them is dropped.
        let waiting = try behind.union(CommitConsequences.impliedDependants(of: [operation], in: transaction))
        for (prerequisites, policy) in [(prerequisites, DependencyPolicy.wait), (messages, .run)] {
            try CommitConsequences.addDependencies(
                prerequisites.subtracting(waiting).sorted(),
                to: operation,
                onFailure: policy,
                in: transaction
            )
        }
        for dependant in dependants.sorted() {
            try CommitConsequences.addDependencies([operation], to: dependant, in: transaction)
        }
        guard accesses.contains(where: { $0.isWrite && $0.isUpload }) else { return }
        // A new upload retries the failed operations of its node. Otherwise it would wait for them forever.
        try CommitConsequences.retry(
            transaction.numbers(AccessSQL.selectFailed, [.integer(operation)]),
            in: transaction
        )
    }
}

/// Skips the uploads of a node in the commit that deletes the node. They are skipped only then, because until the
/// commit they may still run and finish. Also clears the link of a node if the linked object does not exist after the
/// commit.
extension CloudNode: CommitHook {
    package static var consistencyRules: [ConsistencyRule] { AccessSQL.nodeRules }

    package static func afterWrite(_ commit: ModelChanges<Row>, in transaction: StoreTransaction) throws {
        for number in commit.updated("parent") { try checkRing(number, in: transaction) }
        for number in commit.inserted + commit.updated("link") { try dropDanglingLink(of: number, in: transaction) }
        for number in commit.deleted {
            try CommitConsequences.skip(
                transaction.numbers(AccessSQL.selectOfNode, [.text(String(number)), .text("@\(number)")]),
                in: transaction
            )
            try deleteWhatIsSaid(of: number, in: transaction)
        }
    }

    /// Deletes the tags and the conflict of a deleted node. They contain the node's id as a value, so no relationship
    /// leads from the node to them.
    private static func deleteWhatIsSaid(of number: Int64, in transaction: StoreTransaction) throws {
        // Tags are found by the number in the id, whatever fingerprint the store had when the id was written.
        let (first, last) = ("CloudNode-\(number)-", "CloudNode-\(number).")
        try deleteTags(AccessSQL.selectTags, [.text(first), .text(last)], in: transaction)
        for conflict in try transaction.numbers(AccessSQL.selectConflict, [.integer(number)]) {
            try transaction.run(AccessSQL.deleteConflict, [.integer(conflict)])
            try transaction.report(deleted: conflict, of: CloudConflict.self)
        }
    }

    /// Deletes the tags of an account whose nodes do not exist any more. Earlier versions have left such tags.
    ///
    /// - Complexity: O(tags of nodes), each by its index.
    static func deleteOrphanedTags(of account: String, in transaction: StoreTransaction) throws {
        try deleteTags(AccessSQL.selectOrphanedTags, [.text(account)], in: transaction)
    }

    /// Deletes those of the selected tags whose subject is a missing node of this store.
    private static func deleteTags(_ sql: String, _ values: [StoredValue], in transaction: StoreTransaction) throws {
        var tags: [(id: Int64, subject: String)] = []
        try transaction.rows(sql, values) { row in
            tags.append((try row.read(Int64.self, at: 0), try row.read(String.self, at: 1)))
        }
        for tag in tags where try transaction.objectExists(tag.subject) == false {
            try transaction.run(AccessSQL.deleteTag, [.integer(tag.id)])
            try transaction.report(deleted: tag.id, of: CloudTag.self)
        }
    }
}

extension CloudNode {
    /// Clears the link of a node if its object is missing. The object may have been rolled back or deleted, or another
    /// context may not have committed it yet.
    private static func dropDanglingLink(of number: Int64, in transaction: StoreTransaction) throws {
        var link: String?
        try transaction.rows(AccessSQL.selectLink, [.integer(number)]) { link = try $0.read(String?.self, at: 0) }
        guard let link, try transaction.objectExists(link) == false else { return }
        try transaction.run(AccessSQL.dropLink, [.integer(transaction.number), .integer(number)])
        try transaction.report(updated: number, ["link"], of: CloudNode.self)
    }

    /// Rejects a cycle of folders. Two contexts may have moved two folders into each other.
    private static func checkRing(_ number: Int64, in transaction: StoreTransaction) throws {
        var seen: Set<Int64> = []
        var next: Int64? = number
        while let node = next {
            guard seen.insert(node).inserted else {
                throw CloudError(
                    .cyclicMove,
                    "Another context has moved the target folder below node \(number). Roll the move back.",
                    nodes: [number]
                )
            }
            next = try transaction.integer(AccessSQL.selectParent, [.integer(node)])
        }
    }
}

/// The SQL statements that find dependencies.
private enum AccessSQL {
    private static let accesses = "\"CloudAccess\""

    static let cleanUp = """
        CREATE TEMP TRIGGER IF NOT EXISTS "strata_cloud_access" AFTER DELETE ON main."QueuedOperation" \
        BEGIN DELETE FROM \(accesses) WHERE "operation" = OLD."id"; END
        """
    static let select =
        "SELECT \"operation\", \"resource\", \"isWrite\", \"isBefore\", \"commit\", \"role\" FROM \(accesses) WHERE \"id\" = ?"
    static let selectParent = "SELECT \"parent\" FROM \"CloudNode\" WHERE \"id\" = ?"
    static let selectLink = "SELECT \"link\" FROM \"CloudNode\" WHERE \"id\" = ? AND \"link\" IS NOT NULL"
    static let dropLink = "UPDATE \"CloudNode\" SET \"link\" = NULL, \"_version\" = ?1 WHERE \"id\" = ?2"
    static let selectTags = """
        SELECT "id", "subject" FROM "CloudTag" WHERE "account" IN (SELECT "account" FROM "CloudAccount") \
        AND "subject" > ?1 AND "subject" < ?2
        """
    /// The cast reads the number of an id, up to the next hyphen.
    static let selectOrphanedTags = """
        SELECT "id", "subject" FROM "CloudTag" WHERE "account" = ?1 AND "subject" > 'CloudNode-' AND "subject" < 'CloudNode.' \
        AND NOT EXISTS (SELECT 1 FROM "CloudNode" n WHERE n."id" = CAST(substr("subject", 11) AS INTEGER))
        """
    static let deleteTag = "DELETE FROM \"CloudTag\" WHERE \"id\" = ?"
    static let selectConflict = "SELECT \"id\" FROM \"CloudConflict\" WHERE \"nodeNumber\" = ?"
    static let deleteConflict = "DELETE FROM \"CloudConflict\" WHERE \"id\" = ?"
    static let deleteOrphan = """
        DELETE FROM \(accesses) WHERE "id" = ? AND NOT EXISTS \
        (SELECT 1 FROM "QueuedOperation" o WHERE o."id" = \(accesses)."operation")
        """
    private static let hasGoneBefore = """
        EXISTS (SELECT 1 FROM \(accesses) b WHERE b."operation" = a."operation" AND b."isBefore" = 1)
        """
    static let selectLastWriter = """
        SELECT a."operation", a."commit" FROM \(accesses) a WHERE a."resource" = ?1 AND a."isWrite" = 1 \
        AND (a."commit", a."operation") < (?2, ?3) AND NOT \(hasGoneBefore) \
        ORDER BY a."commit" DESC, a."operation" DESC LIMIT 1
        """
    static let selectGoneBefore = """
        SELECT DISTINCT a."operation" FROM \(accesses) a WHERE a."resource" = ?1 AND a."isWrite" = 1 \
        AND (a."commit", a."operation") < (?2, ?3) AND (a."commit", a."operation") > (?4, ?5) AND \(hasGoneBefore)
        """
    static let selectReadersSince = """
        SELECT "operation", "role" FROM \(accesses) WHERE "resource" = ?1 AND "isWrite" = 0 \
        AND ("commit", "operation") < (?2, ?3) AND ("commit", "operation") > (?4, ?5)
        """
    /// The operations of a node that upload it. An operation that creates the node as a folder stays if a move into the
    /// folder or out of it is queued.
    static let selectOfNode = """
        SELECT DISTINCT a."operation", a."commit" FROM \(accesses) a JOIN "QueuedOperation" o ON o."id" = a."operation" \
        WHERE a."resource" = ?2 AND o."lane" = ?1 AND (a."role" = 1 OR a."role" = 2 AND NOT EXISTS \
        (SELECT 1 FROM \(accesses) m WHERE m."resource" = ?2 AND m."role" = 3))
        """
    /// The operations that have not started. It excludes operations that also run before others and were queued earlier
    /// by the same commit.
    static let selectWaiting = """
        SELECT DISTINCT a."operation" FROM \(accesses) a JOIN "QueuedOperation" o ON o."id" = a."operation" \
        WHERE a."resource" = ?1 AND a."operation" <> ?2 AND o."status" <> 3 \
        AND NOT (a."isBefore" = 1 AND a."commit" = ?3 AND a."operation" < ?2)
        """
    /// The failed operations of the operation's node, except messages. A failed operation is among the first 16 of the
    /// node's lane, because the others wait for it, however many there are.
    static let selectFailed = """
        SELECT f."id" FROM (SELECT o."id", o."status" FROM "QueuedOperation" own CROSS JOIN "QueuedOperation" o \
        WHERE own."id" = ?1 AND o."pipeline" = own."pipeline" AND o."lane" = own."lane" \
        ORDER BY o."sortKey", o."commit", o."id" LIMIT 16) f WHERE f."status" = 4 AND f."id" <> ?1 \
        AND NOT EXISTS (SELECT 1 FROM \(accesses) a WHERE a."operation" = f."id" AND a."role" = 4)
        """
    static let selectCommit = "SELECT \"commit\" FROM \(accesses) WHERE \"operation\" = ? LIMIT 1"
}

extension AccessSQL {
    static let nodeRules = [
        ConsistencyRule(
            "The folders above the node form a ring, so it does not have a path.",
            sql: "SELECT \"id\" FROM \"CloudNode\" WHERE \(hasNoTop("CloudNode"))"
        ),
        ConsistencyRule(
            "The known folders above the node at the remote form a ring.",
            sql: "SELECT \"node\" FROM \"RemoteNode\" WHERE \"node\" IS NOT NULL AND \(hasNoTop("RemoteNode"))"
        ),
    ]

    /// Whether a row is in a ring of parents, or below one. A parent that does not exist counts as the top, because
    /// checks report it separately.
    private static func hasNoTop(_ table: String) -> String {
        """
        "id" NOT IN (WITH RECURSIVE reached("id") AS (SELECT "id" FROM "\(table)" WHERE "parent" IS NULL \
        OR "parent" NOT IN (SELECT "id" FROM "\(table)") UNION SELECT n."id" FROM reached AS r \
        CROSS JOIN "\(table)" AS n ON n."parent" = r."id") SELECT "id" FROM reached)
        """
    }
}
