import CStrataSQLite
import Foundation

/// Performs a migration within one transaction.
///
/// Tables whose rows change are first copied into new tables while all old tables still exist, so that expressions can
/// read any of them. Only then are tables dropped and renamed.
struct MigrationRun {
    let connection: Connection
    let schema: Schema
    let migration: Migration
    let pending: PendingMigration
    let cancellation: Cancellation
    let meter: MigrationMeter
    /// Whether the history counts the migration, so that stacks with the earlier models stop. A working copy counts it
    /// only if the home does.
    var isCounted = true

    /// - Parameter backup: the backup to make before anything is written.
    func run(backup: StoreBackup?) throws {
        // Only with recursive triggers does REPLACE in a step fire the delete triggers of the rows that it removes.
        let isRecursive = try connection.integer(MigrationSQL.recursiveTriggers) ?? 0
        try connection.execute(MigrationSQL.setRecursiveTriggers(true))
        defer { try? connection.execute(MigrationSQL.setRecursiveTriggers(isRecursive != 0)) }
        try estimate(backup)
        if let backup {
            meter.begin("Backing up")
            let effort = meter.expected / 5
            var copied = 0.0
            try backup.make(cancellation) { fraction in
                meter.advance((fraction - copied) * effort, "Backing up")
                copied = fraction
            }
        }
        try upgradeFormat()
        let temporary = try TemporaryTables(pending, on: connection)
        try runSteps("before", \.before, expecting: pending.old, temporary)
        try changeTables()
        try changeIndexes(isUnique: false)
        try runSteps("after", \.after, expecting: pending.new, temporary)
        try checkValues()
        try writeDerived()
        try changeIndexes(isUnique: true)
        try temporary.drop()
        try StoreSchema.record(pending.new, migration, steps: pending.steps.map(\.name), on: connection)
        if pending.changesStore, isCounted {
            try connection.execute(HistorySQL.insertMigration, [.real(Date().timeIntervalSinceReferenceDate)])
        }
        try cancellation.check()
    }

    // MARK: Effort

    static let rowsAtOnce = 20_000

    private func estimate(_ backup: StoreBackup?) throws {
        guard meter.isUsed else { return }
        for change in pending.changes.changed {
            let rows = Double(try connection.integer(MigrationSQL.count(change.old.name)) ?? 0)
            if change.isRebuilt { meter.expect(rows) }
            meter.expect(rows * Self.indexEffort * Double(newIndexes(of: change).count))
            if change.new.search != nil, !change.keepsSearch { meter.expect(rows * Self.searchEffort) }
            if derivedAnew.contains(where: { $0.info.table == change.new.name }) {
                meter.expect(rows * Self.derivedEffort)
            }
        }
        let effort = max(1, meter.expected)
        meter.expect(effort / 10 * Double(pending.steps.count))
        if backup != nil { meter.expect(meter.expected / 4) }
    }

    /// The effort of indexing a row, relative to copying it.
    static let indexEffort = 0.4
    /// The effort of adding a row to a search index, relative to copying it.
    static let searchEffort = 4.0
    /// The effort of calculating a row's derived columns, relative to copying it.
    static let derivedEffort = 1.0

    private func newIndexes(of change: TableChange) -> [(name: String, sql: String)] {
        let statements = SchemaSQL.statements(for: change.new).dropFirst().filter { !$0.sql.isTrigger }
        if change.isRebuilt { return Array(statements) }
        let old = Set(SchemaSQL.statements(for: change.old).map(\.sql))
        return statements.filter { !old.contains($0.sql) }
    }

    // MARK: Steps

    private func runSteps(
        _ moment: String,
        _ body: KeyPath<Migration.Step, (@Sendable (MigrationDatabase) throws -> Void)?>,
        expecting description: SchemaDescription,
        _ temporary: TemporaryTables
    ) throws {
        for step in pending.steps {
            guard let body = step[keyPath: body] else { continue }
            let activity = "Step '\(step.name)'"
            meter.begin(activity)
            let layout = try connection.schemaEntries().own(description)
            let database = MigrationDatabase(connection, cancellation)
            defer { database.end() }
            do {
                try body(database)
            } catch {
                try cancellation.check()
                throw PassedError((error as? StrataError)?.located("The step '\(step.name)' has failed") ?? error)
            }
            try cancellation.check()
            guard sqlite3_get_autocommit(connection.pointer) == 0 else {
                throw StrataError(.invalidState, "The step '\(step.name)' has ended the transaction of the migration.")
            }
            let changed = Set(try connection.schemaEntries().own(description)).symmetricDifference(layout)
            guard changed.isEmpty else {
                let names = Set(changed.map { "'\($0.name)'" }).sorted().joined(separator: ", ")
                throw StrataError(
                    .invalidState,
                    "The step '\(step.name)' (\(moment) the tables are changed) changes the definition of \(names), "
                        + "which Strata manages. Steps change only rows; tables follow the models."
                )
            }
            try temporary.check(after: step.name)
            meter.advance(meter.expected / 10 / Double(pending.steps.count), activity)
        }
    }

    // MARK: Derived columns

    /// The entities whose derived columns may be outdated.
    private var derivedAnew: [any AnyEntity] {
        let changes = pending.changes.changed.filter { !$0.isEmpty || $0.columns.contains(where: \.isRewritten) }
        let changed = Set(changes.map(\.new.name))
        return schema.entities.filter {
            !$0.info.derived.isEmpty && (pending.hasStepsToRun || changed.contains($0.info.table))
        }
    }

    private func writeDerived() throws {
        for entity in derivedAnew {
            let activity = "Calculating \(entity.info.name)"
            meter.begin(activity)
            try entity.writeDerived(on: connection) { rows in
                try cancellation.check()
                meter.advance(Double(rows) * Self.derivedEffort, activity)
            }
        }
    }

    private func upgradeFormat() throws {
        let format = pending.format
        guard format < StoreFile.formatVersion else { return }
        for table in SchemaSQL.housekeeping where table.since > format { try connection.execute(table.sql) }
        for upgrade in SchemaSQL.upgrades where upgrade.since > format { try connection.execute(upgrade.sql) }
    }
}

extension String {
    var isTrigger: Bool { hasPrefix("CREATE TRIGGER") }
    var isUnique: Bool { hasPrefix("CREATE UNIQUE") }
}
