import CStrataSQLite
import Foundation
import GRDB

/// The working copy of a store that several machines share: the SQLite file on which this node runs.
///
/// The home has the truth. So a copy that is missing, damaged or too old is made again from it.
struct WorkingCopy {
    let home: any StoreHome
    /// The state of the home when it was opened.
    let state: HomeState
    /// The description of this program's models.
    let proposal: HomeDescription
    /// The store of the home as this program uses it: that of the home, or the part of it that an older program knows.
    let description: HomeDescription
    let url: URL
    let node: UUID
    let schema: Schema
    let migration: Migration
    let cancellation: Cancellation
    /// The seconds to wait for other connections to the copy.
    let busyTimeout: TimeInterval
    let telemetry: Telemetry
    /// Nil without metrics.
    let metrics: HomeMetrics?

    // MARK: Checks

    /// Whether the store of the home must be migrated to this program's models. Then the home has the models of an older
    /// program.
    ///
    /// - Throws: `newerStore` if the home has the models of a newer program, and this one cannot continue;
    ///   `schemaMismatch`.
    func needsMigration() throws -> Bool {
        let found = state.description
        // The home has the models of a newer program, and this one uses a part of the store.
        if description != found { return false }
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
        guard found.format == StoreFile.formatVersion else {
            throw StrataError(
                .schemaMismatch,
                "The store of \(home.name) was written by an earlier version of Strata (format \(found.format)). Export it "
                    + "with that version."
            )
        }
        let unknown = found.steps.filter { name in !proposal.steps.contains(name) }
        guard unknown.isEmpty else {
            throw StrataError(
                .newerStore,
                "The store of \(home.name) has run the steps \(unknown.map { "'\($0)'" }.joined(separator: ", ")), which "
                    + "this migration does not list. Use the newer program."
            )
        }
        if found.schema == proposal.schema, found.version == proposal.version,
            found.steps.count == proposal.steps.count
        {
            return false
        }
        guard !found.hadModels(of: proposal) else {
            throw StrataError(
                .newerStore,
                "A newer program has migrated the store of \(home.name), which had the models of this program before. "
                    + "Programs with these models cannot continue. Use the newer program. To return to these models on "
                    + "purpose, raise `Migration(version:)`."
            )
        }
        return true
    }

    /// Makes the copy with the models of ``description``, unless there is one that continues from the home's state.
    ///
    /// A copy that does not continue is set aside under another name first, because it may contain commits that the
    /// home has lost. If only its models are old, it is removed.
    ///
    /// Called with the ``CopyLock``, which the caller keeps until the copy is open.
    func makeIfNeeded() throws {
        let isRebuilt = TemporaryCopy.status(url.path) != nil
        var isReplaced = false
        if isRebuilt {
            guard let obstacle = try self.obstacle() else { return }
            if obstacle.remedy != .setAside { try requireUnused() }
            if obstacle.remedy == .change { return }
            telemetry.logger?.warning(
                "the working copy '\(url.path)' is made again from \(home.name): \(obstacle.reason)"
            )
            isReplaced = obstacle.remedy == .replace
        }
        // Without a copy, there may be a journal from a process that was killed here. SQLite would apply it to the new
        // copy.
        let place = try setAside()
        if isReplaced { for suffix in Self.suffixes { unlink(place + suffix) } }
        if try state.position != .start || !makeFirst() {
            let progress = CopyProgress(migration.progress, metrics, expected: state.rowCount)
            try make(progress) { try fill($0, progress) }
            progress.finish(isRebuilt: isRebuilt)
        }
    }

    /// Why an existing copy cannot continue as it is.
    private struct Obstacle {
        enum Remedy {
            /// The copy is made again, and the old file is kept.
            case setAside
            /// The copy is made again. It has the models of another program, and no commits that the home lacks.
            case replace
            /// Definitions that concern no rows are changed in the copy, when it is opened.
            case change
        }

        let reason: String
        var remedy = Remedy.setAside
    }

    /// The reason why an existing copy cannot continue as it is; nil if it can.
    ///
    /// - Throws: if the file is not a copy of this home. It stays as it is.
    private func obstacle() throws -> Obstacle? {
        do {
            _ = try StoreFile.inspect(url)
            return try whileMigrated {
                let database = try DatabaseQueue(path: url.path, configuration: Self.configuration)
                defer { try? database.close() }
                return try database.inDatabase { db in
                    guard let pointer = db.sqliteConnection else { throw Store.closedError }
                    let connection = Connection(pointer, fingerprint: state.fingerprint)
                    defer { connection.finalize() }
                    return try obstacle(on: connection)
                }
            }
        } catch {
            // The file is a store, or was one.
            let error = StrataError(grdb: error)
            guard error.code == .damagedStore else { throw error }
            return Obstacle(reason: error.message)
        }
    }

    private func obstacle(on connection: Connection) throws -> Obstacle? {
        let stored = try StoreState(on: connection)
        guard stored.isStore, stored.isWorkingCopy else { throw Self.notACopy(url) }
        let record = try CopyRecord.read(on: connection)
        guard record.home == home.name else { throw Self.otherHome(url, record.home, home.name) }
        guard record.position != CopyRecord.damaged else {
            return Obstacle(reason: "its rows differ from those of the home")
        }
        do {
            _ = try home.transactions(after: record.position, limit: 1)
        } catch let error as StrataError where error.code == .homeExpired || error.code == .homeBehind {
            return Obstacle(reason: error.message)
        }
        return try obstacleOfModels(stored, on: connection)
    }

    /// Compares the models of the copy with those of ``description``.
    ///
    /// - Throws: `schemaMismatch` if another program has changed the tables.
    private func obstacleOfModels(_ stored: StoreState, on connection: Connection) throws -> Obstacle? {
        let other = Obstacle(reason: "its models are those of another program", remedy: .replace)
        guard let record = stored.record, record.format == description.format,
            try CopyRecord.generation(on: connection) == description.generation
        else { return other }
        let models = try SchemaDescription(parsing: record.description)
        if !StoreSchema.isUnchanged(stored.entries.own(models), record) {
            try StoreDifference(stored, models, on: connection).check()
        }
        guard record.version <= description.version, record.steps.allSatisfy({ description.steps.contains($0) }) else {
            return other
        }
        if record.description.hasSameBytes(as: description.schema) { return nil }
        guard description.schema.hasSameBytes(as: proposal.schema) else { return other }
        let changes = try MigrationPlanner(from: models, to: schema, migration).changes
        let pending = self.pending(from: models, changes, steps: record.steps, version: record.version)
        return pending.concernsNoRows(schema) ? Obstacle(reason: "its indexes are old", remedy: .change) : other
    }

    /// The changes from other models to those of this program.
    func pending(
        from models: SchemaDescription,
        _ changes: SchemaChanges,
        steps: [String],
        version: Int64
    ) -> PendingMigration {
        PendingMigration(
            format: StoreFile.formatVersion,
            old: models,
            new: schema.description,
            changes: changes,
            steps: migration.steps.filter { !steps.contains($0.name) },
            versions: (stored: version, new: migration.version),
            isRecorded: false
        )
    }

    /// Repeats a read of the copy while another process of this machine migrates it.
    private func whileMigrated<Value>(_ body: () throws -> Value) throws -> Value {
        let end = ContinuousClock.now + .seconds(min(migration.waitLimit, 1e9))
        while true {
            do { return try body() } catch {
                guard StrataError(grdb: error).code == .busy, ContinuousClock.now < end else { throw error }
                try cancellation.check()
                usleep(20_000)
            }
        }
    }

    private static let suffixes = ["", "-wal", "-shm", "-journal"]

    /// Gives the copy, or the rest of one, another name. Returns the path.
    ///
    /// The file itself is first. A file without its journal would be an older state, or a mixture of two, that looks
    /// like a copy. A journal without its file gets another name before the next copy is made.
    private func setAside() throws -> String {
        let place = "\(url.path)-old-\(UUID().uuidString.prefix(8))"
        for suffix in Self.suffixes where TemporaryCopy.status(url.path + suffix) != nil {
            guard rename(url.path + suffix, place + suffix) == 0 else {
                throw StrataError(
                    .cannotOpen,
                    "The working copy '\(url.path)' cannot be renamed: \(String(cString: strerror(errno)))."
                )
            }
        }
        return place
    }

    // MARK: Other connections

    /// Throws `busy` if another connection has the copy open. A program with other models would continue on a file
    /// without a name, or on tables that it does not know.
    private func requireUnused() throws { try alone { _ in } }

    /// Runs a body in a transaction that admits no other connection.
    ///
    /// - Parameter body: may end the transaction. Otherwise it is rolled back.
    /// - Throws: `busy` if another connection is open for longer than the busy timeout.
    func alone<Value>(_ body: (Connection) throws -> Value) throws -> Value {
        let pointer = try StoreCopy.connect(url.path)
        defer { sqlite3_close(pointer) }
        let connection = Connection(pointer, fingerprint: state.fingerprint)
        defer { connection.finalize() }
        sqlite3_busy_timeout(pointer, Int32(min(max(busyTimeout, 0) * 1000, 60_000)))
        try connection.beginAlone(
            otherwise: "Another process has the working copy '\(url.path)' open, which has other models. End that "
                + "process first, or name a separate copy for this program."
        )
        defer {
            if connection.isInTransaction { try? connection.execute("ROLLBACK") }
        }
        return try body(connection)
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
            try make(nil) { connection in
                let capture = RowCapture(of: description.tables.map(\.name), on: connection)
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

    /// Copies the rows of the home. The columns that this program knows are the first ones of each table. The tables do
    /// not have indexes yet.
    private func fill(_ connection: Connection, _ progress: CopyProgress) throws -> HomePosition {
        let tables = description.tablesByName
        return try home.copy { table, rows in
            // Tables that this program does not know can be large too.
            try cancellation.check()
            guard let columns = tables[UTF8Text(table)]?.columns.map(\.name) else { return }
            let names = columns.map(\.quotedIdentifier).joined(separator: ", ")
            let parameters = columns.map { _ in "?" }.joined(separator: ", ")
            let statement = try connection.statement(
                "INSERT INTO \(table.quotedIdentifier) (\(names)) VALUES (\(parameters))"
            )
            for row in rows {
                try statement.run(row.count == columns.count ? row : Array(row.prefix(columns.count))) { _ in }
            }
            progress.advance(rows.count, of: table)
        }
    }

    /// Creates the indexes of all tables. SQLite sorts the values of existing rows, which takes less time than to find
    /// the place of each.
    private func addIndexes(
        of models: SchemaDescription,
        _ connection: Connection,
        _ progress: CopyProgress?
    ) throws {
        try cancellation.interrupting(connection) {
            for table in models.tables {
                progress?.beginIndexing(table, of: models)
                try StoreSchema.createIndexes(of: table, on: connection)
                progress?.endIndexing(table)
            }
        }
    }

    /// Makes the file under a temporary name, and puts it into its place.
    ///
    /// - Parameters:
    ///   - progress: reports the indexes of tables with rows; nil for empty tables.
    ///   - fill: writes the rows, and returns the position that they have.
    private func make(_ progress: CopyProgress?, _ fill: (Connection) throws -> HomePosition) throws {
        TemporaryCopy.removeDead(for: url.path)
        let file = try TemporaryCopy(for: url.path, like: nil)
        let models = try SchemaDescription(parsing: description.schema)
        do {
            let database = try DatabaseQueue(path: file.path, configuration: Self.configuration)
            try database.inDatabase { db in
                guard let pointer = db.sqliteConnection else { throw Store.closedError }
                let connection = Connection(pointer, fingerprint: state.fingerprint)
                defer { connection.finalize() }
                // A file that is not complete is discarded, so it needs neither a journal nor flushes.
                try connection.execute("PRAGMA synchronous = OFF")
                _ = try connection.value("PRAGMA journal_mode = MEMORY")
                try StoreOpening.writeHeader(ifEmpty: db, at: file.path)
                try connection.execute("BEGIN IMMEDIATE")
                try StoreSchema.createTables(
                    of: description,
                    models,
                    on: connection,
                    fingerprint: Int64(state.fingerprint)
                )
                let record = CopyRecord(home: home.name, position: .start)
                try record.create(on: connection, generation: description.generation)
                try CopyRecord.move(to: try fill(connection), on: connection)
                try addIndexes(of: models, connection, progress)
                try StoreSchema.record(
                    models,
                    version: description.version,
                    steps: description.steps,
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

    /// Another node has migrated the home since it was opened. The caller opens it again.
    var migratedMeanwhile: StrataError {
        StrataError(
            .schemaMismatch,
            "Another program has migrated the store of \(home.name) at this moment. Open the store again."
        )
    }

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

extension Connection {
    /// Begins a transaction that admits no other connection. In this mode, SQLite needs the whole file, so it refuses
    /// the transaction as long as another connection is open, even if that connection does nothing.
    ///
    /// - Parameter message: the text of the error `busy`, if another connection is open for longer than the busy timeout.
    func beginAlone(otherwise message: @autoclosure () -> String) throws {
        do {
            try execute("PRAGMA locking_mode = EXCLUSIVE")
            try execute("BEGIN EXCLUSIVE")
        } catch let error as StrataError where error.code == .busy {
            throw StrataError(.busy, message(), underlying: error)
        }
    }
}
