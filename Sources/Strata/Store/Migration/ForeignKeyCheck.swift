/// Detects whether a migration removes rows that foreign keys of the application's own tables refer to.
///
/// Foreign keys are off during the migration, because tables are missing for a moment. This check therefore compares
/// the dangling references before and after the migration.
struct ForeignKeyCheck {
    private struct Place: Hashable {
        let table: String
        let row: Int64
        /// The index of the foreign key among the table's foreign keys.
        let key: Int64
    }

    private let connection: Connection
    /// References that were already dangling before the migration. Nil if SQLite cannot determine them.
    private let before: Set<Place>?

    init(_ connection: Connection) {
        self.connection = connection
        before = (try? Self.dangling(on: connection)).map { Set($0.map(\.place)) }
    }

    /// - Throws: ``StrataError`` with `missingReference`.
    func check() throws {
        guard let before else { return }
        let found = try Self.dangling(on: connection).filter { !before.contains($0.place) }
        guard !found.isEmpty else { return }
        let list = found.prefix(5).map { "\($0.place.table) (row \($0.place.row)) to \($0.parent)" }
        throw StrataError(
            .missingReference,
            "Foreign keys would refer to rows that no longer exist, and nothing was changed: "
                + "\(list.joined(separator: ", ")). Repair them in a step of the migration."
        )
    }

    private static func dangling(on connection: Connection) throws -> [(place: Place, parent: String)] {
        var found: [(place: Place, parent: String)] = []
        try connection.statement(MigrationSQL.foreignKeyCheck).run([]) { row in
            let place = Place(
                table: row.string(at: 0),
                // SQLite returns NULL for a table without row ids.
                row: try row.read(Int64?.self, at: 1) ?? 0,
                key: try row.read(Int64.self, at: 3)
            )
            found.append((place, row.string(at: 2)))
        }
        return found
    }
}
