extension HomeDescription {
    /// The description of the store of a program.
    init(_ schema: Schema, _ migration: Migration) {
        self.init(
            format: StoreFile.formatVersion,
            version: migration.version,
            schema: schema.text,
            steps: migration.steps.map(\.name),
            tables: Self.tables(of: schema.description) { table, column in
                // Of models that the program does not have, only the description is known.
                let known = schema.infosByTable[table]?.columns.first { $0.name.hasSameBytes(as: column.name) }
                return known.map(\.mayExceedInt64) ?? column.mayExceedInt64
            }
        )
    }

    /// The description of an existing store, as it records it about itself.
    init(_ record: SchemaRecord, _ schema: SchemaDescription) {
        self.init(
            format: record.format,
            version: record.version,
            schema: record.description,
            steps: record.steps,
            tables: Self.tables(of: schema) { $1.mayExceedInt64 }
        )
    }

    /// The tables whose rows the home keeps: those of the models, the external bytes, and the history.
    ///
    /// - Parameter isUnsigned: whether the column of a table may contain integers beyond `Int64.max`.
    private static func tables(
        of description: SchemaDescription,
        _ isUnsigned: (_ table: String, ColumnDescription) -> Bool
    ) -> [HomeTable] {
        let hasExternals = description.tables.contains { $0.columns.contains { $0.content == .external } }
        return [history] + (hasExternals ? [externals] : [])
            + description.tables.map { table in
                let columns = table.columns.map {
                    HomeTable.Column(
                        name: $0.name,
                        type: $0.type,
                        isOptional: $0.isOptional,
                        isUnsigned: isUnsigned(table.name, $0)
                    )
                }
                return HomeTable(name: table.name, columns: [integer("id")] + columns + [integer("_version")])
            }
    }

    /// The description of newer models, with the columns that this home has in the form that it gave them.
    ///
    /// - Parameter widens: whether a column may get another form that can have more values.
    func typing(_ proposal: HomeDescription, widens: Bool) -> HomeDescription {
        let known = tablesByName
        var result = proposal
        result.tables = proposal.tables.map { table in
            let columns = known[UTF8Text(table.name)]?.columns ?? []
            let forms = Dictionary(columns.map { (UTF8Text($0.name), $0.isUnsigned) }) { first, _ in first }
            return HomeTable(
                name: table.name,
                columns: table.columns.map { column in
                    guard let form = forms[UTF8Text(column.name)] else { return column }
                    var column = column
                    column.isUnsigned = form || widens && column.isUnsigned
                    return column
                }
            )
        }
        return result
    }

    private static let history = HomeTable(
        name: HistorySQL.name,
        columns: [
            integer("sequence"), HomeTable.Column(name: "time", type: .real, isOptional: false),
            HomeTable.Column(name: "author", type: .text, isOptional: true), integer("total"),
            HomeTable.Column(name: "changes", type: .blob, isOptional: true), integer("migrations"),
        ]
    )

    private static let externals = HomeTable(
        name: ExternalSQL.table.name,
        columns: [integer("id"), HomeTable.Column(name: "content", type: .blob, isOptional: false)]
    )

    private static func integer(_ name: String) -> HomeTable.Column {
        HomeTable.Column(name: name, type: .integer, isOptional: false)
    }

    /// The tables by their names.
    var tablesByName: [UTF8Text: HomeTable] {
        Dictionary(uniqueKeysWithValues: tables.map { (UTF8Text($0.name), $0) })
    }

    /// The same description, with the columns of each table in their order in a file. Changesets have the values in
    /// this order: an added column comes after the others, wherever the model declares it.
    ///
    /// - Throws: `damagedStore` if a column is missing.
    func inOrder(of connection: Connection) throws -> HomeDescription {
        var description = self
        description.tables = try tables.map { table in
            let found = try connection.tableColumns(of: table.name).map(\.name)
            let columns = Dictionary(table.columns.map { (UTF8Text($0.name), $0) }) { first, _ in first }
            let ordered = found.compactMap { columns[UTF8Text($0)] }
            guard ordered.count == table.columns.count else { throw StoreIdentity.damaged.naming(connection.path) }
            return HomeTable(name: table.name, columns: ordered)
        }
        return description
    }
}
