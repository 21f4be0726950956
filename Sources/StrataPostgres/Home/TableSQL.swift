import Foundation
import Strata

/// The SQL of a table with the rows of a model.
struct TableSQL: Sendable {
    let table: HomeTable
    private let name: String
    /// The quoted names of the columns. The first is the primary key.
    private let columns: [String]
    private let key: String

    /// - Throws: `invalidSchema` if the table does not have columns.
    init(_ table: HomeTable, store: String) throws {
        self.table = table
        name = "\(store.quotedIdentifier).\(PostgresName.table(table.name).quotedIdentifier)"
        columns = table.columns.map { PostgresName.column($0.name).quotedIdentifier }
        guard let key = columns.first else {
            throw StrataError(.invalidSchema, "The table \(table.name) does not have columns.")
        }
        self.key = key
    }

    /// Creates the table, with a primary key only. The working copies have checked unique values and references.
    var create: String {
        let definitions = columns.indices.map { definition(of: $0) + ($0 == 0 ? " PRIMARY KEY" : "") }
        return "CREATE TABLE \(name) (\(definitions.joined(separator: ", ")))"
    }

    var drop: String { "DROP TABLE \(name)" }

    /// Adds the columns from an index on. Nodes that do not know them insert rows without them, so they have default
    /// values.
    func add(columnsFrom first: Int) -> String {
        let additions = columns.indices.dropFirst(first).map { "ADD COLUMN \(definition(of: $0))" }
        return "ALTER TABLE \(name) \(additions.joined(separator: ", "))"
    }

    private func definition(of index: Int) -> String {
        let column = table.columns[index]
        let type = PostgresColumnType(column)
        let value = column.defaultValue.map { " DEFAULT \($0.literal(in: type))" } ?? ""
        let isRequired = index > 0 && !column.isOptional
        return "\(columns[index]) \(type.name)\(isRequired ? " NOT NULL" : "")\(value)"
    }

    /// Keeps other sessions from changing the definition of the table.
    var lockForCopy: String { "LOCK TABLE \(name) IN ACCESS SHARE MODE" }

    /// Keeps other sessions from using the table.
    var lockForMigration: String { "LOCK TABLE \(name) IN ACCESS EXCLUSIVE MODE" }

    /// Sends all rows in the order of their ids. SQLite appends such rows, and does not search for the place of each.
    var copy: String { "COPY (SELECT \(columnList) FROM \(name) ORDER BY \(key)) TO STDOUT (FORMAT binary)" }

    var count: String { "SELECT count(*) FROM \(name)" }

    /// Takes an array for each of the first columns. The other columns get their default values.
    func insert(columnCount: Int) -> String {
        let names = columns.prefix(columnCount).joined(separator: ", ")
        return "INSERT INTO \(name) (\(names)) SELECT * FROM unnest(\(parameters(columnCount)))"
    }

    /// Takes the ids, and then an array for each of the columns.
    ///
    /// - Parameter changed: the indices of the columns.
    func update(_ changed: [Int]) -> String {
        let values = changed.indices.map { "c\($0)" }
        let assignments = zip(changed, values).map { column, value in "\(columns[column]) = n.\(value)" }
        return """
            UPDATE \(name) AS t SET \(assignments.joined(separator: ", ")) \
            FROM unnest(\(parameters(changed.count + 1))) AS n (\((["k"] + values).joined(separator: ", "))) \
            WHERE t.\(key) = n.k
            """
    }

    /// Takes the ids.
    var delete: String { "DELETE FROM \(name) WHERE \(key) = ANY ($1)" }

    private var columnList: String { columns.joined(separator: ", ") }

    private func parameters(_ count: Int) -> String { (1...count).map { "$\($0)" }.joined(separator: ", ") }
}

extension StoredValue {
    /// The value as a literal for a column, which does not depend on `standard_conforming_strings`.
    fileprivate func literal(in column: PostgresColumnType) -> String {
        if case .numeric = column, let number = UInt64(storedValue: self) { return "'\(number)'::numeric" }
        return switch self {
        case .null: "NULL"
        case .integer(let number): "'\(number)'::bigint"
        case .real(let number): "'\(number)'::double precision"
        case .text(let text): PostgresRoles.literal(text)
        case .blob(let bytes): "E'\\\\x\(bytes.map { String(format: "%02x", $0) }.joined())'::bytea"
        }
    }
}
