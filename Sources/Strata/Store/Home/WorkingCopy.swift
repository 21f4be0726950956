import Foundation
import GRDB

/// The working copy of a store that several machines share: the SQLite file on which this node runs.
///
/// The home has the truth. So a copy that is missing, damaged or too old is made again from it.
struct WorkingCopy {
    let home: any StoreHome
    let state: HomeState
    let url: URL
    let node: UUID
    let schema: Schema
    let migration: Migration
    /// Nil without metrics.
    var metrics: HomeMetrics? = nil

    // MARK: Checks

    /// The program's models and migration steps must be those of the home. Otherwise a migration would change the copy
    /// alone.
    ///
    /// - Throws: `schemaMismatch` or `newerStore`.
    func checkDescription() throws {
        let found = state.description
        guard found.format <= StoreFile.formatVersion else {
            throw StrataError(
                .newerStore,
                "The store of \(home.name) was written by a newer version of Strata (format \(found.format), this version "
                    + "supports \(StoreFile.formatVersion)). Use that version."
            )
        }
        guard found.version <= migration.version else {
            throw StrataError(
                .newerStore,
                "The models of \(home.name) have version \(found.version), these have \(migration.version). Use the newer "
                    + "program."
            )
        }
        guard found.schema == schema.text, found.version == migration.version, found.format == StoreFile.formatVersion
        else {
            throw StrataError(
                .schemaMismatch,
                "The store of \(home.name) has other models than this program. All programs that share a store open the "
                    + "same models."
            )
        }
        guard Set(found.steps) == Set(migration.steps.map(\.name)) else {
            throw StrataError(
                .schemaMismatch,
                "The store of \(home.name) was created with other migration steps than this program has. A store with a "
                    + "home cannot be migrated."
            )
        }
    }

    /// Makes the copy, unless there is one that continues from the home's state.
    ///
    /// A copy that does not continue is set aside under another name first, because it may contain commits that the
    /// home has lost.
    func makeIfNeeded(_ log: (String) -> Void) throws {
        let isRebuilt = TemporaryCopy.status(url.path) != nil
        if isRebuilt {
            guard let reason = try obstacle() else { return }
            log("the working copy '\(url.path)' is made again from \(home.name): \(reason)")
            try setAside()
        }
        if state.position == .start, try makeFirst() { return }
        let progress = CopyProgress(migration.progress, metrics, expected: state.rowCount)
        try make { try fill($0, progress) }
        progress.finish(isRebuilt: isRebuilt)
    }

    /// The reason why an existing copy cannot continue; nil if it can.
    ///
    /// - Throws: if the file is not a copy of this home. It stays as it is.
    private func obstacle() throws -> String? {
        do {
            _ = try StoreFile.inspect(url)
            let database = try DatabaseQueue(path: url.path, configuration: Self.configuration)
            defer { try? database.close() }
            return try database.inDatabase { db in
                guard let pointer = db.sqliteConnection else { throw Store.closedError }
                let connection = Connection(pointer, fingerprint: state.fingerprint)
                defer { connection.finalize() }
                return try obstacle(on: connection)
            }
        } catch {
            // The file is a store, or was one.
            let error = StrataError(grdb: error)
            guard error.code == .damagedStore else { throw error }
            return error.message
        }
    }

    private func obstacle(on connection: Connection) throws -> String? {
        let stored = try StoreState(on: connection)
        guard stored.isStore, stored.isWorkingCopy else { throw Self.notACopy(url) }
        let record = try CopyRecord.read(on: connection)
        guard record.home == home.name else { throw Self.otherHome(url, record.home, home.name) }
        guard record.position != CopyRecord.damaged else { return "its rows differ from those of the home" }
        guard stored.record?.description == state.description.schema,
            case .ready = try StoreSchema.examine(schema, migration, on: connection)
        else { return "its models differ from those of the home" }
        do {
            _ = try home.transactions(after: record.position, limit: 1)
            return nil
        } catch let error as StrataError where error.code == .homeExpired || error.code == .homeBehind {
            return error.message
        }
    }

    private func setAside() throws {
        let place = "\(url.path)-old-\(UUID().uuidString.prefix(8))"
        for suffix in ["-wal", "-shm", ""] where TemporaryCopy.status(url.path + suffix) != nil {
            guard rename(url.path + suffix, place + suffix) == 0 else {
                throw StrataError(
                    .cannotOpen,
                    "The working copy '\(url.path)' cannot be renamed: \(String(cString: strerror(errno)))."
                )
            }
        }
    }

    // MARK: Making

    /// Makes the copy of a home without transactions, and publishes the first one. Returns false if another node was
    /// faster.
    private func makeFirst() throws -> Bool {
        guard try home.lock(after: .start, limit: 1).isEmpty else {
            home.unlock()
            return false
        }
        do {
            try make { connection in
                let capture = RowCapture(of: state.description.tables.map(\.name), on: connection)
                try capture.start()
                // The row is equal in all copies, because it came from one of them.
                try connection.execute(HistorySQL.insertFirst, [.real(Date().timeIntervalSinceReferenceDate)])
                let first = HomeTransaction(after: .start, by: node, try capture.finish())
                try home.publish(first)
                return first.position
            }
            return true
        } catch {
            home.unlock()
            throw error
        }
    }

    /// Copies all rows of the home.
    private func fill(_ connection: Connection, _ progress: CopyProgress) throws -> HomePosition {
        let columns = state.description.columns
        return try home.copy { table, rows in
            guard let columns = columns[UTF8Text(table)] else { return }
            let names = columns.map(\.quotedIdentifier).joined(separator: ", ")
            let parameters = columns.map { _ in "?" }.joined(separator: ", ")
            let sql = "INSERT INTO \(table.quotedIdentifier) (\(names)) VALUES (\(parameters))"
            for row in rows { try connection.execute(sql, row) }
            progress.advance(rows.count, of: table)
        }
    }

    /// Makes the file under a temporary name, and puts it into its place.
    ///
    /// - Parameter fill: writes the rows, and returns the position that they have.
    private func make(_ fill: (Connection) throws -> HomePosition) throws {
        TemporaryCopy.removeDead(for: url.path)
        let file = try TemporaryCopy(for: url.path, like: nil)
        do {
            let database = try DatabaseQueue(path: file.path, configuration: Self.configuration)
            try database.inDatabase { db in
                guard let pointer = db.sqliteConnection else { throw Store.closedError }
                let connection = Connection(pointer, fingerprint: state.fingerprint)
                defer { connection.finalize() }
                // A file that is not complete is discarded, so it needs neither a journal nor flushes.
                try connection.execute("PRAGMA synchronous = OFF")
                _ = try connection.value("PRAGMA journal_mode = MEMORY")
                try StoreOpening.writeHeader(on: db)
                try connection.execute("BEGIN IMMEDIATE")
                try StoreSchema.createTables(schema, on: connection, fingerprint: Int64(state.fingerprint))
                let record = CopyRecord(home: home.name, position: .start)
                try record.create(on: connection)
                try CopyRecord.move(to: try fill(connection), on: connection)
                try StoreSchema.record(
                    schema.description,
                    migration,
                    steps: migration.steps.map(\.name),
                    on: connection
                )
                try connection.execute("COMMIT")
            }
            try database.close()
            try file.put(replacing: false)
        } catch let error as StrataError where error.reason == .fileExists {
            // Another process on this machine has made the copy meanwhile.
            file.discard()
        } catch {
            file.discard()
            throw error
        }
    }

    private static var configuration: Configuration {
        var configuration = Configuration()
        configuration.label = "strata.copy"
        configuration.foreignKeysEnabled = false
        configuration.allowsUnsafeTransactions = true
        configuration.busyMode = .timeout(5)
        return configuration
    }

    // MARK: Errors

    private static func notACopy(_ url: URL) -> StrataError {
        StrataError(
            .schemaMismatch,
            "'\(url.path)' is a store without a home, and was left as it is. Name another file for the working copy."
        )
    }

    private static func otherHome(_ url: URL, _ found: String, _ wanted: String) -> StrataError {
        StrataError(
            .schemaMismatch,
            "'\(url.path)' is a working copy of \(found), not of \(wanted), and was left as it is. Name another file, or "
                + "remove this one."
        )
    }
}
