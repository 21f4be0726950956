import Foundation
import GRDB
import Strata

extension Database {
    /// Calls a function for all rows of a table, in portions.
    func forEachPortion(of table: HomeTable, _ body: ([[StoredValue]]) throws -> Void) throws {
        let cursor = try Row.fetchCursor(self, sql: "SELECT * FROM \(table.identifier)")
        var rows: [[StoredValue]] = []
        while let row = try cursor.next() {
            rows.append(row.databaseValues.map { StoredValue($0) })
            if rows.count == 500 {
                try body(rows)
                rows = []
            }
        }
        if !rows.isEmpty { try body(rows) }
    }

    /// Applies changes to the rows, or undoes them.
    ///
    /// - Throws: `invalidState` if the rows do not have the values that the changes start from.
    func apply(_ changes: HomeChanges, isReversed: Bool = false, of description: HomeDescription) throws {
        let tables = Dictionary(uniqueKeysWithValues: description.tables.map { ($0.name, $0) })
        try changes.forEach { name, change in
            guard let table = tables[name] else {
                throw StrataError(.invalidState, "The home has no table \(name).")
            }
            switch isReversed ? change.reversed : change {
            case .insert(let values): try insert(values, into: table)
            case .delete(let values): try delete(values, from: table)
            case .update(let before, let after): try update(before, to: after, in: table)
            }
            guard changesCount == 1 else {
                throw StrataError(.invalidState, "The home has no such row in \(name): \(change)")
            }
        }
    }

    func insert(_ values: [StoredValue], into table: HomeTable) throws {
        let marks = values.map { _ in "?" }.joined(separator: ", ")
        // The table may have more columns, if another node has added them since this one was opened.
        let names = table.columns.prefix(values.count).map { HomeTable.quoted($0.name) }.joined(separator: ", ")
        try execute(
            sql: "INSERT INTO \(table.identifier) (\(names)) VALUES (\(marks))",
            arguments: Self.arguments(values)
        )
    }

    private func delete(_ values: [StoredValue], from table: HomeTable) throws {
        let condition = table.list(values, "IS", separator: " AND ")
        try execute(sql: "DELETE FROM \(table.identifier) WHERE \(condition)", arguments: Self.arguments(values))
    }

    private func update(_ before: [StoredValue?], to after: [StoredValue?], in table: HomeTable) throws {
        let values = table.list(after, "=", separator: ", ")
        let condition = table.list(before, "IS", separator: " AND ")
        try execute(
            sql: "UPDATE \(table.identifier) SET \(values) WHERE \(condition)",
            arguments: Self.arguments(after + before)
        )
    }

    private static func arguments(_ values: [StoredValue?]) -> StatementArguments {
        StatementArguments(values.compactMap { $0?.databaseValue })
    }
}

extension HomeChanges.Change {
    /// The change that undoes this one.
    fileprivate var reversed: Self {
        switch self {
        case .insert(let values): .delete(values)
        case .delete(let values): .insert(values)
        // Only the values before an update contain the id, which is the first one.
        case .update(let before, let after):
            .update(before: [before[0]] + after.dropFirst(), after: [nil] + before.dropFirst())
        }
    }
}

extension HomeTable {
    /// The quoted name of the table in the file.
    var identifier: String { Self.quoted("row_" + name) }

    /// The statement that creates the table. SQLite converts values to the type of a column as in the working copies.
    var creation: String {
        let columns = self.columns.enumerated().map { index, column in
            definition(of: column) + (index == 0 ? " PRIMARY KEY" : "")
        }
        return "CREATE TABLE \(identifier) (\(columns.joined(separator: ", ")))"
    }

    /// The definition of a column in a statement that creates or changes the table.
    func definition(of column: Column) -> String {
        Self.quoted(column.name) + " \(column.type.rawValue)" + (column.isOptional ? "" : " NOT NULL")
    }

    /// The columns that have a value, each with an operator and a parameter.
    func list(_ values: [StoredValue?], _ operation: String, separator: String) -> String {
        zip(columns, values).filter { $1 != nil }.map { column, _ in "\(Self.quoted(column.name)) \(operation) ?" }
            .joined(separator: separator)
    }

    static func quoted(_ name: String) -> String {
        "\"" + name.replacingOccurrences(of: "\"", with: "\"\"") + "\""
    }
}

extension StoredValue {
    init(_ value: DatabaseValue) {
        switch value.storage {
        case .null: self = .null
        case .int64(let value): self = .integer(value)
        case .double(let value): self = .real(value)
        case .string(let value): self = .text(value)
        case .blob(let value): self = .blob(value)
        }
    }

    var databaseValue: DatabaseValue {
        switch self {
        case .null: .null
        case .integer(let value): value.databaseValue
        case .real(let value): value.databaseValue
        case .text(let value): value.databaseValue
        case .blob(let value): value.databaseValue
        }
    }
}
