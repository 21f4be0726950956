public import Foundation
public import Strata

extension PostgresHome {
    public func lock(after position: HomePosition, limit: Int) throws -> [HomeTransaction] {
        let opened = try requireOpened()
        let busyTimeout = opened.busyTimeout
        return try describingFailures {
            try writing.use(within: busyTimeout + timeout) { connection, deadline in
                do {
                    let results = try connection.run(
                        [
                            HomeSQL.begin,
                            HomeSQL.set("idle_in_transaction_session_timeout", seconds: lockTimeout),
                            // A row can be waited for in several steps. The first parameter limits each, the second all.
                            HomeSQL.set("lock_timeout", seconds: busyTimeout),
                            HomeSQL.set("statement_timeout", seconds: busyTimeout),
                            sql.lockPosition(),
                            HomeSQL.set("statement_timeout", seconds: timeout),
                            sql.selectTransactions(after: position, limit: limit),
                        ] + opened.durability,
                        until: deadline
                    )
                    lockKeeper.begin()
                    return try transactions(results[6], after: position, newest: try self.position(results[4]))
                } catch let failure as PostgresFailure
                    where failure.refusedStatement == 4 && failure.kind == .server(sqlState: "57014")
                {
                    throw PostgresFailure(.server(sqlState: "55P03"), failure.message)
                }
            }
        }
    }

    public func unlock() {
        lockKeeper.end()
        // If the rollback fails, the connection ends, and the server rolls back.
        _ = try? writing.continueTransaction(within: timeout) { connection, deadline in
            try connection.rollBack(until: deadline)
        }
    }

    public func publish(_ transaction: HomeTransaction) throws {
        // The transaction of the lock ends with this call, also by an error.
        defer { lockKeeper.end() }
        let statements: [PostgresStatement]
        do {
            // All values are checked before anything is sent.
            statements = try self.statements(for: transaction)
        } catch {
            unlock()
            throw error
        }
        let seconds = time(for: statements)
        do {
            let command = try writing.continueTransaction(within: seconds) { connection, deadline in
                try connection.run(statements, until: deadline).last?.command ?? ""
            }
            guard let command else {
                throw PostgresFailure(.connection, "the lock was lost, with the connection, before the commit")
            }
            try checkCommitted(command)
        } catch let failure as PostgresFailure {
            // The first statement has found another position of the home.
            if failure.refusedStatement == 0, failure.kind == Self.notNewest { throw outdated(failure) }
            throw errorOfPublish(failure, statements.count)
        }
        pruneSometimes()
    }

    /// All statements are one round trip: BEGIN, the lock if it is free, and those of ``publish(_:)``.
    public func publishIfNewest(_ transaction: HomeTransaction) throws -> Bool {
        var beginning = [
            HomeSQL.begin,
            // A large transaction is sent in several parts.
            HomeSQL.set("idle_in_transaction_session_timeout", seconds: lockTimeout),
            HomeSQL.set("statement_timeout", seconds: timeout),
        ]
        beginning += try requireOpened().durability
        beginning.append(sql.lockPositionIfFree())
        let statements = try beginning + self.statements(for: transaction)
        do {
            let command = try writing.use(within: time(for: statements), isRepeatable: false) { connection, deadline in
                try connection.run(statements, until: deadline).last?.command ?? ""
            }
            try checkCommitted(command)
        } catch let failure as PostgresFailure {
            if failure.refusedStatement == beginning.count - 1, failure.kind == Self.lockTaken { return false }
            if failure.refusedStatement == beginning.count, failure.kind == Self.notNewest { return false }
            throw errorOfPublish(failure, statements.count)
        }
        pruneSometimes()
        return true
    }

    /// How the server refuses ``HomeSQL/advance(_:)`` if the home has another position.
    private static let notNewest = PostgresFailure.Kind.server(sqlState: "23502")
    /// How the server refuses ``HomeSQL/lockPositionIfFree()``.
    private static let lockTaken = PostgresFailure.Kind.server(sqlState: "55P03")

    /// The seconds for a publish.
    private func time(for statements: [PostgresStatement]) -> TimeInterval {
        timeout + Double(statements.reduce(0) { $0 + $1.parameters.byteCount }) / 1_000_000
    }

    /// The error of a publish whose last statement is COMMIT.
    private func errorOfPublish(_ failure: PostgresFailure, _ count: Int) -> StrataError {
        // If the server has refused an earlier statement, it has skipped COMMIT.
        let hasSentCommit = failure.sentStatements == count
        let isRefused = failure.refusedStatement.map { $0 < count - 1 } ?? false
        return hasSentCommit && !isRefused ? uncertain(failure) : error(for: failure)
    }

    private func checkCommitted(_ command: String) throws {
        // A transaction that has failed answers COMMIT with ROLLBACK.
        guard command.hasSameBytes(as: "COMMIT") else {
            throw PostgresFailure(.connection, "the server has rolled the transaction back")
        }
    }

    /// All statements of a transaction after the lock, with COMMIT as the last one.
    private func statements(for transaction: HomeTransaction) throws -> [PostgresStatement] {
        // PostgreSQL allows a value 1 GB, with its head.
        guard transaction.changes.bytes.count < 1_000_000_000 else {
            throw StrataError(.validation, "The changes of a commit have more than 1 GB. Save in smaller portions.")
        }
        let changes = try transaction.changes.statements(for: requireOpened().tables)
        return [sql.advance(transaction)] + changes
            + [sql.insertTransaction(transaction), sql.notify(listener.ownPayload), HomeSQL.commit]
    }

    private func outdated(_ failure: PostgresFailure) -> StrataError {
        StrataError(
            .invalidState,
            "A transaction is not based on the newest one of \(name). Take the lock, then publish.",
            underlying: failure
        )
    }

    func uncertain(_ failure: PostgresFailure) -> StrataError {
        StrataError(
            .uncertain,
            "The connection to \(name) was lost during a commit: \(failure). The commit may be stored or not.",
            underlying: failure
        )
    }

    public func outcome(of id: UUID) throws -> Bool {
        try describingFailures {
            // The connection of the commit is lost, and that for reads should not wait for the lock.
            let deadline = Deadline(seconds: timeout + lockTimeout)
            let connection = try PostgresConnection.open(
                settings,
                preparesStatements: preparesStatements,
                until: deadline
            )
            let stored = try connection.run([sql.hasTransaction(id)], until: deadline)[0]
            if try stored.isTrue(row: 0, column: 0) { return true }
            // A lost connection that has the lock keeps it while it can commit. One without the lock may take it later:
            // the request of `publishIfNewest` may still be on its way. So the transaction is refused from now on.
            let results = try connection.run(
                [
                    HomeSQL.begin, HomeSQL.set("lock_timeout", seconds: timeout + lockTimeout), sql.lockPosition(),
                    sql.refuseTransaction(id), sql.hasTransaction(id), HomeSQL.commit,
                ],
                until: deadline
            )
            try checkCommitted(results[5].command)
            return try results[4].isTrue(row: 0, column: 0)
        }
    }

    // MARK: Pruning

    private static let publishesPerPruning = 64
    private static let maxPruned: Int64 = 10_000

    /// Deletes transactions that are too old, after every 64th commit of this process.
    ///
    /// This is a separate transaction, after the commit: the lock is not held longer for it, and its failure cannot
    /// undo the commit. If it fails, a later call repeats it.
    private func pruneSometimes() {
        let count = published.withLock { count in
            count += 1
            return count
        }
        guard count.isMultiple(of: Self.publishesPerPruning) else { return }
        _ = try? writing.use(within: timeout) { connection, deadline in
            let prune = sql.prune(keeping: retention.count, age: retention.age, limit: Self.maxPruned)
            try connection.run([prune, sql.deleteOldRefusals()], until: deadline)
        }
    }
}
