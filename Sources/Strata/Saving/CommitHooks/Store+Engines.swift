import Foundation

extension Store {
    /// Runs the engines' writes after a commit, in the same transaction, as a separate commit.
    ///
    /// - Parameters:
    ///   - base: the number of the preceding commit.
    ///   - changes: the changes of the preceding commit.
    ///   - parts: the known rows of the preceding commit, by entity.
    ///   - alongside: further writes, after those of the engines.
    /// - Returns: the engines' commit and the tables that were written; nil if the engines have changed nothing.
    func runCommitHooks(
        _ base: Int64,
        _ changes: CommitChanges,
        _ parts: [Int: any AnyRowChanges],
        _ author: String?,
        on connection: Connection,
        alongside: ((StoreTransaction) throws -> Void)? = nil
    ) throws -> (commit: ChangeSet, tables: Set<String>)? {
        let due = schema.commitHooks.compactMap { entity, type in
            changes.tables[schema.entities[entity].info.table].map { (type, $0, parts[entity]) }
        }
        let deletes = schema.ownedModels.flatMap { owned in
            owned.owners.compactMap { entity in
                changes.tables[schema.entities[entity].info.table].map { (owned.type, $0.deleted) }
            }
        }
        .filter { !$0.1.isEmpty }
        guard !due.isEmpty || !deletes.isEmpty || alongside != nil else { return nil }
        let job = BatchJob(connection, schema, base: base, time: Date())
        let transaction = StoreTransaction(job, behind: changes)
        for (type, changes, part) in due { try passing { try type.afterWrite(changes, part, in: transaction) } }
        for (type, owners) in deletes { try passing { try type.afterWrite(deletesOf: owners, in: transaction) } }
        if let alongside { try passing { try alongside(transaction) } }
        transaction.finish()
        guard !job.changes.isEmpty else { return nil }
        return (try recordCommit(of: job, author), job.tables)
    }

    /// Passes errors of engines on unchanged.
    func passing<Value>(_ body: () throws -> Value) throws -> Value {
        do { return try body() } catch let error as StrataError { throw error } catch { throw PassedError(error) }
    }

    /// Runs an engine's transaction as a separate commit.
    ///
    /// - Parameters:
    ///   - access: what the transaction needs of the home, if there is one. Unless it is `locked`, `body` may run twice.
    ///   - rolledBack: called if the work is rolled back, before another commit of this process can get its number.
    func transact(
        author: String,
        access: HomeAccess,
        _ body: (StoreTransaction) throws -> Void,
        rolledBack: @escaping () -> Void
    ) throws {
        // Engines usually write few rows. A batch of the application may change any number.
        _ = try batch(
            author: author,
            for: author,
            runsHooks: false,
            mayShare: true,
            access: access,
            rolledBack: rolledBack
        ) { job in
            let transaction = StoreTransaction(job)
            try passing { try body(transaction) }
            transaction.finish()
        }
    }
}

extension StrataError {
    /// The error that an engine's code has thrown inside a transaction; otherwise this error.
    var passed: any Error { (underlying as? PassedError)?.error ?? self }
}
