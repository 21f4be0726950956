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
        var followed: ChangeSet?
        try write(for: context()) { connection in
            watch?.hasBegun()
            let base = try connection.sequence()
            try layers.takeIn(base, schema, connection, by: nil)
            let job = BatchJob(connection, schema, base: base, time: Date())
            defer { job.cleanUp() }
            try body(job)
            guard !job.changes.isEmpty else {
                done = changeSet(base, job, author)
                return []
            }
            done = try announce(job, author)
            guard isFollowed, let (commit, tables) = try follow(job.sequence, job.changes, [:], author, on: connection)
            else { return job.tables.sorted() }
            followed = commit
            return job.tables.union(tables).sorted()
        } afterCommit: { isCommitted in
            guard isCommitted, let done, !done.changes.isEmpty else { return layers.hub.withdraw() }
            takeIn([done, followed].compactMap(\.self))
        }
        // After a transaction without an error there is one.
        return done!
    }

    /// Takes in commits of this process, in their order, which are in the store and not known to the layers.
    func takeIn(_ commits: [ChangeSet]) {
        for commit in commits where !layers.absorb(commit.changes, through: commit.token.sequence, schema) {
            // Rows that layers have changed as well are read anew, as after the commit of another process.
            following { try $0.takeInCommits() }
            return
        }
    }

    /// Writes what a job has changed into the history, under its number, and has it told once that is committed.
    func announce(_ job: BatchJob, _ author: String?) throws -> ChangeSet {
        let changes = changeSet(job.sequence, job, author)
        try job.connection.note(job.sequence, job.time, author, job.changes, retention)
        layers.hub.announce(changes)
        return changes
    }

    private func changeSet(_ sequence: Int64, _ job: BatchJob, _ author: String?) -> ChangeSet {
        ChangeSet(
            token: HistoryToken(sequence, of: identity.fingerprint),
            time: job.time,
            author: author,
            changes: job.changes
        )
    }
}
