import Foundation

extension Store {
    /// What an engine does behind a commit in the same transaction, as a commit of its own.
    ///
    /// - Parameters:
    ///   - base: the number of the commit that comes before it.
    ///   - changes: what that has changed.
    ///   - parts: its rows as far as they are known, by entity.
    ///   - alongside: what else is to be done.
    /// - Returns: what it has committed, and the tables that were written to; nil where that is nothing.
    func follow(
        _ base: Int64,
        _ changes: CommitChanges,
        _ parts: [Int: any AnyPart],
        _ author: String?,
        on connection: Connection,
        alongside: ((StoreTransaction) throws -> Void)? = nil
    ) throws -> (commit: ChangeSet, tables: Set<String>)? {
        let due = schema.followers.compactMap { entity, type in
            changes.tables[schema.entities[entity].info.table].map { (type, $0, parts[entity]) }
        }
        let deletes = schema.companions.flatMap { companion in
            companion.owners.compactMap { entity in
                changes.tables[schema.entities[entity].info.table].map { (companion.type, $0.deleted) }
            }
        }
        .filter { !$0.1.isEmpty }
        guard !due.isEmpty || !deletes.isEmpty || alongside != nil else { return nil }
        let job = BatchJob(connection, schema, base: base, time: Date())
        let transaction = StoreTransaction(job, behind: changes)
        for (type, changes, part) in due { try passing { try type.follow(changes, part, in: transaction) } }
        for (type, owners) in deletes { try passing { try type.follow(deletesOf: owners, in: transaction) } }
        if let alongside { try passing { try alongside(transaction) } }
        transaction.finish()
        guard !job.changes.isEmpty else { return nil }
        return (try announce(job, author), job.tables)
    }

    /// Lets errors of engines through as they are.
    private func passing(_ body: () throws -> Void) throws {
        do { try body() } catch let error as StrataError { throw error } catch { throw PassedError(error) }
    }

    /// Runs an engine's transaction, a commit of its own.
    func transact(author: String, _ body: (StoreTransaction) throws -> Void) throws {
        _ = try batch(author: author, for: author, isFollowed: false) { job in
            let transaction = StoreTransaction(job)
            try passing { try body(transaction) }
            transaction.finish()
        }
    }
}

extension StrataError {
    /// What somebody else's code has thrown inside of a transaction, or this.
    var passed: any Error { (underlying as? PassedError)?.error ?? self }
}
