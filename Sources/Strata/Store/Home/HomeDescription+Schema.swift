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

    /// The names of the columns of each table.
    var columns: [UTF8Text: [String]] {
        Dictionary(uniqueKeysWithValues: tables.map { (UTF8Text($0.name), $0.columns.map(\.name)) })
    }
}
