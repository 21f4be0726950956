/// The temporary tables, views and triggers that the steps of a migration make.
///
/// To SQLite a name without a schema means the temporary table of that name first.
struct TemporaryTables {
    private let connection: Connection
    /// Those of others, which were there before.
    private let others: Set<String>
    /// The tables of the models, old and new.
    private let tables: Set<String>

    init(_ pending: PendingMigration, on connection: Connection) throws {
        self.connection = connection
        others = Set(try Self.entries(on: connection).map(\.name))
        tables = Set((pending.old.tables + pending.new.tables).map { $0.name.lowercased() })
    }

    /// - Throws: ``StrataError`` with `misuse` where one would be taken for a table of a model or of Strata's.
    func check(after step: String) throws {
        let entries = try Self.entries(on: connection).filter { !others.contains($0.name) && $0.type != "trigger" }
        let hiding = entries.first {
            tables.contains($0.name.lowercased()) || $0.name.lowercased().hasBytePrefix("strata_")
        }
        guard let hiding else { return }
        throw StrataError(
            .misuse,
            "The step '\(step)' makes a temporary '\(hiding.name)', which would be taken for the table of that name. Call it otherwise."
        )
    }

    /// Drops what the steps have left.
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
