import Foundation

extension Store {
    /// Runs a batch in a separate transaction, and notifies contexts and observers of the changes.
    ///
    /// - Parameters:
    ///   - context: the name of the context that requests the batch, for the log.
    ///   - runsHooks: whether engines write their derived changes in the same transaction, after the batch.
    func batch(
        author: String?,
        for context: @autoclosure () -> String,
        runsHooks: Bool = true,
        _ body: (BatchJob) throws -> Void
    ) throws -> ChangeSet {
        try telemetry.measuring(.batch, of: context(), journal: journal) {
            do {
                return try batch(author, context(), runsHooks, $0, body)
            } catch let error as StrataError {
                // Rethrows a cancellation as itself, because it is not an error of the store.
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
        _ runsHooks: Bool,
        _ watch: WriteWatch?,
        _ body: (BatchJob) throws -> Void
    ) throws -> ChangeSet {
        var done: ChangeSet?
        /// The commits of the transaction: the batch and the engines' commit after it.
        var commits: [ChangeSet] = []
        try write(for: context()) { connection in
            watch?.hasBegun()
            let base = try connection.sequence()
            try layers.absorbCommits(before: base, schema, connection)
            let job = BatchJob(connection, schema, base: base, time: Date())
            defer { job.cleanUp() }
            try body(job)
            guard !job.changes.isEmpty else {
                done = changeSet(base, job, author)
                return []
            }
            let commit = try recordCommit(of: job, author)
            done = commit
            commits = [commit]
            guard runsHooks,
                let (following, tables) = try runCommitHooks(job.sequence, job.changes, [:], author, on: connection)
            else { return job.tables.sorted() }
            commits.append(following)
            return job.tables.union(tables).sorted()
        } beforeCommit: {
            if !commits.isEmpty { layers.announce(nil, commits) }
        } afterCommit: { isCommitted in
            if isCommitted { absorb(commits) } else { layers.withdraw() }
        }
        // A transaction that ends without an error always sets `done`.
        return done!
    }

    /// Applies announced commits of this process to the layers, in order. The commits are in the store. A reader may
    /// have applied them already.
    func absorb(_ commits: [ChangeSet]) {
        if commits.isEmpty { return }
        defer { layers.endAnnouncement() }
        for commit in commits where !layers.absorb(commit.changes, through: commit.token.sequence, schema) {
            // If layers have changed the same rows, the rows are read again, as after a commit of another process.
            following { try $0.absorbUnknownCommits() }
            return
        }
    }

    /// Writes the changes of a job into the history, under its number.
    func recordCommit(of job: BatchJob, _ author: String?) throws -> ChangeSet {
        try job.connection.recordCommit(job.sequence, job.time, author, job.changes, retention)
        return changeSet(job.sequence, job, author)
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
