import Strata

/// A table that a store records, for readers that do not have its model.
///
/// The names in its statements come from the record of the store, and are quoted.
package struct StoredTable: Sendable {
    /// The description of the table.
    package let description: TableDescription

    /// The number of columns that one statement reads. SQLite allows 2,000 columns of a result.
    private static let columnsOfStatement = 100

    /// The table with a name; nil if the store does not record it. Tables of SQLite and of Strata itself are never
    /// found.
    package init?(named name: String, in record: StoreRecord) {
        guard !Self.isInternal(name),
            let found = record.schema.tables.first(where: { $0.name.hasSameBytes(as: name) })
        else { return nil }
        description = found
    }

    /// All tables of a store, in the order of its record.
    package static func all(in record: StoreRecord) -> [StoredTable] {
        record.schema.tables.compactMap { StoredTable(named: $0.name, in: record) }
    }

    private static func isInternal(_ name: String) -> Bool {
        // SQLite ignores the case of ASCII letters in names.
        let lowered = name.lowercased()
        return lowered.hasBytePrefix("sqlite_") || lowered.hasBytePrefix("strata_")
    }

    package var name: String { description.name }
    package var columns: [ColumnDescription] { description.columns }

    // MARK: Reading

    /// A row with the values of some columns.
    package struct Row: Sendable {
        package let id: Int64
        /// In the order of the columns.
        package let fields: [StoredField]
    }

    /// Some rows, in the order of their ids.
    ///
    /// - Parameters:
    ///   - id: the id after which the rows begin; 0 for the first ones.
    ///   - columns: the number of columns, at most 100.
    ///   - length: the greatest number of bytes of a text or blob that are read.
    ///   - limit: the greatest number of rows.
    /// - Complexity: O(limit), and the size of the texts in the rows.
    package func rows(
        after id: Int64,
        columns: Int,
        length: Int,
        limit: Int,
        in context: ObjectContext
    ) throws -> [Row] {
        let names = description.columns.prefix(min(columns, Self.columnsOfStatement))
        return try context.rows(select(names, after: id, length: length, limit: limit)).compactMap(Self.decoded)
    }

    /// The row with an id and all of its columns; nil if it does not exist.
    ///
    /// - Parameter length: as in ``rows(after:columns:length:limit:in:)``.
    package func row(_ id: Int64, length: Int, in context: ObjectContext) throws -> Row? {
        var (fields, rest): ([StoredField], ArraySlice<ColumnDescription>) = ([], description.columns[...])
        repeat {
            let names = rest.prefix(Self.columnsOfStatement)
            rest = rest.dropFirst(Self.columnsOfStatement)
            guard let row = try context.rows(select(names, id: id, length: length)).first.flatMap(Self.decoded) else {
                return nil
            }
            fields += row.fields
        } while !rest.isEmpty
        return Row(id: id, fields: fields)
    }

    /// Whether the table has a row with an id.
    package func contains(_ id: Int64, in context: ObjectContext) throws -> Bool {
        try !context.rows(selectExistence(of: id)).isEmpty
    }

    /// The number of rows.
    ///
    /// - Parameter limit: the number up to which the rows are counted.
    /// - Complexity: O(limit).
    package func count(upTo limit: Int, in context: ObjectContext) throws -> Int {
        try context.values(Int.self, selectCount(upTo: limit)).first ?? 0
    }

    private static func decoded(_ row: SQLRow) -> Row? {
        guard let id = row.values.first?.lenientInteger else { return nil }
        let fields = stride(from: 1, to: row.values.count - 2, by: 3).map { index in
            StoredField(
                storageClass: row.values[index],
                beginning: row.values[index + 1],
                size: row.values[index + 2]
            )
        }
        return Row(id: id, fields: fields)
    }

    // MARK: Statements

    private var source: SQL { SQL(stringLiteral: name.quotedIdentifier) }

    package func select(
        _ columns: ArraySlice<ColumnDescription>,
        after id: Int64,
        length: Int,
        limit: Int
    ) -> SQL {
        """
        SELECT "id"\(values(of: columns, length)) FROM \(source) WHERE "id" > \(id) ORDER BY "id" LIMIT \(limit)
        """
    }

    package func select(_ columns: ArraySlice<ColumnDescription>, id: Int64, length: Int) -> SQL {
        "SELECT \"id\"\(values(of: columns, length)) FROM \(source) WHERE \"id\" = \(id)"
    }

    package func selectExistence(of id: Int64) -> SQL { "SELECT \"id\" FROM \(source) WHERE \"id\" = \(id)" }

    package func selectCount(upTo limit: Int) -> SQL {
        "SELECT count(*) FROM (SELECT 1 FROM \(source) LIMIT \(limit))"
    }

    /// The storage class of each column, the beginning of its value, and its size in bytes.
    private func values(of columns: ArraySlice<ColumnDescription>, _ length: Int) -> SQL {
        // SQLite reads the whole value before it cuts it. It knows the size of a blob without reading it.
        let text = columns.map { column in
            let name = column.name.quotedIdentifier
            return """
                , typeof(\(name)), CASE typeof(\(name)) WHEN 'text' THEN substr(CAST(\(name) AS BLOB), 1, \(length)) \
                WHEN 'blob' THEN CASE WHEN length(\(name)) <= \(StoredField.readBlobSize) \
                THEN substr(\(name), 1, \(length)) END ELSE \(name) END, \
                CASE typeof(\(name)) WHEN 'text' THEN length(CAST(\(name) AS BLOB)) WHEN 'blob' THEN length(\(name)) END
                """
        }
        return SQL(stringLiteral: text.joined())
    }
}
