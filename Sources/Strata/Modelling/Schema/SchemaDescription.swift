/// The contents of a store in terms of its models.
///
/// A migration compares two descriptions to determine its changes. One is created from the models. The last migration
/// recorded the other one in the store. Declarations that do not affect the values in the tables, such as delete rules
/// and default values, are not included.
package struct SchemaDescription: Sendable, Equatable {
    /// First the models, sorted by name, and then the tables of relationships.
    package var tables: [TableDescription]

    func table(named name: String) -> TableDescription? { tables.first { $0.name == name } }
}

/// The description of one table.
package struct TableDescription: Sendable, Equatable {
    enum Content: Sendable, Hashable {
        /// The objects of a model.
        case model(String)
        /// The members of a many-to-many relationship, identified by its two sides.
        case members(PropertyPath, PropertyPath)
        /// The places of the members of an ordered relationship whose other side is a to-one relationship.
        case places(PropertyPath, PropertyPath)
    }

    let content: Content
    /// The name of the table.
    package let name: String
    /// The columns in the order of their declaration. The order in the file can differ.
    package var columns: [ColumnDescription]
    /// Columns whose values are unique together.
    var uniques: [ColumnIndex<String>]
    /// Indexed columns, without unique ones.
    var indexes: [ColumnIndex<String>]
    /// The search index; nil if the table is not searchable.
    var search: SearchDescription?

    func column(named name: String) -> ColumnDescription? { columns.first { $0.name == name } }

    /// The name of the model or relationship, for messages: `Article` or `Article.tags`.
    package var subject: String {
        switch content {
        case .model(let name): name
        case .members(let path, _), .places(let path, _): path.description
        }
    }

    /// Whether the table contains the members of a relationship, and no objects.
    package var isRelationship: Bool { ends != nil }

    /// The two sides of the relationship that the table stores; nil for a model. In a store of format 1, the far side
    /// is unknown.
    var ends: (near: PropertyPath, far: PropertyPath)? {
        switch content {
        case .model: nil
        case .members(let near, let far), .places(let near, let far): (near, far)
        }
    }
}

/// A property of a model, identified by the name of the model's table.
struct PropertyPath: Sendable, Hashable, CustomStringConvertible {
    let table: String
    let property: String
    var description: String { "\(table).\(property)" }
    var isKnown: Bool { !table.isEmpty }
}

/// The description of one column.
package struct ColumnDescription: Sendable, Equatable {
    enum Content: Sendable, Hashable {
        /// A plain value.
        case plain
        /// In a store of format 1, which did not record the content: anything but `external`.
        case unknown
        /// The text of a `Decimal`.
        case decimal
        /// The number of bytes in external storage.
        case external
        /// The id of an object in another table.
        case reference(String)
    }

    package var name: String
    package var type: ColumnType
    package var isOptional: Bool
    var content: Content
    /// The Swift type of the values; nil for a relationship, and in a store of format 1, which did not record it.
    package var valueType: String?
    /// The rules for values, given by their messages.
    var rules: [String] = []

    /// The table of the object that the column refers to; nil if the column holds a value.
    package var referencedTable: String? { if case .reference(let table) = content { table } else { nil } }

    /// Whether the column holds the number of bytes that are stored outside of the row.
    package var isExternal: Bool { content == .external }

    /// Whether the column may contain integers beyond `Int64.max`, as far as the name of its type tells.
    var mayExceedInt64: Bool {
        switch content {
        case .reference, .external, .decimal: return false
        case .plain, .unknown: break
        }
        guard type == .integer else { return false }
        return valueType.flatMap(LibraryTypes.type(named:))?.mayExceedInt64 ?? true
    }

    /// The type that the text omits, because most columns of this kind have it.
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
    /// The table of a relationship. All such tables have the same columns.
    init(near: PropertyPath, far: PropertyPath, isPlaces: Bool) {
        content = isPlaces ? .places(near, far) : .members(near, far)
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
