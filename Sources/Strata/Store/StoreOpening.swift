import Foundation
import GRDB
import Logging

/// Opens the database of a store. It creates a new store, migrates an old one, and refuses all other databases.
struct StoreOpening {
    let schema: Schema
    let migration: Migration
    let cancellation: Cancellation
    let telemetry: Telemetry
    /// The working copy that is opened; nil for a store without a home.
    var copy: WorkingCopy?

    struct Opened {
        let writer: StoreWriter
        /// Whether no process can change the file.
        var isUnchangeable = false
        let identity: StoreIdentity
        /// The number of the last commit.
        var sequence: Int64
        /// The models of the store that the stack does not open; nil if it opens all models.
        var unopened: UnopenedModels?
    }

    /// Opens the working copy of a store that several machines share. Makes the copy, and migrates the store of the home,
    /// if necessary.
    ///
    /// After an error, the home stays open, so that the caller can try again with it.
    func open(_ home: any StoreHome, copy url: URL, _ configuration: StoreConfiguration) throws -> Opened {
        try StrataError.require(
            !configuration.isReadOnly && !schema.isPartial,
            "A store with a home is opened with all of its models, and for writing. To read a working copy alone, open "
                + "its file."
        )
        try migration.check()
        let metrics = telemetry.metricsSource.map { HomeMetrics($0) }
        var measured = home
        if let metrics { measured = MeasuredHome(home, metrics) }
        let proposal = HomeDescription(schema, migration)
        let node = UUID()
        let limit = max(migration.waitLimit, configuration.busyTimeout)
        let lock = try CopyLock.take(for: url.path, within: limit, cancellation)
        defer { lock.end() }
        while true {
            let state = try connect(to: measured, proposal, configuration)
            let copy = WorkingCopy(
                home: measured,
                state: state,
                proposal: proposal,
                description: state.description.part(for: proposal) ?? state.description,
                url: url,
                node: node,
                schema: schema,
                migration: migration,
                cancellation: cancellation,
                busyTimeout: configuration.busyTimeout,
                telemetry: telemetry,
                metrics: metrics
            )
            do {
                if try copy.needsMigration() {
                    try copy.migrate()
                } else {
                    try copy.makeIfNeeded()
                    var opening = self
                    opening.copy = copy
                    return try catchUp(try opening.open(url, configuration))
                }
            } catch let error as StrataError where error.code == .schemaMismatch {
                // Another node may have migrated the store meanwhile.
                let found = try connect(to: measured, proposal, configuration)
                guard found.description != state.description else { throw error }
            }
        }
    }

    /// Brings a working copy up to the state that the home has, so that the stack begins with it. After a crash, the copy
    /// may lack commits that this machine has made.
    private func catchUp(_ opened: Opened) throws -> Opened {
        var opened = opened
        do {
            try opened.writer.follower?.catchUpToNewest { try cancellation.check() }
            opened.sequence = try opened.writer.maintain { connection, _ in try connection.sequence() }
        } catch {
            try? opened.writer.close()
            throw error
        }
        return opened
    }

    /// Connects to a home, for a store of this schema.
    private func connect(
        to home: any StoreHome,
        _ proposal: HomeDescription,
        _ configuration: StoreConfiguration
    ) throws -> HomeState {
        try home.open(proposal, busyTimeout: configuration.busyTimeout, synchronous: configuration.synchronous)
    }

    /// Opens a file that Strata owns, or creates it.
    ///
    /// A refused file stays unchanged. Nothing is written before the file is known to be a store of these models, or
    /// one that can be migrated to them.
    ///
    /// - Parameter isTemporary: whether the data does not outlive the process, and no other process opens the file.
    func open(_ url: URL, _ configuration: StoreConfiguration, isTemporary: Bool = false) throws -> Opened {
        var settings = Configuration()
        settings.label = "strata"
        settings.foreignKeysEnabled = false
        settings.busyMode = busyMode(for: configuration.busyTimeout)
        settings.allowsUnsafeTransactions = true
        // No other program reads the declarations of a temporary store.
        let models = isTemporary || schema.isPartial ? nil : try ModelRecord(schema)
        return try whileBusy(for: configuration.busyTimeout) {
            if try StoreFile.inspect(url), schema.isPartial { throw StoreSchema.noStoreForPart }
            let queue = try DatabaseQueue(path: url.path, configuration: settings)
            return try queue.inDatabase { db in
                try db.setCacheSize(configuration.writerCacheSize)
                try Self.writeHeader(ifEmpty: db, at: url.path)
                let limit = isTemporary ? nil : Self.turnLimit(busyTimeout: configuration.busyTimeout)
                return try prepare(db, queue, isOwned: true, models: models, turnLimit: limit) { connection in
                    guard try connection.value("PRAGMA journal_mode = WAL") == .text("wal") else {
                        throw StrataError(
                            .cannotOpen,
                            "'\(url.path)' is on a file system without support for SQLite's WAL mode. Name a file on "
                                + "a local disk."
                        )
                    }
                    // SQLite creates the journal at the first read in WAL mode. Read-only stacks of other processes need it
                    // as soon as this stack is open.
                    _ = try connection.value("PRAGMA schema_version")
                    // A journal that was large once is truncated to this size.
                    try connection.execute("PRAGMA journal_size_limit = \(Journal.limit)")
                    // The home has the commits that a loss of power takes from a working copy, and sends them again.
                    let durability = copy == nil ? configuration.synchronous : .normal
                    // Data that does not outlive the process need not reach a disk.
                    let synchronous = isTemporary ? "OFF" : durability.rawValue
                    try connection.execute("PRAGMA synchronous = \(synchronous)")
                }
            }
        }
    }

    /// Opens a file that Strata owns, to read it only. Nothing is created or changed.
    ///
    /// SQLite writes into an existing index of the journal (`-shm`), where readers note their snapshots. With
    /// ``StoreConfiguration/mayCreateJournal``, SQLite may also create the journal and its index while the file is
    /// open.
    func openReadOnly(_ url: URL, _ configuration: StoreConfiguration) throws -> Opened {
        var settings = Configuration()
        settings.label = "strata"
        settings.readonly = true
        settings.foreignKeysEnabled = false
        settings.busyMode = busyMode(for: configuration.busyTimeout)
        settings.allowsUnsafeTransactions = true
        return try whileBusy(for: configuration.busyTimeout) {
            let mode = try StoreFile.inspectForReading(url, mayCreateJournal: configuration.mayCreateJournal)
            let isUnchangeable = mode == .unchangeable
            var access = settings
            if mode == .temporaryJournal {
                // A read-only connection would leave the files that it has created. This connection may create files,
                // and no statement on it may write.
                access.readonly = false
                access.prepareDatabase { try $0.execute(sql: "PRAGMA query_only = 1") }
            }
            // SQLite reads a file in WAL mode without a journal only if it is called immutable. GRDB passes URIs on.
            // A build of SQLite without URIs does not find a file of this name.
            let name = isUnchangeable ? URL(fileURLWithPath: url.path).absoluteString + "?immutable=1" : url.path
            let queue = try DatabaseQueue(path: name, configuration: access)
            var opened = try queue.inDatabase { try prepare($0, queue, isOwned: true, isReadOnly: true) }
            opened.isUnchangeable = isUnchangeable
            return opened
        }
    }

    /// Makes an empty database one that is recognised as a store.
    ///
    /// Only SQLite knows whether a database is empty. If a process was killed while it created the file, the file has
    /// pages until SQLite rolls its transaction back.
    ///
    /// - Throws: `notAStore` if the database is neither empty nor a store.
    static func writeHeader(ifEmpty db: Database, at path: String) throws {
        // One transaction, so that other processes see an empty file or a store. It is deferred, because the vacuum mode
        // must be set before the first page is written. With this mode, free pages can be returned in portions.
        try db.inTransaction(.deferred) {
            if try Int64.fetchOne(db, sql: "PRAGMA application_id") == StoreFile.applicationID { return .commit }
            guard try Int64.fetchOne(db, sql: "PRAGMA page_count") == 0 else { throw StoreFile.otherProgram(path) }
            // The journal mode is not WAL yet, so the file itself has all of it.
            try db.execute(sql: "PRAGMA auto_vacuum = INCREMENTAL")
            try db.execute(sql: "PRAGMA application_id = \(StoreFile.applicationID)")
            try db.execute(sql: MigrationSQL.setFormat(StoreFile.formatVersion))
            return .commit
        }
    }

    /// Retries about every two milliseconds. SQLite's own pauses grow to a tenth of a second. A process that has waited
    /// long would then never get the lock among others that commit without a pause.
    ///
    /// Processes that run transactions of Strata also take turns: see ``WriteTurn``. The time that they wait for their
    /// turn counts.
    private func busyMode(for seconds: TimeInterval) -> Database.BusyMode {
        .callback { [cancellation] tries in
            if Checkpoints.isBrief {
                usleep(500)
                return tries < 4
            }
            guard Double(tries) * 0.002 + WriteTurn.waited < seconds, !cancellation.isCancelled, !cancellation.isLate
            else { return false }
            usleep(.random(in: 1000...3000))
            return true
        }
    }

    /// Retries while another process holds the file. SQLite does not wait by itself when it changes a new file's
    /// journal mode.
    ///
    /// A transaction seems to have no process if it ends while its journal is looked for, so this is tried again too, for
    /// a tenth of a second.
    private func whileBusy<Value>(for seconds: TimeInterval, _ body: () throws -> Value) throws -> Value {
        let end = ContinuousClock.now + Self.duration(seconds)
        let endOfDoubt = min(end, .now + .milliseconds(100))
        while true {
            do {
                return try body()
            } catch {
                if error is PassedError { throw error }
                let known = StrataError(grdb: error)
                let isInDoubt = known.reason == .unfinishedTransaction
                guard known.code == .busy || isInDoubt, .now < (isInDoubt ? endOfDoubt : end) else { throw error }
                try cancellation.check()
                usleep(2000)
            }
        }
    }

    /// The longest time to wait for the turn of a process. At least half of the time is left for SQLite's lock. If a
    /// stopped process holds the turnstile, a long `busyTimeout` must not delay the others for longer.
    static func turnLimit(busyTimeout: TimeInterval) -> Duration { min(duration(busyTimeout) / 2, .seconds(2)) }

    /// A time in seconds as a duration. Values that are not positive give zero; infinity gives about thirty years.
    private static func duration(_ seconds: TimeInterval) -> Duration {
        .seconds(seconds > 0 ? min(seconds, 1e9) : 0)
    }

    /// Compares the tables with the models, creates the tables of a new store, and migrates an old store. Runs inside
    /// the database's writer.
    ///
    /// - Parameters:
    ///   - isReadOnly: whether the store must be one of these models already, and is not changed.
    ///   - models: the declarations that the store must record; nil to leave its record as it is.
    ///   - turnLimit: the longest time that a transaction waits for the turn of its process; nil for no turns.
    ///   - setUp: prepares the connection when the store is known to be one of these models.
    func prepare(
        _ db: Database,
        _ database: any DatabaseWriter,
        isOwned: Bool,
        isReadOnly: Bool = false,
        models: ModelRecord? = nil,
        turnLimit: Duration? = nil,
        _ setUp: (Connection) throws -> Void = { _ in }
    ) throws -> Opened {
        guard let pointer = db.sqliteConnection else {
            throw StrataError(.closed, "The database pool that was passed in is closed.")
        }
        let connection = Connection(pointer, fingerprint: 0)
        defer { connection.finalize() }
        if !isReadOnly, copy == nil { try refuseWorkingCopy(connection) }
        // A store that matches the models is only read, and does not wait for writers.
        var (found, pending) = try reading(connection) {
            let condition = try StoreSchema.examine(schema, migration, on: connection)
            if isReadOnly {
                try StoreSchema.requireReadable(condition)
                return (try read(.ready, connection, ifCopied: .derive), PendingMigration?.none)
            }
            if case .outdated(let pending) = condition {
                try pending.check()
                return (Found?.none, PendingMigration?.some(pending))
            }
            if case .ready = condition, let models, try ModelRecord(on: connection) != models {
                return (Found?.none, PendingMigration?.none)
            }
            return (try read(condition, connection, ifCopied: .ignore), nil)
        }
        if let pending {
            found = try migrate(pending, models, db, connection, isOwned: isOwned)
        } else if found == nil, !isReadOnly {
            try db.inTransaction(.immediate) {
                found = try prepareTables(models, db, connection, isOwned: isOwned, backup: nil).found
                return .commit
            }
        }
        guard let found else { throw StoreIdentity.damaged }
        // If the store is migrated before this read, the next read or commit of the stack throws.
        let unopened = try schema.isPartial ? reading(connection) { try readUnopened(connection) } : nil
        try setUp(connection)
        // Guards check writes.
        for (_, hook) in schema.commitHooks where !isReadOnly {
            for statement in hook.guards { try connection.execute(statement) }
        }
        let writing = Connection(pointer, found.identity)
        // A connection has room for one trace. On a connection of the user, this is the user's trace.
        if isOwned { telemetry.trace(writing) }
        let turn = turnLimit.flatMap { limit in writing.path.flatMap { WriteTurn(beside: $0, limit: limit) } }
        let writer = StoreWriter(
            database,
            isOwned: isOwned,
            isReadOnly: isReadOnly,
            connection: Exclusive(writing),
            turn: turn.map { Exclusive($0) },
            home: try copy.map { Exclusive(try link($0, to: writing, database.configuration)) },
            blockWatch: BlockWatch(telemetry.logger)
        )
        return Opened(writer: writer, identity: found.identity, sequence: found.sequence, unopened: unopened)
    }

    /// Joins the writer with the home of its working copy.
    private func link(
        _ copy: WorkingCopy,
        to connection: Connection,
        _ configuration: Configuration
    ) throws -> HomeLink {
        let description = copy.description
        let path = copy.url.path
        let follower = try HomeFollower(copy.home, path: path, configuration, description, metrics: copy.metrics)
        let reporter = NodeReporter(
            follower,
            node: copy.node,
            name: NodeReporter.name(ofCopy: path),
            copy.metrics,
            telemetry.logger
        )
        // The name is for people. It is recorded at the next opening if another process is writing now.
        try? CopyRecord.setNode(reporter.name, on: connection)
        return HomeLink(follower, reporter, description, node: copy.node, on: connection)
    }

    /// Commits to a working copy would be lost if the home did not get them.
    private func refuseWorkingCopy(_ connection: Connection) throws {
        guard try CopyRecord.exists(on: connection) else { return }
        let record = try CopyRecord.read(on: connection)
        throw StrataError(
            .schemaMismatch,
            "The file is a working copy of \(record.home), and was left as it is. Open it with its home, or read-only."
        )
        .because(.workingCopy)
    }

    private func readUnopened(_ connection: Connection) throws -> UnopenedModels {
        guard let record = try StoreState(on: connection).record else { throw StoreIdentity.damaged }
        return UnopenedModels(try SchemaDescription(parsing: record.description), schema)
    }

    private typealias Found = (identity: StoreIdentity, sequence: Int64)

    /// The identity and the sequence of the store; nil if something must be written first.
    private func read(
        _ condition: StoreSchema.Condition,
        _ connection: Connection,
        ifCopied: StoreIdentity.CopyRule
    ) throws -> Found? {
        // The home gives the identity, and the ids.
        let ifCopied = copy == nil ? ifCopied : .accept
        guard case .ready = condition, let identity = try StoreIdentity.read(on: connection, ifCopied: ifCopied)
        else { return nil }
        return (identity, try connection.sequence())
    }

    /// Reads one state of the store, with statements that bypass GRDB: observers need not learn of a read.
    private func reading<Value>(_ connection: Connection, _ body: () throws -> Value) throws -> Value {
        try connection.statement(.beginReading).runBound()
        do {
            let value = try body()
            try connection.statement(.commit).runBound()
            return value
        } catch {
            try? connection.execute("ROLLBACK")
            throw error
        }
    }

    // MARK: Migrating

    /// Waits until no other connection writes, and checks again: another process may have migrated the store meanwhile.
    ///
    /// The wait for the lock lasts as long as the migration allows, since the holder of the lock may be migrating
    /// itself.
    private func migrate(
        _ pending: PendingMigration,
        _ models: ModelRecord?,
        _ db: Database,
        _ connection: Connection,
        isOwned: Bool
    ) throws -> Found? {
        // The caller's own database may enforce foreign keys. SQLite cannot turn them off inside a transaction.
        let foreignKeys = try connection.integer(MigrationSQL.foreignKeys) ?? 0
        if foreignKeys != 0 { try connection.execute(MigrationSQL.setForeignKeys(false)) }
        defer {
            if foreignKeys != 0 { try? connection.execute(MigrationSQL.setForeignKeys(true)) }
        }
        var backup: StoreBackup?
        var prepared: (found: Found?, isMigrated: Bool) = (nil, false)
        let meter = MigrationMeter(migration.progress)
        let start = ContinuousClock.now
        do {
            try whileBusy(for: migration.waitLimit) {
                cancellation.wait(until: start + Self.duration(migration.waitLimit))
                defer { cancellation.wait(until: nil) }
                try db.inTransaction(.immediate) {
                    cancellation.wait(until: nil)
                    prepared = try cancellation.interrupting(connection) {
                        let migrations =
                            pending.format > 1 ? try connection.integer(HistorySQL.readMigrations) ?? 0 : 0
                        backup = pending.needsBackup ? makeBackup(connection, migrations) : nil
                        let references = foreignKeys != 0 ? ForeignKeyCheck(connection) : nil
                        let prepared = try prepareTables(
                            models,
                            db,
                            connection,
                            isOwned: isOwned,
                            backup: backup,
                            meter
                        )
                        try references?.check()
                        return prepared
                    }
                    return .commit
                }
            }
        } catch {
            // The wait is over. A ``PassedError`` keeps the caller from waiting again.
            throw PassedError(error is PassedError ? error : StrataError(grdb: error))
        }
        meter.finish()
        // Another process may have migrated the store meanwhile.
        guard prepared.isMigrated else { return prepared.found }
        backup?.prune()
        var metadata: Logger.Metadata = [LogKey.duration: "\(LogKey.text(start.duration(to: .now)))"]
        metadata[LogKey.backup] = backup.map { "\($0.file.path)" }
        telemetry.logger?.info("migrated the store", metadata: metadata)
        return prepared.found
    }

    private func makeBackup(_ connection: Connection, _ migrations: Int64) -> StoreBackup? {
        connection.path.flatMap { StoreBackup(of: $0, migrations: migrations, migration.backup) }
    }

    /// Creates or migrates the tables, as the store requires, and records the declarations of the models. Runs in a
    /// transaction that may write.
    private func prepareTables(
        _ models: ModelRecord?,
        _ db: Database,
        _ connection: Connection,
        isOwned: Bool,
        backup: StoreBackup?,
        _ meter: MigrationMeter = MigrationMeter(nil)
    ) throws -> (found: Found?, isMigrated: Bool) {
        var isMigrated = false
        switch try StoreSchema.examine(schema, migration, on: connection) {
        case .ready: break
        case .empty: try StoreSchema.create(schema, migration, on: connection)
        case .outdated(let pending):
            try pending.check()
            let run = MigrationRun(
                connection: connection,
                schema: schema,
                migration: migration,
                pending: pending,
                cancellation: cancellation,
                meter: meter,
                // The home and other copies do not have this migration, which changes no rows.
                isCounted: copy == nil
            )
            try run.run(backup: backup)
            isMigrated = true
            if isOwned {
                try connection.execute(MigrationSQL.setFormat(StoreFile.formatVersion))
            } else {
                db.clearSchemaCache()
                try db.notifyChanges(in: .fullDatabase)
            }
        }
        try models?.write(on: connection)
        return (try read(.ready, connection, ifCopied: .record), isMigrated)
    }
}

extension Database {
    /// Sets the size in bytes of the connection's page cache. The cache fills as the connection reads.
    func setCacheSize(_ bytes: Int) throws {
        // SQLite reads a negative number as kibibytes, and reads only numbers of 32 bits.
        try execute(sql: "PRAGMA cache_size = \(-min(max(1, bytes >> 10), Int(Int32.max)))")
    }
}
