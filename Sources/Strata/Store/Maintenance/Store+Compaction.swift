extension Store {
    /// The number of pages that one transaction returns: 2 MiB with pages of the usual size.
    static let compactedAtOnce: Int64 = 500

    /// Returns free pages to the file system. Returns the number of pages.
    ///
    /// A file without the mode for portions is written again as a whole, which gives it this mode.
    func compact(_ cancellation: Cancellation, _ progress: (StoreProgress) -> Void) throws -> (pages: Int, size: Int) {
        try checkWritable()
        let before = try reading { connection, _ in try FilePages(on: connection) }
        let freed: Int
        if before.hasPortions {
            freed = try compactInPortions(before.free, cancellation, progress)
        } else {
            guard isOwnedForWriting else {
                throw StrataError(
                    .invalidState,
                    "The database pool belongs to the caller, and its file does not return pages in portions. Run "
                        + "`PRAGMA auto_vacuum = INCREMENTAL` and `VACUUM` on the pool once."
                )
            }
            progress(StoreProgress(completedPages: 0, totalPages: before.all))
            try rewrite(cancellation)
            progress(StoreProgress(completedPages: before.all, totalPages: before.all))
            let after = try reading { connection, _ in try FilePages(on: connection) }
            freed = max(before.all - after.all, 0)
        }
        try copyJournal()
        return (freed, freed * before.pageSize)
    }

    /// Each portion is a transaction, so that other writers come between. The work ends when it has returned as many
    /// pages as were free at its beginning, even if others free further pages all the time.
    private func compactInPortions(
        _ total: Int,
        _ cancellation: Cancellation,
        _ progress: (StoreProgress) -> Void
    ) throws -> Int {
        var freed = 0
        while freed < total {
            try cancellation.check()
            let returned = try compactPortion(min(Self.compactedAtOnce, Int64(total - freed)))
            if returned == 0 { break }
            freed += returned
            progress(StoreProgress(completedPages: freed, totalPages: total))
        }
        // Other writers may have used some of the pages meanwhile.
        if freed < total { progress(StoreProgress(completedPages: freed, totalPages: freed)) }
        return freed
    }

    private func compactPortion(_ limit: Int64) throws -> Int {
        var returned = 0
        try write { connection in
            let before = try FilePages(on: connection)
            try connection.execute("PRAGMA incremental_vacuum(\(limit))")
            returned = before.all - (try FilePages(on: connection)).all
            return []
        }
        return returned
    }

    /// Writes the whole file again without its free pages. From then on, SQLite can return free pages in portions.
    ///
    /// Other connections read meanwhile and do not write.
    private func rewrite(_ cancellation: Cancellation) throws {
        try maintain { connection, turn in
            // Another call may have written the file meanwhile.
            guard try !FilePages(on: connection).hasPortions else { return }
            // The mode of the file changes with the next VACUUM.
            try connection.execute("PRAGMA auto_vacuum = INCREMENTAL")
            let vacuum = { try cancellation.interrupting(connection) { try connection.execute("VACUUM") } }
            if let turn { try turn.begin(vacuum) } else { try vacuum() }
        }
    }
}

/// The pages of a store's file, in the snapshot or transaction of a connection.
struct FilePages {
    /// The number of all pages.
    let all: Int
    /// The number of pages without content.
    let free: Int
    /// The size of a page in bytes.
    let pageSize: Int
    /// Whether SQLite can return free pages in portions. See https://www.sqlite.org/pragma.html#pragma_auto_vacuum
    let hasPortions: Bool

    init(on connection: Connection) throws {
        func read(_ name: String) throws -> Int { Int(try connection.integer("PRAGMA main.\(name)") ?? 0) }
        all = try read("page_count")
        free = try read("freelist_count")
        pageSize = try read("page_size")
        hasPortions = try read("auto_vacuum") == 2
    }
}
