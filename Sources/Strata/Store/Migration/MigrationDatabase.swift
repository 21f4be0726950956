import CStrataSQLite
import Foundation

/// The store during a step of a migration, accessed by SQL within the migration's transaction.
///
/// A model's table has a column `id` and a column for each attribute. Each to-one relationship has a column with the id
/// of the destination. The column `_version` has a default value. The table of a many-to-many relationship is
/// `Article_tags`, with the columns `id`, `left`, `right`, `left_place` and `right_place`.
///
/// Isolation: use it only within the step. After the step, each call throws `invalidState`.
public final class MigrationDatabase {
    private var connection: Connection?
    private let cancellation: Cancellation

    init(_ connection: Connection, _ cancellation: Cancellation) {
        self.connection = connection
        self.cancellation = cancellation
    }

    func end() { connection = nil }

    /// Runs one statement.
    ///
    /// - Parameters:
    ///   - sql: the statement.
    ///   - values: the values for the question marks in the statement.
    /// - Returns: the number of rows that an `INSERT`, `UPDATE` or `DELETE` changed.
    /// - Throws: ``StrataError`` with `invalidState` for several statements at once, for a statement that would end the
    ///   transaction, or if the number of values differs from the number of question marks. Otherwise, the errors of
    ///   SQLite.
    @discardableResult
    public func execute(_ sql: String, _ values: (any AttributeValue)?...) throws -> Int {
        let connection = try open()
        let before = sqlite3_total_changes(connection.pointer)
        try run(sql, values) { _ in }
        // Other statements leave the count of the previous statement unchanged. The total also counts the changes of
        // triggers, so it only shows whether the statement changed anything.
        return sqlite3_total_changes(connection.pointer) == before ? 0 : connection.changes
    }

    /// The rows of a query.
    public func rows(_ sql: String, _ values: (any AttributeValue)?...) throws -> [MigrationRow] {
        var rows: [MigrationRow] = []
        try run(sql, values) { rows.append($0) }
        return rows
    }

    /// Passes each row of a query to a closure, one at a time, so that memory never holds all rows.
    public func forEach(
        _ sql: String,
        _ values: (any AttributeValue)?...,
        do body: (MigrationRow) throws -> Void
    ) throws {
        try run(sql, values, body)
    }

    /// The ids that a home has reserved are used up, also if the migration fails.
    private static let maxIDsOfHome = 1 << 32

    /// Reserves ids for rows that a step inserts. No object has these ids or will get them.
    ///
    /// - Throws: ``StrataError`` with `invalidState` for a negative count, or for more ids than are available.
    public func newIDs(_ count: Int) throws -> Range<Int64> {
        let connection = try open()
        if let ids = connection.homeIDs {
            guard (0...Self.maxIDsOfHome).contains(count) else {
                throw StrataError(
                    .invalidState,
                    "A step requests \(count) ids. In a store with a home, request \(Self.maxIDsOfHome) at most."
                )
            }
            let first = try ids.reserve(Int64(max(count, 1)))
            return first..<(first + Int64(count))
        }
        guard let first = try connection.integer(SchemaSQL.readNextID), IDSource.isRange(from: first)
        else { throw StoreIdentity.damaged }
        let room = max(0, IDSource.endForSteps - first)
        guard (0...room).contains(Int64(count)) else {
            throw StrataError(
                .invalidState,
                "A step requests \(count) ids, and only \(room) are available. Request fewer."
            )
        }
        return try connection.reserveIDs(Int64(count))..<(first + Int64(count))
    }

    /// Whether a table exists, including tables that do not belong to a model, and whether it has a column if one is
    /// given.
    public func has(_ table: String, _ column: String? = nil) throws -> Bool {
        let columns = try open().tableColumns(of: table)
        guard let column else { return !columns.isEmpty }
        return columns.contains { $0.name == column }
    }

    private func open() throws -> Connection {
        guard let connection else {
            throw StrataError(
                .invalidState,
                "The step that received this database has ended. Use the database only inside the step."
            )
        }
        try cancellation.check()
        // Some errors end the transaction, such as a full disk, or a constraint whose statement requests a rollback.
        guard sqlite3_get_autocommit(connection.pointer) == 0 else {
            throw StrataError(
                .invalidState,
                "An error has ended the transaction of the migration, so later changes would stay. Let the step throw "
                    + "the error."
            )
        }
        return connection
    }

    private func run(
        _ sql: String,
        _ values: [(any AttributeValue)?],
        _ body: (MigrationRow) throws -> Void
    ) throws {
        let connection = try open()
        guard try naming(sql, { try connection.isOneStatement(sql) }), !SQLText.isTransactionControl(sql) else {
            throw StrataError(
                .invalidState,
                "A step runs one statement at a time, which must not end the transaction: \(sql)"
            )
        }
        let statement = try naming(sql) { try Statement(sql, on: connection) }
        let parameters = Int(sqlite3_bind_parameter_count(statement.pointer))
        guard parameters == values.count else {
            throw StrataError(
                .invalidState,
                "A statement has \(parameters) question marks, and \(values.count) values were given for them: \(sql)"
            )
        }
        let names = (0..<sqlite3_column_count(statement.pointer)).map { index in
            sqlite3_column_name(statement.pointer, index).map { String(cString: $0) } ?? ""
        }
        let stored = try values.map { try $0?.storedValue ?? .null }
        var ofBody: (any Error)?
        try naming(sql, unless: { ofBody != nil }) {
            try statement.run(stored) { reader in
                let values = names.enumerated().map { ($1, reader.value(at: Int32($0))) }
                do {
                    try body(MigrationRow(values: Dictionary(values, uniquingKeysWith: { first, _ in first })))
                } catch {
                    ofBody = error
                    throw error
                }
            }
        }
    }

    /// Adds the statement to SQLite's error.
    private func naming<Value>(
        _ sql: String,
        unless isOther: () -> Bool = { false },
        _ body: () throws -> Value
    ) throws -> Value {
        do {
            return try body()
        } catch let error as StrataError where error.resultCode != nil && !isOther() {
            throw error.located("A statement was refused (\(sql))")
        }
    }
}

/// A row of the result of a query in a step.
public struct MigrationRow: Sendable {
    let values: [String: StoredValue]

    /// The stored value of a column; NULL for a column that the query does not have.
    public subscript(column: String) -> StoredValue { values[column] ?? .null }

    /// The value of a column as a value of an attribute type; nil for NULL.
    ///
    /// - Throws: ``StrataError`` with `undecodable` if the stored value is not of this type, or if the query has no
    ///   such column.
    public func get<Value: AttributeValue>(_ column: String, as type: Value.Type = Value.self) throws -> Value? {
        guard let stored = values[column] else {
            throw StrataError(.undecodable, "The query has no column '\(column)'.")
        }
        if stored == .null { return nil }
        guard let value = Value(storedValue: stored) else {
            throw StrataError(.undecodable, "The value \(stored) in column '\(column)' is not of type \(type).")
        }
        return value
    }
}
