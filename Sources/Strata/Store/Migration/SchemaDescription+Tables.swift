extension SchemaDescription {
    /// Creates the description of a store of format 1 from its tables, because this format did not record a
    /// description.
    ///
    /// The tables do not show where a reference leads, whether a text is a decimal, or what the other side of a
    /// relationship is.
    init(tables entries: [SchemaEntry], on connection: Connection) throws {
        tables = []
        var joins: [String] = []
        for name in entries.filter({ $0.isTable && $0.isOfModel }).map(\.name) {
            var columns = try Self.columns(of: name, on: connection)
            if columns.map(\.name) == TableDescription.joinColumns {
                joins.append(name)
                continue
            }
            for index in columns.indices {
                let trigger = ExternalSQL.triggers(table: name, column: columns[index].name)[0].name
                if entries.contains(where: { $0.name == trigger }) { columns[index].content = .external }
            }
            tables.append(
                TableDescription(
                    content: .model(name),
                    name: name,
                    columns: columns,
                    uniques: try Self.indexes(of: name, isUnique: true, on: connection),
                    indexes: try Self.indexes(of: name, isUnique: false, on: connection)
                )
            )
        }
        for name in joins {
            let owners = tables.map(\.name).filter { name.hasBytePrefix($0 + "_") }
            let owner = owners.max { $0.utf8.count < $1.utf8.count } ?? name
            let near = PropertyPath(table: owner, property: name.droppingFirstBytes(owner.utf8.count + 1))
            let far = PropertyPath(table: "", property: "")
            tables.append(TableDescription(near: near, far: far, isPlaces: false))
        }
        sort()
    }

    private static func columns(of table: String, on connection: Connection) throws -> [ColumnDescription] {
        try connection.tableColumns(of: table).compactMap { column in
            guard column.name != "id", column.name != "_version" else { return nil }
            return ColumnDescription(
                name: column.name,
                type: ColumnType(rawValue: column.type) ?? .blob,
                isOptional: column.isOptional,
                content: .unknown
            )
        }
    }

    private static func indexes(
        of table: String,
        isUnique: Bool,
        on connection: Connection
    ) throws -> [ColumnIndex<String>] {
        var names: [String] = []
        try connection.statement(MigrationSQL.indexes).run([.text(table), .integer(isUnique ? 1 : 0)]) { row in
            names.append(row.string(at: 0))
        }
        return ColumnIndex.sorted(
            try names.map { name in
                var columns: [String] = []
                try connection.statement(MigrationSQL.indexColumns).run([.text(name)]) {
                    columns.append($0.string(at: 0))
                }
                return ColumnIndex(columns)
            }
        )
    }
}

extension TableDescription {
    fileprivate static let joinColumns = ["left", "right", "left_place", "right_place"]
}
