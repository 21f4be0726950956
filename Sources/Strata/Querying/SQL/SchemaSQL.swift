/// The SQL statements that create Strata's tables.
enum SchemaSQL {
    /// Strata's internal tables, each with the format version that introduced it.
    ///
    /// A store of an earlier format gets the missing tables when it is opened.
    static let housekeeping: [(name: String, since: Int64, sql: String)] = [
        // One row about the store itself.
        (
            "strata_store", 1,
            """
            CREATE TABLE "strata_store" ("id" INTEGER PRIMARY KEY CHECK ("id" = 1), \
            "next_id" INTEGER NOT NULL, "fingerprint" INTEGER NOT NULL, "place" TEXT NOT NULL)
            """
        ),
        // The store's earlier fingerprints, from before it was copied.
        (
            "strata_lineage", 1,
            """
            CREATE TABLE "strata_lineage" ("fingerprint" INTEGER NOT NULL, "before" INTEGER NOT NULL)
            """
        ),
        // One row about the schema that the last migration produced.
        (
            "strata_schema", 2,
            """
            CREATE TABLE "strata_schema" ("id" INTEGER PRIMARY KEY CHECK ("id" = 1), "format" INTEGER NOT NULL, \
            "version" INTEGER NOT NULL, "description" TEXT NOT NULL)
            """
        ),
        // The SQL of Strata's tables at that time, as the database reported it.
        (
            "strata_layout", 2,
            """
            CREATE TABLE "strata_layout" ("name" TEXT PRIMARY KEY, "sql" TEXT NOT NULL) WITHOUT ROWID
            """
        ),
        (HistorySQL.name, 2, HistorySQL.table),
        // The migration steps that have run, or that a new store did not need.
        (
            "strata_steps", 2,
            """
            CREATE TABLE "strata_steps" ("position" INTEGER PRIMARY KEY, "name" TEXT NOT NULL UNIQUE, \
            "applied" REAL NOT NULL)
            """
        ),
    ]

    /// Changes to tables of earlier formats, each with the format that introduced it.
    static let upgrades: [(since: Int64, sql: String)] = [
        (2, HistorySQL.insertOldSequence),
        (2, "ALTER TABLE \"strata_store\" DROP COLUMN \"sequence\""),
    ]

    static let insertStore =
        "INSERT INTO \"strata_store\" (\"id\", \"next_id\", \"fingerprint\", \"place\") VALUES (1, 1, ?, ?)"
    static let readStore =
        """
        SELECT "next_id", "fingerprint", "place", \(HistorySQL.newestMigrations) FROM "strata_store" WHERE "id" = 1
        """
    static let readNextID = "SELECT \"next_id\" FROM \"strata_store\" WHERE \"id\" = 1"
    static let reserveIDs = "UPDATE \"strata_store\" SET \"next_id\" = \"next_id\" + ? WHERE \"id\" = 1"
    static let setFingerprint = "UPDATE \"strata_store\" SET \"fingerprint\" = ?, \"place\" = ? WHERE \"id\" = 1"
    static let insertLineage = "INSERT INTO \"strata_lineage\" (\"fingerprint\", \"before\") VALUES (?, ?)"
    static let readLineage = "SELECT \"fingerprint\", \"before\" FROM \"strata_lineage\""
    static let readSchema =
        "SELECT \"name\", \"sql\", \"tbl_name\", \"type\" FROM sqlite_schema WHERE \"sql\" IS NOT NULL "
        + "AND \"name\" <> 'sqlite_sequence' ORDER BY \"name\""

    static let readRecord =
        "SELECT \"format\", \"version\", \"description\" FROM \"strata_schema\" WHERE \"id\" = 1"
    static let readVersion = "SELECT \"version\" FROM \"strata_schema\" WHERE \"id\" = 1"
    static let readLayout = "SELECT \"name\", \"sql\" FROM \"strata_layout\" ORDER BY \"name\""
    static let readSteps = "SELECT \"name\" FROM \"strata_steps\" ORDER BY \"position\""
    static let setRecord =
        "INSERT OR REPLACE INTO \"strata_schema\" (\"id\", \"format\", \"version\", \"description\") "
        + "VALUES (1, ?, ?, ?)"
    static let deleteLayout = "DELETE FROM \"strata_layout\""
    static let insertLayout = "INSERT INTO \"strata_layout\" (\"name\", \"sql\") VALUES (?, ?)"
    // MARK: The declarations of the models

    /// The declarations that the tables do not show. Not one of ``housekeeping``: the table can be missing, and earlier
    /// versions of Strata do not know it. They accept it as a part of the recorded layout.
    static let modelsName = "strata_models"
    static let createModels = """
        CREATE TABLE "strata_models" ("id" INTEGER PRIMARY KEY CHECK ("id" = 1), "description" TEXT NOT NULL, \
        "declarations" TEXT NOT NULL)
        """
    static let hasModels = "SELECT 1 FROM sqlite_schema WHERE \"name\" = 'strata_models'"
    static let addModelsToLayout =
        "INSERT OR REPLACE INTO \"strata_layout\" (\"name\", \"sql\") "
        + "SELECT \"name\", \"sql\" FROM sqlite_schema WHERE \"name\" = 'strata_models'"
    static let readModels = "SELECT \"description\", \"declarations\" FROM \"strata_models\" WHERE \"id\" = 1"
    static let setModels =
        "INSERT OR REPLACE INTO \"strata_models\" (\"id\", \"description\", \"declarations\") VALUES (1, ?, ?)"

    /// The names of all tables that Strata creates for itself.
    static var ownNames: [String] { housekeeping.map(\.name) + [modelsName] }

    static let insertStep = "INSERT INTO \"strata_steps\" (\"name\", \"applied\") VALUES (?, ?)"

    /// The names of all database objects that a description needs, each with the statement that creates it.
    static func statements(for description: SchemaDescription) -> [(name: String, sql: String)] {
        (hasExternals(description) ? [ExternalSQL.table] : []) + description.tables.flatMap(statements)
            + description.tables.compactMap { searchTable(of: $0) }
    }

    /// Whether a description needs the table of external bytes.
    static func hasExternals(_ description: SchemaDescription) -> Bool {
        description.tables.contains { $0.columns.contains { $0.content == .external } }
    }

    /// The names of all database objects that a description needs, including FTS5's internal tables.
    ///
    /// The statements themselves are not made, because every opening needs the names.
    static func names(for description: SchemaDescription) -> [String] {
        (hasExternals(description) ? [ExternalSQL.table.name] : []) + description.tables.flatMap(names)
    }

    private static func names(for table: TableDescription) -> [String] {
        var names = [table.name]
        names += table.uniques.map { indexName($0, isUnique: true, of: table) }
        names += table.indexes.map { indexName($0, isUnique: false, of: table) }
        for column in table.columns where column.content == .external {
            names += ExternalSQL.triggers(table: table.name, column: column.name).map(\.name)
        }
        if let search = table.search {
            names += SearchSQL.triggers(search, of: table.name).map(\.name)
            names += [SearchSQL.create(search, of: table.name).name] + SearchSQL.shadows(of: table.name)
        }
        return names
    }

    /// The search table of another table.
    static func searchTable(of table: TableDescription) -> (name: String, sql: String)? {
        table.search.map { SearchSQL.create($0, of: table.name) }
    }

    /// The same for one table. The table itself comes first.
    static func statements(for table: TableDescription) -> [(name: String, sql: String)] {
        var result = [(table.name, createTable(table, named: table.name))]
        for (isUnique, sets) in [(true, table.uniques), (false, table.indexes)] {
            result += sets.map { index($0, isUnique: isUnique, of: table) }
        }
        for column in table.columns where column.content == .external {
            result += ExternalSQL.triggers(table: table.name, column: column.name)
        }
        if let search = table.search { result += SearchSQL.triggers(search, of: table.name) }
        return result
    }

    /// - Parameter order: the names of all columns in their order in the file. Columns that it does not name keep their
    ///   order, after the others.
    static func createTable(_ table: TableDescription, named name: String, order: [String] = []) -> String {
        var all = [(name: "id", sql: "\"id\" INTEGER PRIMARY KEY")]
        all += table.columns.map { ($0.name, column($0)) }
        all.append(("_version", "\"_version\" INTEGER NOT NULL DEFAULT 0"))
        if !order.isEmpty {
            let places = Dictionary(order.enumerated().map { (UTF8Text($1), $0) }) { first, _ in first }
            let ranked = all.enumerated().map { (place: places[UTF8Text($1.name)] ?? order.count + $0, column: $1) }
            all = ranked.sorted { $0.place < $1.place }.map(\.column)
        }
        return "CREATE TABLE \(name.quotedIdentifier) (\(all.map(\.sql).joined(separator: ", ")))"
    }

    static func column(_ column: ColumnDescription) -> String {
        "\(column.name.quotedIdentifier) \(column.type.rawValue)\(column.isOptional ? "" : " NOT NULL")"
    }

    static func index(
        _ index: ColumnIndex<String>,
        isUnique: Bool,
        of table: TableDescription
    ) -> (name: String, sql: String) {
        let name = indexName(index, isUnique: isUnique, of: table)
        let list = index.columns.map(\.quotedIdentifier).joined(separator: ", ")
        return (
            name,
            "CREATE \(isUnique ? "UNIQUE " : "")INDEX \(name.quotedIdentifier) "
                + "ON \(table.name.quotedIdentifier) (\(list))\(condition(present: index.present?.quotedIdentifier))"
        )
    }

    private static func indexName(_ index: ColumnIndex<String>, isUnique: Bool, of table: TableDescription) -> String {
        let part = index.present.map { ["with", $0] } ?? []
        return ([table.name] + index.columns + part + [isUnique ? "unique" : "index"]).joined(separator: "_")
    }

    /// The condition of a partial index: the quoted column must have a value. SQLite identifies the index by this
    /// condition.
    static func condition(present column: String?) -> String { column.map { " WHERE \($0) IS NOT NULL" } ?? "" }
}
