import Foundation
import Logging

extension WorkingCopy {
    /// Migrates the store of the home to the models of this program, and the copy with it.
    ///
    /// The copy has the rows that the home has, so it is migrated as a store without a home is. The home gets the result
    /// while SQLite's transaction is open, and commits first. If the process ends before, nothing has changed. If it ends
    /// between the two commits, the copy has the old models, and is made again when it is opened.
    ///
    /// When this function returns, the home has another description than ``state``: that of this program, or that of a
    /// program which was faster.
    ///
    /// - Throws: `schemaMismatch` if the migration must declare more, or a store was changed by another program; `busy`;
    ///   the errors of migrations, and those of ``StoreHome/migrate(within:_:_:)``.
    func migrate() throws {
        let models = try SchemaDescription(parsing: state.description.schema)
        let changes = try MigrationPlanner(from: models, to: schema, migration).changes
        try pending(from: models, changes, steps: state.description.steps, version: state.description.version).check()
        try makeIfNeeded()
        try alone { connection in
            do {
                try migrate(connection)
            } catch let error as StrataError where error.code == .damagedStore {
                // The copy is made again when it is opened next.
                if connection.isInTransaction { try? connection.execute("ROLLBACK") }
                try? CopyRecord.move(to: CopyRecord.damaged, on: connection)
                throw error
            }
        }
    }

    /// A migration of the copy that the home does not have yet.
    private struct CopyMigration {
        let migration: HomeMigration
        /// Why nodes with the old models cannot continue.
        let reasons: [String]
    }

    private func migrate(_ connection: Connection) throws {
        try connection.registerFunctions()
        connection.homeIDs = HomeIDs {
            try reserveIDs(1)
        } reserve: { count in
            try reserveIDs(count)
        }
        let start = ContinuousClock.now
        let meter = MigrationMeter(migration.progress)
        // Most transactions are applied before this node has the lock.
        try catchUp(to: nil, on: connection)
        var result: CopyMigration?
        let isMigrated = try home.migrate(within: migration.waitLimit) { current in
            guard current.description == state.description else { return nil }
            try catchUp(to: current.position, on: connection)
            let new = try cancellation.interrupting(connection) {
                try change(connection, after: current.position, meter)
            }
            result = new
            return new.migration
        } _: { insert in
            guard let migration = result?.migration else { return }
            for table in migration.description.tables where migration.replaces(table.name) {
                _ = try HomeMove.forEachPortion(of: table, connection) { rows in
                    try cancellation.check()
                    try insert(table.name, rows)
                }
            }
        }
        guard isMigrated, let result else { return }
        try connection.execute("COMMIT")
        meter.finish()
        log(result.reasons, since: start)
    }

    private func log(_ reasons: [String], since start: ContinuousClock.Instant) {
        let effect =
            reasons.isEmpty
            ? "nodes with the earlier models continue"
            : "nodes with the earlier models stop, because \(reasons.joined(separator: ", "))"
        let metadata: Logger.Metadata = [LogKey.duration: "\(LogKey.text(start.duration(to: .now)))"]
        telemetry.logger?.notice("migrated the store of \(home.name): \(effect)", metadata: metadata)
    }

    private func reserveIDs(_ count: Int64) throws -> Int64 {
        let first = try home.reserveIDs(count)
        guard IDSource.isRange(from: first) else { throw StoreIdentity.damaged }
        return first
    }

    /// Applies transactions of the home.
    ///
    /// - Parameter position: the newest transaction of the home; nil for those that it has now.
    private func catchUp(to position: HomePosition?, on connection: Connection) throws {
        var reached = try CopyRecord.read(on: connection).position
        let tables = state.description.tablesByName
        while reached != position {
            let portion = try home.transactions(after: reached, limit: HomeFollower.portion)
            for transaction in portion.transactions {
                // Before this node has the lock, another one may migrate the store. The copy can also be older than a
                // migration that has changed nothing in it, or only the version.
                let generation = transaction.generation ?? state.description.generation
                guard generation == state.description.generation else { throw migratedMeanwhile }
                var application = ChangeApplication(on: connection, tables: tables)
                try application.apply(transaction.changes)
                reached = transaction.position
            }
            if portion.isComplete { break }
            try cancellation.check()
        }
        guard position == nil || reached == position else { throw HomeFollower.damagedError.naming(url.path) }
        try CopyRecord.move(to: reached, on: connection)
    }

    /// Migrates the copy inside the open transaction, and collects what the home needs to do the same.
    private func change(
        _ connection: Connection,
        after position: HomePosition,
        _ meter: MigrationMeter
    ) throws -> CopyMigration {
        guard case .outdated(let pending) = try StoreSchema.examine(schema, migration, on: connection) else {
            throw HomeFollower.damagedError.naming(url.path)
        }
        try pending.check()
        let reasons = pending.reasonsToStopNodes(schema)
        let same = state.description.typing(proposal, widens: false)
        // If older nodes continue, all tables that they know keep their rows.
        let typed = reasons.isEmpty ? same : state.description.typing(proposal, widens: true)
        let kept = keptTables(pending).filter { same.tablesByName[$0] == typed.tablesByName[$0] }
        let capture = RowCapture(of: kept.map(\.string), on: connection)
        try capture.start()
        let run = MigrationRun(
            connection: connection,
            schema: schema,
            migration: migration,
            pending: pending,
            cancellation: cancellation,
            meter: meter,
            isCounted: !reasons.isEmpty
        )
        try run.run(backup: nil)
        let rows = try capture.finish()
        try connection.storeDefaults(in: proposal.tables.filter { !kept.contains(UTF8Text($0.name)) })
        var description = try typed.inOrder(of: connection)
        let old = state.description
        description.generation = old.generation + (reasons.isEmpty ? 0 : 1)
        description.earlier = old.earlier + [old.earlierEntry(in: old.generation)]
        description.tables = description.tables.map { withDefaults($0, pending) }
        let transaction = HomeTransaction(after: position, by: node, rows, generation: description.generation)
        try CopyRecord.move(to: transaction.position, on: connection)
        try CopyRecord.setGeneration(description.generation, on: connection)
        let change = HomeMigration(
            transaction: transaction,
            description: description,
            replacedTables: reasons.isEmpty
                ? [] : Set(description.tables.map { UTF8Text($0.name) }).subtracting(kept)
        )
        return CopyMigration(migration: change, reasons: reasons)
    }

    /// The tables of the home whose columns stay as they are, so that the changes of their rows can be collected.
    private func keptTables(_ pending: PendingMigration) -> Set<UTF8Text> {
        let unchanged = Set(pending.changes.changed.filter(\.isEmpty).map { UTF8Text($0.new.name) })
        let models = Set(pending.old.tables.map { UTF8Text($0.name) })
        let new = Set(proposal.tables.map { UTF8Text($0.name) })
        // The history and the external bytes do not belong to a model.
        return Set(state.description.tables.map { UTF8Text($0.name) })
            .filter { unchanged.contains($0) || !models.contains($0) && new.contains($0) }
    }

    /// Adds the values that rows of older nodes have in the columns of a table.
    private func withDefaults(_ table: HomeTable, _ pending: PendingMigration) -> HomeTable {
        guard let change = pending.changes.changed.first(where: { $0.new.name == table.name }), !change.isRebuilt else {
            return table
        }
        var values: [UTF8Text: StoredValue] = [:]
        for column in state.description.tablesByName[UTF8Text(change.old.name)]?.columns ?? [] {
            values[UTF8Text(column.name)] = column.defaultValue
        }
        for column in change.columns where column.old == nil {
            if case .value(let value) = column.source, value != .null { values[UTF8Text(column.new.name)] = value }
        }
        var result = table
        for index in result.columns.indices {
            result.columns[index].defaultValue = values[UTF8Text(result.columns[index].name)]
        }
        return result
    }
}
