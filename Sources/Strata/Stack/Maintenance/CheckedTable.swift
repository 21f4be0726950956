/// The parts of a table that a check of the store verifies.
struct CheckedTable {
    /// A column of any table that refers to rows of this one.
    struct Reference {
        let table: String
        /// The model or relationship of that table.
        let subject: String
        let column: String
    }

    /// The model or relationship, for findings.
    let subject: String
    let name: String
    let incoming: [Reference]
    let uniques: [ColumnIndex<String>]
    /// The columns whose bytes are stored outside of the row.
    let externals: [String]

    /// The table of an entity. A relationship with the rule `noAction` may keep references to deleted objects.
    init(_ info: EntityInfo, _ schema: Schema) {
        subject = info.name
        name = info.table
        incoming = info.incoming.filter { $0.deleteRule != .noAction }.map { reference in
            let from = schema.entities[reference.entity].info
            return Reference(table: from.table, subject: from.name, column: from.columns[reference.column].name)
        }
        uniques = info.uniqueIndexes.map { $0.map { info.columns[$0].name } }
        externals = info.columns.indices.filter { info.externals.contains($0) }.map { info.columns[$0].name }
    }

    /// The tables that a store records. The record does not contain delete rules.
    ///
    /// - Parameter exceptions: the relationships that may keep references to deleted objects, as `Article.author`.
    static func all(in description: SchemaDescription, allowingMissing exceptions: [String]) -> [CheckedTable] {
        var incoming: [UTF8Text: [Reference]] = [:]
        for table in description.tables {
            for column in table.columns where !exceptions.containsBytes(of: "\(table.subject).\(column.name)") {
                guard let target = column.referencedTable else { continue }
                incoming[UTF8Text(target), default: []].append(
                    Reference(table: table.name, subject: table.subject, column: column.name)
                )
            }
        }
        return description.tables.map { CheckedTable($0, incoming: incoming[UTF8Text($0.name)] ?? []) }
    }

    private init(_ table: TableDescription, incoming: [Reference]) {
        subject = table.subject
        name = table.name
        self.incoming = incoming
        uniques = table.uniques
        externals = table.columns.filter { $0.content == .external }.map(\.name)
    }
}
