/// The statements that make Strata's tables.
enum SchemaSQL {
    /// One row about the store itself, and the fingerprints that it had before it was copied.
    static let housekeeping = [
        """
        CREATE TABLE "strata_store" ("id" INTEGER PRIMARY KEY CHECK ("id" = 1), \
        "next_id" INTEGER NOT NULL, "fingerprint" INTEGER NOT NULL, "place" TEXT NOT NULL)
        """,
        """
        CREATE TABLE "strata_lineage" ("fingerprint" INTEGER NOT NULL, "before" INTEGER NOT NULL)
        """,
        HistorySQL.table,
    ]

    static let housekeepingNames = ["strata_store", "strata_lineage", HistorySQL.name]

    static let insertStore =
        "INSERT INTO \"strata_store\" (\"id\", \"next_id\", \"fingerprint\", \"place\") VALUES (1, 1, ?, ?)"
    static let readStore =
        "SELECT \"next_id\", \"fingerprint\", \"place\" FROM \"strata_store\" WHERE \"id\" = 1"
    static let readNextID = "SELECT \"next_id\" FROM \"strata_store\" WHERE \"id\" = 1"
    static let reserveIDs = "UPDATE \"strata_store\" SET \"next_id\" = \"next_id\" + ? WHERE \"id\" = 1"
    static let setFingerprint = "UPDATE \"strata_store\" SET \"fingerprint\" = ?, \"place\" = ? WHERE \"id\" = 1"
    static let insertLineage = "INSERT INTO \"strata_lineage\" (\"fingerprint\", \"before\") VALUES (?, ?)"
    static let readLineage = "SELECT \"fingerprint\", \"before\" FROM \"strata_lineage\""
    static let readSchema =
        "SELECT \"name\", \"sql\", \"tbl_name\", \"type\" FROM sqlite_schema WHERE \"sql\" IS NOT NULL "
        + "AND \"name\" <> 'sqlite_sequence'"

    /// The names of everything that an entity needs, each with the statement that makes it.
    static func statements(for info: EntityInfo) -> [(name: String, sql: String)] {
        let columns = info.columns.map { column in
            "\(column.name.quotedIdentifier) \(column.type.rawValue)\(column.isOptional ? "" : " NOT NULL")"
        }
        let all = ["\"id\" INTEGER PRIMARY KEY"] + columns + ["\"_version\" INTEGER NOT NULL DEFAULT 0"]
        var result = [
            (info.table, "CREATE TABLE \(info.table.quotedIdentifier) (\(all.joined(separator: ", ")))")
        ]
        for (isUnique, sets) in [(true, info.uniques), (false, info.indexes)] {
            for set in sets {
                let names = set.map { info.columns[$0].name }
                let name = ([info.table] + names + [isUnique ? "unique" : "index"]).joined(separator: "_")
                let list = names.map(\.quotedIdentifier).joined(separator: ", ")
                result.append(
                    (
                        name,
                        "CREATE \(isUnique ? "UNIQUE " : "")INDEX \(name.quotedIdentifier) "
                            + "ON \(info.table.quotedIdentifier) (\(list))"
                    )
                )
            }
        }
        for column in info.externals {
            result += ExternalSQL.triggers(table: info.table, column: info.columns[column].name)
        }
        return result
    }
}
