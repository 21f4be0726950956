extension SchemaDescription {
    /// What the tables of a store of format 1 tell, which recorded nothing.
    ///
    /// What tables do not tell (where a reference leads, that a text is a decimal) is taken from the models where these
    /// have a table and column of the same name: nothing speaks against it.
    init(tables entries: [SchemaEntry], models: SchemaDescription, on connection: Connection) throws {
        let names = entries.filter { $0.isTable && $0.isOfModel }.map(\.name).sorted()
        let joins = Set(
            try names.filter { try Self.columns(of: $0, on: connection).map(\.name) == TableDescription.joinColumns }
        )
        tables = try names.filter { !joins.contains($0) }.map { name in
            let own = entries.filter { $0.table == name && !$0.isTable }
            let known = models.table(named: name)
            var content = TableDescription.Content.model(name)
            if let known, known.ends == nil { content = known.content }
            var table = TableDescription(
                content: content,
                name: name,
                columns: try Self.columns(of: name, on: connection),
                uniques: try Self.indexes(of: name, isUnique: true, on: connection),
                indexes: try Self.indexes(of: name, isUnique: false, on: connection)
            )
            for index in table.columns.indices { table.columns[index].complete(own, table: name, known) }
            return table
        }
        for name in joins { tables.append(join(named: name, models)) }
        sort()
    }

    /// The table of a relationship, whose sides are known where the models still have it.
    private func join(named name: String, _ models: SchemaDescription) -> TableDescription {
        if let known = models.table(named: name), known.ends != nil { return known }
        let owner =
            tables.map(\.name).filter { name.hasPrefix($0 + "_") }.max { $0.count < $1.count } ?? name
        let near = PropertyPath(table: owner, property: String(name.dropFirst(owner.count + 1)))
        let far = PropertyPath(table: "", property: "")
        return TableDescription(relationship: .members(near, far), near: near, far: far)
    }

    private static func columns(of table: String, on connection: Connection) throws -> [ColumnDescription] {
        try connection.tableColumns(of: table).compactMap { column in
            guard column.name != "id", column.name != "_version" else { return nil }
            return ColumnDescription(
                name: column.name,
                type: ColumnType(rawValue: column.type) ?? .blob,
                isOptional: column.isOptional,
                content: .plain
            )
        }
    }

    private static func indexes(of table: String, isUnique: Bool, on connection: Connection) throws -> [[String]] {
        var names: [String] = []
        try connection.statement(MigrationSQL.indexes).run([.text(table), .integer(isUnique ? 1 : 0)]) { row in
            names.append(row.string(at: 0))
        }
        return try names.map { name in
            var columns: [String] = []
            try connection.statement(MigrationSQL.indexColumns).run([.text(name)]) { columns.append($0.string(at: 0)) }
            return columns
        }
        .sorted { $0.lexicographicallyPrecedes($1) }
    }
}

extension TableDescription {
    fileprivate static let joinColumns = ["left", "right", "left_place", "right_place"]
}

extension ColumnDescription {
    fileprivate mutating func complete(_ own: [SchemaEntry], table: String, _ known: TableDescription?) {
        let trigger = ExternalSQL.triggers(table: table, column: name)[0].name
        if own.contains(where: { $0.name == trigger }) {
            content = .external
        } else if let known = known?.column(named: name), known.type == type, known.content != .external {
            content = known.content
        }
    }
}
