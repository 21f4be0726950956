extension HomeDescription {
    /// The description of the store of a program.
    init(_ schema: Schema, _ migration: Migration) {
        self.init(
            format: StoreFile.formatVersion,
            version: migration.version,
            schema: schema.text,
            steps: migration.steps.map(\.name),
            tables: Self.tables(of: schema.description)
        )
    }

    /// The description of an existing store, as it records it about itself.
    init(_ record: SchemaRecord, _ schema: SchemaDescription) {
        self.init(
            format: record.format,
            version: record.version,
            schema: record.description,
            steps: record.steps,
            tables: Self.tables(of: schema)
        )
    }

    /// The tables whose rows the home keeps: those of the models, the external bytes, and the history.
    private static func tables(of description: SchemaDescription) -> [HomeTable] {
        let hasExternals = description.tables.contains { $0.columns.contains { $0.content == .external } }
        return [history] + (hasExternals ? [externals] : [])
            + description.tables.map { table in
                let columns = table.columns.map {
                    HomeTable.Column(name: $0.name, type: $0.type, isOptional: $0.isOptional)
                }
                return HomeTable(name: table.name, columns: [integer("id")] + columns + [integer("_version")])
            }
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
