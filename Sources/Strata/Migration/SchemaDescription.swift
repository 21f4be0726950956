/// What a store keeps, in the words of its models.
///
/// Two of these are compared to find out what a migration has to do: one is made of the models, the other was recorded in
/// the store when it was last migrated. What does not concern the values in the tables (delete rules, default
/// values) is not part of it.
struct SchemaDescription: Sendable, Equatable {
    /// Models by name, then the tables of relationships.
    var tables: [TableDescription]

    func table(named name: String) -> TableDescription? { tables.first { $0.name == name } }

    /// The table of a model, by the name of the model or, where none is called so, of the table.
    func table(ofModel name: String) -> TableDescription? {
        tables.first { $0.content == .model(name) } ?? table(named: name)
    }
}

/// One table.
struct TableDescription: Sendable, Equatable {
    enum Content: Sendable, Hashable {
        /// The objects of a model.
        case model(String)
        /// The members of a many-to-many relationship, by its two sides.
        case members(PropertyPath, PropertyPath)
        /// The places of the members of an ordered relationship, whose other side is a to-one.
        case places(PropertyPath, PropertyPath)
    }

    let content: Content
    /// The name of the table.
    let name: String
    /// In the order of the declaration. In the file they may stand in another one.
    var columns: [ColumnDescription]
    /// Columns whose values, together, are unique.
    var uniques: [ColumnIndex<String>]
    /// Columns that have an index, beyond the unique ones.
    var indexes: [ColumnIndex<String>]
    /// What is searched for words; nil where nothing is.
    var search: SearchDescription?

    func column(named name: String) -> ColumnDescription? { columns.first { $0.name == name } }

    /// The name of what it keeps, for messages: `Article` or `Article.tags`.
    var subject: String {
        switch content {
        case .model(let name): name
        case .members(let path, _), .places(let path, _): path.description
        }
    }

    /// The two sides of the relationship whose table it is. Of a store of format 1 the far one is not known.
    var ends: (near: PropertyPath, far: PropertyPath)? {
        switch content {
        case .model: nil
        case .members(let near, let far), .places(let near, let far): (near, far)
        }
    }
}

/// A property of a model, by the name of the model's table.
struct PropertyPath: Sendable, Hashable, CustomStringConvertible {
    let table: String
    let property: String
    var description: String { "\(table).\(property)" }
    var isKnown: Bool { !table.isEmpty }
}

/// One column of a table.
struct ColumnDescription: Sendable, Equatable {
    enum Content: Sendable, Hashable {
        /// A value as it is.
        case plain
        /// Anything but `external`, in a store of format 1, which did not record it.
        case unknown
        /// The text of a `Decimal`.
        case decimal
        /// The number of bytes that are kept outside of the row.
        case external
        /// The id of an object in another table.
        case reference(String)
    }

    var name: String
    var type: ColumnType
    var isOptional: Bool
    var content: Content
    /// The Swift type of the values; nil for a relationship, and in a store of format 1, which did not record it.
    var valueType: String?
    /// The rules for values, in the words of their messages.
    var rules: [String] = []

    /// The type that needs no mention, since most columns like this have it.
    var usualType: String? {
        switch content {
        case .reference, .unknown: nil
        case .decimal: "Decimal"
        case .external: "ExternalData"
        case .plain:
            switch type {
            case .integer: "Int"
            case .real: "Double"
            case .text: "String"
            case .blob: "Data"
            }
        }
    }
}

extension TableDescription {
    /// The table of a relationship, which has the same columns for all of them.
    init(relationship content: Content, near: PropertyPath, far: PropertyPath) {
        self.content = content
        name = "\(near.table)_\(near.property)"
        let ends = [("left", near.table), ("right", far.table)]
        columns =
            ends.map {
                ColumnDescription(name: $0.0, type: .integer, isOptional: false, content: .reference($0.1))
            }
            + ["left_place", "right_place"].map {
                ColumnDescription(name: $0, type: .real, isOptional: true, content: .plain)
            }
        uniques = [["left", "right"]]
        indexes = [["right"]]
    }
}
