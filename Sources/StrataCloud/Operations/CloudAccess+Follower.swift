import Strata
import StrataPipeline

/// Dependencies follow from what operations read and write, in the order of their commits: they are written in the transaction that
/// queues the operations, so that nobody who commits at the same moment is missed.
extension CloudAccess: CommitFollower {
    package static var guards: [String] { [AccessSQL.cleanUp] }

    package static func follow(_ commit: FollowedCommit<Row>, in transaction: StoreTransaction) throws {
        var accesses: [Int64: [Access]] = [:]
        for number in commit.inserted {
            // Of an operation that was taken back before its commit.
            guard try transaction.run(AccessSQL.deleteOrphan, [.integer(number)]) == 0 else { continue }
            try transaction.rows(AccessSQL.select, [.integer(number)]) { row in
                let operation = try row.read(Int64.self, at: 0)
                accesses[operation, default: []].append(
                    Access(
                        resource: .text(try row.read(String.self, at: 1)),
                        isWrite: try row.read(Bool.self, at: 2),
                        isBefore: try row.read(Bool.self, at: 3),
                        isDelete: try row.read(Int.self, at: 5) == Role.delete.rawValue,
                        commit: try row.read(Int64.self, at: 4)
                    )
                )
            }
        }
        for (operation, accesses) in accesses.sorted(by: { $0.key < $1.key }) {
            try follow(operation, accesses, in: transaction)
        }
    }

    private struct Access {
        let resource: StoredValue
        let isWrite: Bool
        let isBefore: Bool
        let isDelete: Bool
        let commit: Int64
    }

    private static func follow(_ operation: Int64, _ accesses: [Access], in transaction: StoreTransaction) throws {
        var prerequisites: Set<Int64> = []
        var dependants: Set<Int64> = []
        for access in accesses {
            if access.isBefore {
                dependants.formUnion(try transaction.numbers(AccessSQL.selectWaiting, [access.resource, .integer(operation)]))
            }
            let moment: [StoredValue] = [.integer(access.commit), .integer(operation)]
            var since: [StoredValue] = [.integer(-1), .integer(-1)]
            try transaction.rows(AccessSQL.selectLastWriter, [access.resource] + moment) { row in
                let writer = try row.read(Int64.self, at: 0)
                prerequisites.insert(writer)
                since = [.integer(try row.read(Int64.self, at: 1)), .integer(writer)]
            }
            if access.isDelete && access.isWrite { try leaveOutUploads(access.resource, operation, in: transaction) }
            guard access.isWrite else { continue }
            prerequisites.formUnion(
                try transaction.numbers(AccessSQL.selectReadersSince, [access.resource] + moment + since)
            )
        }
        try CommitConsequences.addDependencies(
            prerequisites.subtracting(dependants).sorted(),
            to: operation,
            in: transaction
        )
        for dependant in dependants.sorted() { try CommitConsequences.addDependencies([operation], to: dependant, in: transaction) }
    }
}

extension CloudAccess {
    /// What is to be deleted need not be sent before. What is moved below it must find the folders all the same, and free its place.
    fileprivate static func leaveOutUploads(
        _ resource: StoredValue,
        _ operation: Int64,
        in transaction: StoreTransaction
    ) throws {
        var operations: [Role: Set<Int64>] = [:]
        try transaction.rows(AccessSQL.selectRoles, [resource, .integer(operation)]) { row in
            guard let role = Role(rawValue: try row.read(Int.self, at: 1)) else { return }
            operations[role, default: []].insert(try row.read(Int64.self, at: 0))
        }
        var needless = operations[.upload] ?? []
        if operations[.move] == nil { needless.formUnion(operations[.record] ?? []) }
        try CommitConsequences.skip(needless.sorted(), in: transaction)
    }
}

/// The texts of SQL by which dependencies are found. Nothing else in this target makes SQL.
private enum AccessSQL {
    private static let accesses = "\"CloudAccess\""

    static let cleanUp = """
        CREATE TEMP TRIGGER IF NOT EXISTS "strata_cloud_access" AFTER DELETE ON main."QueuedOperation" \
        BEGIN DELETE FROM \(accesses) WHERE "operation" = OLD."id"; END
        """
    static let select = "SELECT \"operation\", \"resource\", \"isWrite\", \"isBefore\", \"commit\", \"role\" FROM \(accesses) WHERE \"id\" = ?"
    static let deleteOrphan = """
        DELETE FROM \(accesses) WHERE "id" = ? AND NOT EXISTS \
        (SELECT 1 FROM "QueuedOperation" o WHERE o."id" = \(accesses)."operation")
        """
    static let selectLastWriter = """
        SELECT "operation", "commit" FROM \(accesses) WHERE "resource" = ?1 AND "isWrite" = 1 \
        AND ("commit", "operation") < (?2, ?3) ORDER BY "commit" DESC, "operation" DESC LIMIT 1
        """
    static let selectReadersSince = """
        SELECT "operation" FROM \(accesses) WHERE "resource" = ?1 AND "isWrite" = 0 \
        AND ("commit", "operation") < (?2, ?3) AND ("commit", "operation") > (?4, ?5)
        """
    static let selectRoles = """
        SELECT "operation", "role" FROM \(accesses) WHERE "resource" = ?1 AND "role" BETWEEN 1 AND 3 AND "operation" <> ?2
        """
    /// Those that have not begun.
    static let selectWaiting = """
        SELECT DISTINCT a."operation" FROM \(accesses) a JOIN "QueuedOperation" o ON o."id" = a."operation" \
        WHERE a."resource" = ?1 AND a."operation" <> ?2 AND o."status" < 3
        """
}
