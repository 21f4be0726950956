public import Foundation

/// Care for the file of a running store.
extension ContextStack {
    /// Copies the committed state of the store into a file, while other tasks and processes read and write.
    ///
    /// ```swift
    /// try await stack.backup(to: url) { print($0.fraction) }
    /// ```
    ///
    /// The copy is the state at the moment of the call. It is one file, a store with a separate fingerprint, which can
    /// be opened to read or to write. It accepts the ids that the original created before the copy, but not the
    /// original's history tokens. Operations that run during the backup are ready to run in the copy, and the copy does
    /// not contain the workers of the original. Unsaved changes of contexts are not part of it.
    ///
    /// The destination gets its name when the copy is complete and on the disk. If the process ends before, a temporary
    /// file beside the destination remains, whose name begins with the destination's name and `.strata-backup-`. The
    /// next backup to the same destination removes it. The copy has the permissions of the store.
    ///
    /// During the backup, the journal (`-wal`) of the store keeps all commits, because the copy reads an old state.
    ///
    /// - Isolation: callable from anywhere; a separate thread waits for the disk. ``close()`` waits for the end of the
    ///   backup.
    /// - Parameters:
    ///   - url: the file. Its folder must exist.
    ///   - isReplacing: whether an existing file is replaced. It must not be an open database.
    ///   - progress: receives the number of copied pages, on any thread.
    /// - Throws: ``StrataError`` with `cannotOpen` if the file exists or cannot be created, `diskFull`, `damagedStore`,
    ///   `closed`; `CancellationError` if the task is cancelled. Then an existing file is unchanged.
    /// - Complexity: O(pages of the file).
    public func backup(
        to url: URL,
        replacing isReplacing: Bool = false,
        progress: (@Sendable (StoreProgress) -> Void)? = nil
    ) async throws {
        let statements = core.engine.schema.commitHooks.flatMap { $0.type.copyStatements }
        try await maintain { store, cancellation in
            try store.make(
                StoreCopy(
                    destination: url,
                    isReplacing: isReplacing,
                    statements: statements,
                    cancellation: cancellation,
                    progress: progress
                )
            )
        }
    }

    /// Returns the free pages of the store to the file system, so that the file becomes smaller.
    ///
    /// Each portion of 500 pages is a short transaction, and other writers commit between portions. If a reader uses an
    /// old state, the file gets its new size when the reader has ended and a later commit has copied the journal.
    ///
    /// A store that an earlier version of Strata has created does not return pages in portions:
    /// ``StoreStatistics/compactsInPortions`` is false. The first call writes such a file again as a whole, with
    /// SQLite's `VACUUM`, and later calls work in portions. This first call needs free disk space of up to twice the
    /// size of the store. Readers continue, but commits wait for its end, and throw `busy` in other processes if it
    /// takes longer than their `busyTimeout`.
    ///
    /// - Isolation: callable from anywhere; a separate thread waits for the disk. Not inside a block of
    ///   ``write(ifChanged:_:)``, which may hold the writer.
    /// - Parameter progress: receives the number of returned pages, on any thread.
    /// - Returns: the size of the returned pages in bytes.
    /// - Throws: ``StrataError`` with `readOnly`, `busy`, `diskFull`, `closed`; `invalidState` for a caller's pool
    ///   whose file does not return pages in portions; `CancellationError` if the task is cancelled. Returned pages
    ///   stay returned.
    /// - Complexity: O(free pages); in the first call for a store of an earlier version, O(pages of the file).
    @discardableResult
    public func compact(progress: (@Sendable (StoreProgress) -> Void)? = nil) async throws -> Int {
        try await maintain { store, cancellation in
            try store.compact(cancellation) { progress?($0) }.size
        }
    }

    /// Looks for faults in the committed state of the store. An empty array means that it has none.
    ///
    /// The check verifies the file with SQLite's `PRAGMA integrity_check`, the relationships, the unique values, the
    /// bytes outside of rows, the history, and the queues. It reads one state, and other tasks and processes continue;
    /// meanwhile the journal (`-wal`) keeps all commits. It changes nothing, and does not verify the words of full-text
    /// indexes.
    ///
    /// - Isolation: callable from anywhere; a separate thread waits for the disk.
    /// - Parameter limit: the greatest number of findings of each kind for each table, at least 1.
    /// - Throws: ``StrataError`` with `closed`, or if the file cannot be read at all; `CancellationError` if the task
    ///   is cancelled.
    /// - Complexity: O(rows), and a look-up for each relationship of a row.
    public func check(limit: Int = 100) async throws -> [StoreFinding] {
        try await maintain { store, cancellation in
            try store.reading { connection, newest in
                try cancellation.interrupting(connection) {
                    var check = StoreCheck(
                        connection,
                        store.schema.entities.map { CheckedTable($0.info, store.schema) },
                        rules: store.schema.consistencyRules,
                        newest: newest,
                        limit: max(limit, 1)
                    )
                    try check.run()
                    return check.findings
                }
            }
        }
    }

    /// Measures the large tables, so that SQLite chooses the best index for each query.
    ///
    /// Tables with an index and at least 5,000 rows are measured, except the queues of pipelines. SQLite reads 400 rows
    /// of each index. Connections that are open take the results into account when they are opened again.
    ///
    /// ``close()`` does the same for large tables without measurements, and for tables that had fewer than 20,000 rows
    /// and have grown tenfold, unless another process is writing. So this call is for stacks that stay open for long.
    ///
    /// - Isolation: callable from anywhere; a separate thread waits for the disk. Not inside a block of
    ///   ``write(ifChanged:_:)``, which may hold the writer.
    /// - Throws: ``StrataError`` with `readOnly`, `busy`, `diskFull`, `closed`.
    /// - Complexity: O(models).
    public func optimize() async throws {
        try await maintain { store, _ in try store.optimize() }
    }

    /// Measures the store: the sizes and counts of its tables and indexes, its free pages, its journal and its history.
    ///
    /// - Isolation: callable from anywhere; a separate thread waits for the disk.
    /// - Throws: ``StrataError`` with `closed`, `damagedStore`; `CancellationError` if the task is cancelled.
    /// - Complexity: reads all pages of the file.
    public func statistics() async throws -> StoreStatistics {
        try await maintain { try $0.statistics($1) }
    }

    /// Runs work on a separate thread, with a flag that the cancellation of the task sets.
    func maintain<Value: Sendable>(
        _ body: @escaping @Sendable (Store, Cancellation) throws -> Value
    ) async throws -> Value {
        let core = core
        try core.admit()
        defer { core.leave() }
        let cancellation = Cancellation()
        do {
            return try await withTaskCancellationHandler {
                try await Disk.run { try body(core.engine, cancellation) }
            } onCancel: {
                cancellation.cancel()
            }
        } catch let error as PassedError {
            throw error.error
        } catch let error as StrataError {
            throw error.passed
        }
    }
}

extension Schema {
    /// The rules of engines for the rows of their models.
    var consistencyRules: [(subject: String, rule: ConsistencyRule)] {
        commitHooks.flatMap { entity, hook in
            hook.consistencyRules.map { (subject: entities[entity].info.name, rule: $0) }
        }
    }
}
