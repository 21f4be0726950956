/// The declarations of the models that the tables of a store do not show, as a program records them in the store.
///
/// A ``SchemaDescription`` describes the tables, and a difference from it is a migration. These declarations change
/// without one: a program that opens the store for writing replaces them. Code of the program, such as a closure that
/// checks a value, is recorded by its existence only.
///
/// The JSON text omits what most models and attributes do not have, so the properties are optional.
struct RecordedModels: Codable, Sendable, Equatable {
    /// The version of the form of the record. A program that does not know it cannot use the record.
    static let currentForm = 1

    let form: Int
    /// The models in the order of their tables' names.
    let models: [RecordedModel]

    /// The model of a table.
    func model(ofTable table: String) -> RecordedModel? { models.first { $0.table.hasSameBytes(as: table) } }
}

/// The declarations of one model.
struct RecordedModel: Codable, Sendable, Equatable {
    let table: String
    /// The name of the class in earlier versions, which lines may contain.
    let originalName: String?
    /// Whether the model belongs to an engine; otherwise nil.
    let isOfEngine: Bool?
    /// Whether the class declares ``Model/validate(_:_:)``; otherwise nil.
    let validatesRows: Bool?
    /// All columns in the order of their declaration.
    let attributes: [RecordedAttribute]
    /// All relationships without a column in the model's table, in the order of their declaration.
    let relationships: [RecordedRelationship]

    func attribute(named name: String) -> RecordedAttribute? { attributes.first { $0.name.hasSameBytes(as: name) } }

    func relationship(named name: String) -> RecordedRelationship? {
        relationships.first { $0.name.hasSameBytes(as: name) }
    }
}

/// The declarations of a column.
struct RecordedAttribute: Codable, Sendable, Equatable {
    /// The values that Strata sets.
    enum Role: String, Codable, Sendable {
        case createdAt
        case updatedAt
        /// Calculated by code of the program.
        case derived
    }

    let name: String
    /// The names of the property in earlier versions, the newest first.
    let originalNames: [String]?
    /// The type of the values; nil for a to-one relationship.
    let type: RecordedType?
    /// Nil for values that the program sets.
    let role: Role?
    /// Whether the declaration has a default value; otherwise nil.
    let hasDefault: Bool?
    /// The default value, if it is a literal.
    let defaultValue: RecordedValue?
    let rules: [DeclaredRule]?
    /// The messages of the checks that are closures of the program.
    let codeRules: [String]?
    /// Whether a to-one relationship may refer to a deleted object (``DeleteRule/noAction``); otherwise nil.
    let mayDangle: Bool?
}

/// The type of an attribute.
struct RecordedType: Codable, Sendable, Equatable {
    /// The name of the type that the column holds: for a transformed attribute, the type that its transformer stores.
    let name: String
    /// Whether this is the type of ``LibraryTypes`` with the name, and not a type of the program; otherwise nil.
    let isOfLibrary: Bool?
    /// The stored forms of all values, for an enum that lists its cases (`CaseIterable`).
    let cases: [RecordedValue]?
    /// Whether a transformer of the program converts the values; otherwise nil.
    let isTransformed: Bool?

    /// The type in this library; nil for a type of the program.
    var libraryType: (any AttributeValue.Type)? { isOfLibrary == true ? LibraryTypes.type(named: name) : nil }

    /// Whether the values are unsigned 64-bit integers, which may be stored as blobs.
    var isUnsigned: Bool { libraryType == UInt64.self || libraryType == UInt.self }

    /// Whether only code of the program knows the valid values.
    var isCode: Bool { isTransformed == true || (libraryType == nil && cases == nil) }
}

/// A relationship without a column in the table of its model.
struct RecordedRelationship: Codable, Sendable, Equatable {
    let name: String
    let originalName: String?
    /// The table of the model at the other end.
    let destination: String
    /// Whether the members have an order on this side; otherwise nil.
    let isOrdered: Bool?
}
