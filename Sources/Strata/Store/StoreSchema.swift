import Foundation

/// Makes the tables of a new store, and holds those of an old one against the models.
enum StoreSchema {
    /// Makes what is missing in a store without any of Strata's tables. Says whether everything is there.
    ///
    /// - Parameter mayWrite: where it is not, nothing is made.
    /// - Throws: ``StrataError`` with `schemaMismatch`, a line for each difference, where tables and models differ.
    static func prepare(_ entities: [any AnyEntity], on connection: Connection, mayWrite: Bool) throws -> Bool {
        var entries: [(name: String, sql: String, table: String)] = []
        try connection.statement(SchemaSQL.readSchema).run([]) { row in
            entries.append((row.string(at: 0), row.string(at: 1), row.string(at: 2)))
        }
        var wanted = entities.flatMap { SchemaSQL.statements(for: $0.info) }
        if entities.contains(where: { !$0.info.externals.isEmpty }) { wanted.append(ExternalSQL.table) }
        if isExact(entries.map(\.sql), wanted) { return true }
        var found: [String: (name: String, sql: String, table: String)] = [:]
        for (name, sql, table) in entries { found[name.lowercased()] = (name, sql, table.lowercased()) }
        if found["strata_store"] == nil {
            let names = SchemaSQL.housekeepingNames + wanted.map(\.name)
            if let taken = names.first(where: { found[$0.lowercased()] != nil }) {
                throw StrataError(
                    .schemaMismatch,
                    "The database has something of its own by the name of '\(taken)', and nothing was changed. Name "
                        + "another table: @Model(table: …)."
                )
            }
            guard mayWrite else { return false }
            for sql in SchemaSQL.housekeeping { try connection.execute(sql) }
            let place = StorePlace.current(of: connection)
            try connection.execute(
                SchemaSQL.insertStore,
                [.integer(StorePlace.newFingerprint()), .text(place)]
            )
            try connection.execute(HistorySQL.insertFirst, [.real(Date().timeIntervalSinceReferenceDate)])
            for statement in wanted { try connection.execute(statement.sql) }
            return true
        }
        if wanted.allSatisfy({ found[$0.name.lowercased()]?.sql == $0.sql }), !hasMore(found, than: wanted) {
            return true
        }
        let differences = try differences(entities, found: found, wanted: wanted, on: connection)
        throw StrataError(
            .schemaMismatch,
            "The store's tables differ from the models, and nothing was changed:\n"
                + differences.map { "  - \($0)" }.joined(separator: "\n")
        )
    }

    /// Whether there is everything that is wanted and nothing else, as in most files.
    private static func isExact(_ found: [String], _ wanted: [(name: String, sql: String)]) -> Bool {
        guard found.count == wanted.count + SchemaSQL.housekeeping.count else { return false }
        let found = Set(found)
        return SchemaSQL.housekeeping.allSatisfy(found.contains) && wanted.allSatisfy { found.contains($0.sql) }
    }

    /// Indexes and triggers on Strata's tables that Strata did not make, and tables of models that are gone.
    private static func hasMore(
        _ found: [String: (name: String, sql: String, table: String)],
        than wanted: [(name: String, sql: String)]
    ) -> Bool {
        let names = Set(wanted.map { $0.name.lowercased() })
        return found.contains { name, entry in isUnknown(name, entry, wanted: names) }
    }

    private static func isUnknown(
        _ name: String,
        _ entry: (name: String, sql: String, table: String),
        wanted: Set<String>
    ) -> Bool {
        guard !wanted.contains(name), !entry.table.hasPrefix("strata_") else { return false }
        return wanted.contains(entry.table) || (name == entry.table && entry.sql.contains("\"_version\" INTEGER"))
    }

    private static func differences(
        _ entities: [any AnyEntity],
        found: [String: (name: String, sql: String, table: String)],
        wanted: [(name: String, sql: String)],
        on connection: Connection
    ) throws -> [String] {
        var result: [String] = []
        for entity in entities {
            let info = entity.info
            for (name, sql) in SchemaSQL.statements(for: info) {
                guard let there = found[name.lowercased()] else {
                    result.append(
                        name == info.table
                            ? "table '\(name)' of model \(info.name) is missing" : "\(kind(sql)) '\(name)' is missing"
                    )
                    continue
                }
                guard there.sql != sql else { continue }
                guard name == info.table else {
                    result.append("\(kind(sql)) '\(name)' is another one: \(there.sql)")
                    continue
                }
                let columns = try columnDifferences(info, on: connection)
                result += columns.isEmpty ? ["table '\(name)' is declared in another way: \(there.sql)"] : columns
            }
        }
        let (external, sql) = ExternalSQL.table
        if wanted.contains(where: { $0.name == external }), found[external]?.sql != sql {
            result.append("table '\(external)' is missing, or is another one")
        }
        let names = Set(wanted.map { $0.name.lowercased() })
        for (name, entry) in found.sorted(by: { $0.key < $1.key }) where isUnknown(name, entry, wanted: names) {
            let kind = name == entry.table ? "table" : "index or trigger"
            result.append("\(kind) '\(entry.name)' is in the store and in no model: \(entry.sql)")
        }
        return result
    }

    /// What a statement makes.
    private static func kind(_ sql: String) -> String { sql.hasPrefix("CREATE TRIGGER") ? "trigger" : "index" }

    private static func columnDifferences(_ info: EntityInfo, on connection: Connection) throws -> [String] {
        var there: [(name: String, type: String, isOptional: Bool)] = []
        let pragma = "SELECT name, type, \"notnull\" FROM pragma_table_info(?)"
        try connection.statement(pragma).run([.text(info.table)]) { row in
            there.append((row.string(at: 0), row.string(at: 1), row.value(at: 2) == .integer(0)))
        }
        var result: [String] = []
        for column in info.columns {
            let place = "\(info.name).\(column.name)"
            guard let stored = there.first(where: { $0.name == column.name }) else {
                result.append("\(place) is missing in the store")
                continue
            }
            if stored.type != column.type.rawValue {
                result.append("\(place) is \(stored.type) in the store and \(column.type.rawValue) in the model")
            }
            if stored.isOptional != column.isOptional {
                result.append("\(place) is optional in the \(stored.isOptional ? "store" : "model") only")
            }
        }
        for stored in there
        where stored.name != "id" && stored.name != "_version"
            && !info.columns.contains(where: { $0.name == stored.name })
        {
            result.append("column '\(stored.name)' of table '\(info.table)' is in no model")
        }
        let (stored, declared) = (there.map(\.name).filter(info.columns.map(\.name).contains), info.columns.map(\.name))
        if result.isEmpty && stored != declared {
            result.append(
                "the properties of \(info.name) stand in another order: \(stored.joined(separator: ", ")) in the store, "
                    + "\(declared.joined(separator: ", ")) in the model"
            )
        }
        return result
    }
}
