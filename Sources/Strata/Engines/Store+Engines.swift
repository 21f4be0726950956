import Foundation

extension Store {
    /// What an engine does behind a commit in the same transaction, as a commit of its own.
    ///
    /// - Parameters:
    ///   - base: the number of the commit that comes before it.
    ///   - changes: what that has changed.
    ///   - parts: its rows as far as they are known, by entity.
    ///   - alongside: what else is to be done.
    /// - Returns: the tables that were written to.
    func follow(
        _ base: Int64,
        _ changes: CommitChanges,
        _ parts: [Int: any AnyPart],
        _ author: String?,
        on connection: Connection,
        alongside: ((StoreTransaction) throws -> Void)? = nil
    ) throws -> Set<String> {
        let due = schema.followers.filter { changes.tables[schema.entities[$0.entity].info.table] != nil }
        guard !due.isEmpty || alongside != nil else { return [] }
        let time = Date()
        let job = BatchJob(connection, schema, base: base, time: time)
        let transaction = StoreTransaction(job)
        for (entity, type) in due {
            guard let changes = changes.tables[schema.entities[entity].info.table] else { continue }
            try passing { try type.follow(changes, parts[entity], in: transaction) }
        }
        if let alongside { try passing { try alongside(transaction) } }
        transaction.finish()
        guard !job.changes.isEmpty else { return [] }
        try connection.note(job.sequence, time, author, job.changes, retention)
        layers.hub.announce(
            ChangeSet(
                token: HistoryToken(job.sequence, of: identity.fingerprint),
                time: time,
                author: author,
                changes: job.changes
            )
        )
        return job.tables
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
