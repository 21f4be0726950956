/// The temporary tables, views and triggers that the steps of a migration create.
///
/// In SQLite, a name without a schema refers first to the temporary table of that name.
struct TemporaryTables {
    private let connection: Connection
    /// Temporary tables that existed before the migration.
    private let others: Set<String>
    /// The old and the new tables of the models.
    private let tables: Set<String>

    init(_ pending: PendingMigration, on connection: Connection) throws {
        self.connection = connection
        others = Set(try Self.entries(on: connection).map(\.name))
        tables = Set((pending.old.tables + pending.new.tables).map { $0.name.lowercased() })
    }

    /// - Throws: ``StrataError`` with `invalidState` if a temporary table hides a table of a model or an internal table
    ///   of Strata.
    func check(after step: String) throws {
        let entries = try Self.entries(on: connection).filter { !others.contains($0.name) && $0.type != "trigger" }
        let hiding = entries.first {
            tables.contains($0.name.lowercased()) || $0.name.lowercased().hasBytePrefix("strata_")
        }
        guard let hiding else { return }
        throw StrataError(
            .invalidState,
            "The step '\(step)' creates a temporary '\(hiding.name)', which would hide the table of that name. Choose "
                + "another name."
        )
    }

    /// Drops the temporary tables, views and triggers that the steps have left.
    func drop() throws {
        for entry in try Self.entries(on: connection) where !others.contains(entry.name) {
            try connection.execute(MigrationSQL.dropTemporary(entry.type, entry.name))
        }
    }

    private static func entries(on connection: Connection) throws -> [(name: String, type: String)] {
        var entries: [(name: String, type: String)] = []
        try connection.statement(MigrationSQL.temporary).run([]) {
            entries.append(($0.string(at: 0), $0.string(at: 1)))
        }
        return entries
    }
}
