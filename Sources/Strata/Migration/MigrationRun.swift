import CStrataSQLite
import Foundation

/// Carries out a migration, inside of one transaction.
///
/// Tables whose rows change are copied into new ones first, while all old ones are still there, so that expressions may look
/// at any of them. Only then do tables go and get their names.
struct MigrationRun {
    let connection: Connection
    let schema: Schema
    let migration: Migration
    let pending: PendingMigration
    let cancellation: MigrationCancellation
    let meter: MigrationMeter

    /// - Parameter backup: where the store is copied to before anything is written.
    func run(backup: StoreBackup?) throws {
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
        try runSteps("before", \.before, expecting: pending.old)
        try changeTables()
        try changeIndexes(isUnique: false)
        try runSteps("after", \.after, expecting: pending.new)
        try changeIndexes(isUnique: true)
        try StoreSchema.record(pending.new, migration, steps: pending.steps.map(\.name), on: connection)
        if pending.changesStore { try connection.execute(SchemaSQL.countMigration) }
        try cancellation.check()
    }

    // MARK: Effort

    private static let rowsAtOnce = 20_000

    private func estimate(_ backup: StoreBackup?) throws {
        guard meter.isUsed else { return }
        for change in pending.changes.changed {
            let rows = Double(try connection.integer(MigrationSQL.count(change.old.name)) ?? 0)
            if change.isRebuilt { meter.expect(rows) }
            meter.expect(rows * Self.indexEffort * Double(newIndexes(of: change).count))
        }
        let effort = max(1, meter.expected)
        meter.expect(effort / 10 * Double(pending.steps.count))
        if backup != nil { meter.expect(meter.expected / 4) }
    }

    /// What a row costs in an index, against copying it.
    private static let indexEffort = 0.4

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
        expecting description: SchemaDescription
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
                throw PassedError(error)
            }
            try cancellation.check()
            guard sqlite3_get_autocommit(connection.pointer) == 0 else {
                throw StrataError(.misuse, "The step '\(step.name)' has ended the transaction of the migration.")
            }
            let changed = Set(try connection.schemaEntries().own(description)).symmetricDifference(layout)
            guard changed.isEmpty else {
                let names = Set(changed.map { "'\($0.name)'" }).sorted().joined(separator: ", ")
                throw StrataError(
                    .misuse,
                    "The step '\(step.name)' (\(moment) the tables are changed) changes \(names), which are Strata's. Steps "
                        + "change rows; tables follow the models."
                )
            }
            meter.advance(meter.expected / 10 / Double(pending.steps.count), activity)
        }
    }

    // MARK: Tables

    private func upgradeFormat() throws {
        let format = pending.format
        guard format < StoreFile.formatVersion else { return }
        for table in SchemaSQL.housekeeping where table.since > format { try connection.execute(table.sql) }
        for upgrade in SchemaSQL.upgrades where upgrade.since > format { try connection.execute(upgrade.sql) }
    }

    private func changeTables() throws {
        let changes = pending.changes
        let rebuilt = changes.changed.filter(\.isRebuilt)
        let hasExternals = SchemaSQL.statements(for: pending.new).contains { $0.name == ExternalSQL.table.name }
        if hasExternals, try !connection.schemaEntries().contains(where: { $0.name == ExternalSQL.table.name }) {
            try connection.execute(ExternalSQL.table.sql)
        }
        for (index, change) in rebuilt.enumerated() { try copy(change, to: copyName(index)) }
        for change in rebuilt { try dropOutside(change) }
        for table in changes.dropped { try drop(table) }
        try rename(changes.changed.filter { $0.old.name != $0.new.name })
        try replace(rebuilt)
        for change in changes.changed where !change.isRebuilt && !change.isEmpty { try alter(change) }
        for table in changes.created {
            meter.begin("Making \(table.subject)")
            try connection.execute(SchemaSQL.createTable(table, named: table.name))
        }
    }

    private func copyName(_ index: Int) -> String { "strata_new_\(index)" }

    private func copy(_ change: TableChange, to name: String) throws {
        let activity = "Copying \(change.new.subject)"
        meter.begin(activity)
        let (old, new) = (change.old.name, change.new)
        for column in change.columns {
            if let loses = column.loses, let origin = column.old {
                let value = MigrationSQL.copied(origin.name, from: old)
                try refuse(
                    MigrationSQL.rows(value, of: old, where: loses),
                    new,
                    column,
                    "cannot be converted without a loss to \(column.new.type.rawValue)"
                )
            }
        }
        try connection.execute(SchemaSQL.createTable(new, named: name))
        let made = try MadeValues(change, on: connection)
        defer { made.end() }
        let columns = try change.columns.map { (name: $0.new.name, expression: try expression($0, change, made)) }
        let sql = MigrationSQL.copy(columns, from: old, to: name, limit: Self.rowsAtOnce)
        var last = Int64.min
        while true {
            try cancellation.check()
            do {
                try connection.execute(sql, [.integer(last)])
            } catch {
                try explain(change, columns)
                throw error
            }
            let count = connection.changes
            guard count > 0, let next = try connection.integer(MigrationSQL.lastID(name)) else { break }
            last = next
            meter.advance(Double(count), activity)
        }
        for column in change.columns { try check(column, in: name, new) }
    }

    /// What a new row has in a column, over the old one.
    private func expression(_ change: ColumnChange, _ table: TableChange, _ made: MadeValues) throws -> String {
        switch change.source {
        case .same(let name): return MigrationSQL.copied(name, from: table.old.name)
        case .value(let value): return MigrationSQL.literal(value)
        case .expression(let expression): return expression
        case .made(let make): return made.expression(make)
        case .outside(let content, let number):
            let kept = number.map { MigrationSQL.copied($0, from: table.old.name) }
            let base = max(
                try connection.integer(MigrationSQL.lastExternal) ?? 0,
                try connection.integer(MigrationSQL.lastExternalEver) ?? 0
            )
            try connection.execute(
                MigrationSQL.keepOutside(
                    content,
                    of: table.old.name,
                    where: kept.map(MigrationSQL.isNull),
                    base: base
                )
            )
            let number = MigrationSQL.outsideNumber(content, of: table.old.name, base: base)
            return kept.map { MigrationSQL.filled($0, or: number) } ?? number
        }
    }

    /// Names the column that is the reason why rows could not be copied, where that is a missing value.
    private func explain(_ change: TableChange, _ columns: [(name: String, expression: String)]) throws {
        for (column, expression) in zip(change.columns, columns.map(\.expression)) where !column.new.isOptional {
            try refuse(
                MigrationSQL.rows(expression, of: change.old.name, where: MigrationSQL.isNull(expression)),
                change.new,
                column,
                "has no value, and must have one"
            )
        }
    }

    /// Throws where a query finds rows, which it gives with their ids and values.
    private func refuse(
        _ sql: String,
        _ table: TableDescription,
        _ column: ColumnChange,
        _ message: String
    ) throws {
        var details: [StrataError.Detail] = []
        try connection.statement(sql).run([]) { row in
            details.append(detail(table, try row.read(Int64.self, at: 0), column, message, row.value(at: 1)))
        }
        if !details.isEmpty { throw Self.refusal(details) }
    }

    private func detail(
        _ table: TableDescription,
        _ number: Int64,
        _ column: ColumnChange,
        _ message: String,
        _ value: StoredValue
    ) -> StrataError.Detail {
        StrataError.Detail(
            model: table.subject,
            number: number,
            column: column.new.name,
            message: "\(message): \(value)",
            mine: value
        )
    }

    private static func refusal(_ details: [StrataError.Detail]) -> StrataError {
        StrataError(
            .schemaMismatch,
            "The store holds values that the models cannot have, and nothing was changed. Mend them by a step that runs before, "
                + "or by .filling.",
            details: details
        )
    }

    /// Holds what has come into a column against the attribute's type.
    private func check(_ column: ColumnChange, in name: String, _ table: TableDescription) throws {
        guard let declared = column.checked else { return }
        var details: [StrataError.Detail] = []
        try connection.statement(MigrationSQL.values(of: column.new.name, in: name)).run([]) { row in
            let value = row.value(at: 1)
            guard details.count < 5, !declared.holds(value) else { return }
            details.append(
                detail(table, try row.read(Int64.self, at: 0), column, "is none of the attribute's type", value)
            )
        }
        if !details.isEmpty { throw Self.refusal(details) }
    }

    /// Lets bytes go that no row of the new table stands for.
    private func dropOutside(_ change: TableChange) throws {
        let gone = change.dropped.filter { $0.content == .external }.map(\.name)
        let inside = change.columns.compactMap { $0.bringsInside ? $0.old?.name : nil }
        for column in gone + inside { try connection.execute(MigrationSQL.dropOutside(column, of: change.old.name)) }
    }

    private func drop(_ table: TableDescription) throws {
        meter.begin("Dropping \(table.subject)")
        for column in table.columns where column.content == .external {
            try connection.execute(MigrationSQL.dropOutside(column.name, of: table.name))
        }
        var others: [String] = []
        try connection.statement(MigrationSQL.referringTables).run([.text(table.name)]) { others.append($0.string(at: 0)) }
        guard others.isEmpty else {
            throw StrataError(
                .schemaMismatch,
                "\(table.subject) cannot be dropped, and nothing was changed: foreign keys of \(others.joined(separator: ", ")) "
                    + "lead to its table."
            )
        }
        try connection.execute(MigrationSQL.dropTable(table.name))
    }

    /// By way of other names, so that two may change places.
    private func rename(_ changes: [TableChange]) throws {
        for (index, change) in changes.enumerated() {
            try connection.execute(MigrationSQL.renameTable(change.old.name, to: "strata_renamed_\(index)"))
        }
        for (index, change) in changes.enumerated() {
            try connection.execute(MigrationSQL.renameTable("strata_renamed_\(index)", to: change.new.name))
        }
    }

    private func replace(_ rebuilt: [TableChange]) throws {
        // Views of others that look at a table do so while it is away for a moment; and nothing is called as the copies.
        let legacy = try connection.integer("PRAGMA legacy_alter_table") ?? 0
        try connection.execute(MigrationSQL.setLegacyAlterTable(true))
        defer { try? connection.execute(MigrationSQL.setLegacyAlterTable(legacy != 0)) }
        for (index, change) in rebuilt.enumerated() {
            try connection.execute(MigrationSQL.dropTable(change.new.name))
            try connection.execute(MigrationSQL.renameTable(copyName(index), to: change.new.name))
        }
    }

    private func alter(_ change: TableChange) throws {
        let table = change.new.name
        for column in change.columns {
            if let old = column.old, column.isRenamed {
                try connection.execute(MigrationSQL.renameColumn(old.name, to: column.new.name, in: table))
            }
        }
        for column in change.columns {
            if case .value(let value) = column.source {
                try connection.execute(MigrationSQL.addColumn(column.new, MigrationSQL.literal(value), to: table))
            }
        }
    }

    // MARK: Indexes

    /// Makes what is missing, and first of all drops what is not wanted. Unique constraints come last.
    private func changeIndexes(isUnique: Bool) throws {
        let entries = try connection.schemaEntries().own(pending.new)
        let wanted = Dictionary(
            pending.new.tables.flatMap { SchemaSQL.statements(for: $0).dropFirst() }.map { ($0.name, $0.sql) },
            uniquingKeysWith: { first, _ in first }
        )
        var there: Set<String> = []
        for entry in entries where !entry.isTable && !entry.isHousekeeping {
            if wanted[entry.name] == entry.sql {
                there.insert(entry.name)
            } else {
                try connection.execute(MigrationSQL.drop(entry))
            }
        }
        for table in pending.new.tables {
            let missing = SchemaSQL.statements(for: table).dropFirst()
                .filter { !there.contains($0.name) && $0.sql.isUnique == isUnique }
            guard !missing.isEmpty else { continue }
            let rows = meter.isUsed ? Double(try connection.integer(MigrationSQL.count(table.name)) ?? 0) : 0
            for (name, sql) in missing {
                let activity = "Making '\(name)'"
                meter.begin(activity)
                do {
                    try connection.execute(sql)
                } catch {
                    try cancellation.check()
                    for columns in table.uniques where isUnique { try explainDuplicates(of: columns, in: table) }
                    throw error
                }
                if !sql.isTrigger { meter.advance(rows * Self.indexEffort, activity) }
            }
        }
    }

    private func explainDuplicates(of columns: [String], in table: TableDescription) throws {
        var details: [StrataError.Detail] = []
        try connection.statement(MigrationSQL.duplicates(of: columns, in: table.name)).run([]) { row in
            let values = columns.indices.map { row.value(at: Int32($0 + 2)) }
            let text = values.map(\.description).joined(separator: ", ")
            details.append(
                StrataError.Detail(
                    model: table.subject,
                    number: try row.read(Int64.self, at: 0),
                    column: columns.joined(separator: ", "),
                    message: "has the same value as \(table.subject) \(try row.read(Int64.self, at: 1)): \(text)",
                    mine: values.first
                )
            )
        }
        guard !details.isEmpty else { return }
        throw StrataError(
            .notUnique,
            "\(table.subject) is to have a unique constraint on \(columns.joined(separator: ", ")), and nothing was changed, since "
                + "objects share values. Make them differ by a step of the migration.",
            details: details
        )
    }
}

extension String {
    fileprivate var isTrigger: Bool { hasPrefix("CREATE TRIGGER") }
    fileprivate var isUnique: Bool { hasPrefix("CREATE UNIQUE") }
}

extension ColumnSchema {
    /// Whether a value is one that the attribute has.
    fileprivate func holds(_ value: StoredValue) -> Bool {
        switch (type, value) {
        case (.integer, .integer), (.real, .real), (.text, .text), (.blob, .blob): accepts?(value) ?? true
        case (.integer, .blob): isUnsigned && accepts?(value) ?? true
        default: false
        }
    }
}
