import Strata

/// The SQL of a table with the rows of a model.
struct TableSQL: Sendable {
    let table: HomeTable
    private let name: String

    init(_ table: HomeTable, store: String) {
        self.table = table
        name = "\(store.quotedIdentifier).\(table.name.quotedIdentifier)"
    }

    /// Creates the table, with a primary key only. The working copies have checked unique values and references.
    var create: String {
        let columns = table.columns.enumerated().map { index, column in
            let constraint = index == 0 ? " PRIMARY KEY" : column.isOptional ? "" : " NOT NULL"
            return "\(column.name.quotedIdentifier) \(column.type.postgresName)\(constraint)"
        }
        return "CREATE TABLE \(name) (\(columns.joined(separator: ", ")))"
    }

    var select: String { "SELECT \(columnNames) FROM \(name)" }

    /// Takes an array for each column.
    var insert: String { "INSERT INTO \(name) (\(columnNames)) SELECT * FROM unnest(\(parameters(columnCount)))" }

    /// Takes the ids, and then an array for each of the columns.
    func update(_ columns: [Int]) -> String {
        let values = columns.indices.map { "c\($0)" }
        let assignments = zip(columns, values).map { column, value in
            "\(table.columns[column].name.quotedIdentifier) = n.\(value)"
        }
        return """
            UPDATE \(name) AS t SET \(assignments.joined(separator: ", ")) \
            FROM unnest(\(parameters(columns.count + 1))) AS n (\((["k"] + values).joined(separator: ", "))) \
            WHERE t.\(key) = n.k
            """
    }

    /// Takes the ids.
    var delete: String { "DELETE FROM \(name) WHERE \(key) = ANY ($1)" }

    private var key: String { table.columns[0].name.quotedIdentifier }
    private var columnCount: Int { table.columns.count }
    private var columnNames: String { table.columns.map(\.name.quotedIdentifier).joined(separator: ", ") }

    private func parameters(_ count: Int) -> String { (1...count).map { "$\($0)" }.joined(separator: ", ") }
}

// MARK: Names

extension HomeTable {
    /// Checks that PostgreSQL can have the table.
    ///
    /// - Throws: `invalidSchema`.
    func checkNames() throws {
        guard !columns.isEmpty else {
            throw StrataError(.invalidSchema, "The table \(name) does not have columns.")
        }
        try Self.check(name, "table", .invalidSchema)
        for column in columns {
            try Self.check(column.name, "column of \(name)", .invalidSchema)
            guard !Self.systemColumns.contains(UTF8Text(column.name)) else {
                throw StrataError(
                    .invalidSchema,
                    "PostgreSQL has a column \(column.name) of its own in each table. Rename the column of \(name)."
                )
            }
        }
    }

    /// Checks a name, which PostgreSQL would otherwise cut after 63 bytes.
    static func check(_ name: String, _ kind: String, _ code: StrataError.Code) throws {
        guard (1...63).contains(name.utf8.count), !name.utf8.contains(0) else {
            throw StrataError(
                code,
                "The name '\(name)' of a \(kind) has \(name.utf8.count) bytes in UTF-8. Names in PostgreSQL have 1 to 63 "
                    + "bytes, without U+0000. Shorten the name."
            )
        }
    }

    private static let systemColumns: Set<UTF8Text> = ["tableoid", "xmin", "cmin", "xmax", "cmax", "ctid"]
}
