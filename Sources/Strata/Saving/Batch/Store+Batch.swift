import Foundation

extension Store {
    /// Runs a batch in a separate transaction, and notifies contexts and observers of the changes.
    ///
    /// - Parameters:
    ///   - context: the name of the context that requests the batch, for the log.
    ///   - runsHooks: whether engines write their derived changes in the same transaction, after the batch.
    ///   - mayShare: whether the batch may share a transaction with other commits, because it writes few rows.
    ///   - access: what the batch needs of the home, if there is one. Unless it is `locked`, `body` may run twice.
    ///   - rolledBack: called if the batch is rolled back, before another commit of this process can get its number.
    func batch(
        author: String?,
        for context: String,
        runsHooks: Bool = true,
        mayShare: Bool = false,
        access: HomeAccess = .locked,
        rolledBack: @escaping () -> Void = {},
        _ body: (BatchJob) throws -> Void
    ) throws -> ChangeSet {
        // The transactions of engines serve many operations, whose attempts have spans.
        let watch = telemetry.startMeasuring(isTraced: runsHooks)
        // A cancellation is passed on as itself, because it is not an error of the store.
        let result = Result { try batch(author, context, runsHooks, mayShare, access, watch, body, rolledBack) }
            .mapError { ($0 as? StrataError)?.passed ?? $0 }
        telemetry.report(.batch, watch, of: context, journal: journal, waitingWrites: waitingWriteCount, result) {
            changes in
            changes.changes.isEmpty
                ? nil : WriteOutcome(sequence: changes.token.sequence, rows: RowCounts(changes.changes))
        }
        return try result.get()
    }

    private func batch(
        _ author: String?,
        _ context: String,
        _ runsHooks: Bool,
        _ mayShare: Bool,
        _ access: HomeAccess,
        _ watch: WriteWatch?,
        _ body: (BatchJob) throws -> Void,
        _ rolledBack: @escaping () -> Void
    ) throws -> ChangeSet {
        var done: ChangeSet?
        try withoutActuallyEscaping(body) { body in
            try write(for: { context }, mayShare: mayShare, access: access) { [self] connection in
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
                var commits = [commit]
                var tables = job.tables
                if runsHooks,
                    let (following, others) = try runCommitHooks(job.sequence, job.changes, [:], author, on: connection)
                {
                    commits.append(following)
                    tables.formUnion(others)
                }
                layers.announce(commits.map { CommitRecord($0, schema) })
                return tables.sorted()
            } ended: { isCommitted in
                if !isCommitted { rolledBack() }
            }
        }
        // A write that ends without an error always sets `done`.
        return done!
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
