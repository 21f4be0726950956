import Foundation

extension Store {
    /// Runs a batch in a transaction of its own, and lets everybody know what it has changed.
    ///
    /// - Parameters:
    ///   - context: the name of the context that asks for it, for the log.
    ///   - isFollowed: whether engines write behind it what follows.
    func batch(
        author: String?,
        for context: @autoclosure () -> String,
        isFollowed: Bool = true,
        _ body: (BatchJob) throws -> Void
    ) throws -> ChangeSet {
        try telemetry.following(.batch, of: context(), journal: journal) {
            do {
                return try batch(author, context(), isFollowed, $0, body)
            } catch let error as StrataError {
                // A cancellation is none of the store's errors.
                throw error.passed
            }
        } outcome: { changes in
            changes.changes.isEmpty
                ? nil : WriteOutcome(sequence: changes.token.sequence, rows: RowCounts(changes.changes))
        }
    }

    private func batch(
        _ author: String?,
        _ context: @autoclosure () -> String,
        _ isFollowed: Bool,
        _ watch: WriteWatch?,
        _ body: (BatchJob) throws -> Void
    ) throws -> ChangeSet {
        var done: ChangeSet?
        let time = Date()
        try write(for: context()) { connection in
            watch?.hasBegun()
            let base = try connection.sequence()
            try layers.takeIn(base, schema, connection, by: nil)
            let job = BatchJob(connection, schema, base: base, time: time)
            defer { job.cleanUp() }
            try body(job)
            let changes = ChangeSet(
                token: HistoryToken(job.changes.isEmpty ? base : job.sequence, of: identity.fingerprint),
                time: time,
                author: author,
                changes: job.changes
            )
            done = changes
            guard !job.changes.isEmpty else { return [] }
            try connection.note(job.sequence, time, author, job.changes, retention)
            layers.hub.announce(changes)
            let followed =
                isFollowed ? try follow(job.sequence, job.changes, [:], author, on: connection) : []
            return job.tables.union(followed).sorted()
        } afterCommit: { isCommitted in
            guard isCommitted, let done, !done.changes.isEmpty else { return layers.hub.withdraw() }
            // Rows that layers have changed as well are read anew, as after the commit of another process. Where that fails, the
            // next one who reads does it.
            try? takeInCommits()
        }
        // After a transaction without an error there is one.
        return done!
    }
}
