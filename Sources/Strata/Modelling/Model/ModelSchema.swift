import Foundation

/// The description of a class by `@Model`: its table, attributes, relationships, unique constraints and indexes.
@_documentation(visibility: internal)
public struct ModelSchema: Sendable {
    /// The name of the class.
    package let name: String
    /// The name of the table; the name of the class unless `table:` says otherwise.
    package let table: String
    /// The name of the class in stores of earlier versions.
    package let originalName: String?
    /// Stored columns in the order of their indexes, including to-one relationships. The id is not included.
    package let columns: [ColumnSchema]
    /// To-many relationships and the derived sides of one-to-one relationships.
    package let relationships: [RelationshipSchema]
    /// Compound constraints and indexes, by column names.
    package let options: [ModelOption]
    /// The methods that are called at certain moments in the life of an object.
    package let hooks: ModelHooks

    /// The schema of a class, as `@Model` describes it. Without `table`, the table has the name of the class.
    public init(
        name: String,
        table: String? = nil,
        originalName: String? = nil,
        columns: [ColumnSchema],
        relationships: [RelationshipSchema] = [],
        options: [ModelOption] = [],
        hooks: ModelHooks = ModelHooks()
    ) {
        self.name = name
        self.table = table ?? name
        self.originalName = originalName
        self.columns = columns
        self.relationships = relationships
        self.options = options
        self.hooks = hooks
    }
}

/// A stored column of a model.
@_documentation(visibility: internal)
public struct ColumnSchema: Sendable {
    /// The name of the property and of the column.
    package let name: String
    /// The storage type of the values in SQLite.
    package let type: ColumnType
    /// Whether the value may be nil.
    package let isOptional: Bool
    /// The destination of a to-one relationship; nil for an attribute.
    package let destination: ModelReference?
    /// For a to-one relationship: the effect on the destination when this object is deleted.
    package let deleteRule: DeleteRule
    /// The options of the declaration: uniqueness, an index, checks.
    package let options: [AttributeOption]
    /// Whether SQLite needs a custom comparison for the values (`Decimal`).
    var isDecimal: Bool { heldType == Decimal.self }
    /// Whether the values are unsigned 64-bit integers, which may be stored as blobs.
    var isUnsigned: Bool { heldType == UInt64.self || heldType == UInt.self }
    /// Whether the column may contain integers beyond `Int64.max`, which are stored as blobs.
    var mayExceedInt64: Bool { heldType?.mayExceedInt64 ?? false }
    /// Whether a transformer stores the values.
    var isTransformed = false
    /// Whether the values are calculated from other columns.
    var isDerived: Bool {
        options.contains { if case .derived = $0.kind { true } else { false } }
    }
    /// Whether the declared initial value is a literal.
    var hasLiteralDefault: Bool {
        options.contains { if case .literalDefault = $0.kind { true } else { false } }
    }
    /// The declared initial value when the column is added to existing rows; nil if the declaration does not have one.
    /// For bytes that are stored outside of the row, the function returns the bytes themselves.
    var defaultValue: (@Sendable () throws -> StoredValue)?
    /// The Swift type of the values, for messages.
    var typeName: String { heldType.map { "\($0)" } ?? "id" }
    /// The messages of the rules that are checked before a row is written.
    var rules: [String] { options.compactMap(\.rule) }
    /// The type whose values the column holds; nil for a relationship.
    private(set) var heldType: (any AttributeValue.Type)?
    /// The form of the values in lines of JSON, stored here because every value asks for it.
    private(set) var lineForm = LineForm.plain
    /// Whether a value of the column's type is valid for the attribute's type; nil if every value is valid.
    var accepts: (@Sendable (StoredValue) -> Bool)?
    /// A value in the form in which the attribute's type stores it; nil if the value is not valid for the type.
    var normalized: (@Sendable (StoredValue) -> StoredValue?)?
}

/// A relationship without a column in its own table.
@_documentation(visibility: internal)
public struct RelationshipSchema: Sendable {
    /// The name of the property.
    package let name: String
    /// Whether there may be several objects at the other end.
    package let isToMany: Bool
    /// Whether the members keep the order of their insertion.
    package let isOrdered: Bool
    /// The effect on the objects at the other end when this object is deleted.
    package let deleteRule: DeleteRule
    /// The model at the other end.
    package let destination: ModelReference
    /// The name of the relationship on the other side, if this side names it.
    package let inverse: String?
    /// The name of the property in stores of earlier versions.
    package let originalName: String?
}

/// A reference to another model that does not read the other model's schema, which may refer back to this one.
@_documentation(visibility: internal)
public struct ModelReference: Sendable {
    let type: any Model.Type

    /// A reference to this model.
    public init(_ type: any Model.Type) { self.type = type }
}

/// The effect of a delete on the objects at the other end of a relationship.
public enum DeleteRule: String, Sendable, Hashable, Codable {
    /// The objects lose the relationship. The default.
    case nullify
    /// The objects are deleted too.
    case cascade
    /// The delete is refused while such objects exist, and the error names them.
    case deny
    /// The objects keep their references to the deleted object.
    case noAction
}

extension ColumnSchema {
    /// The column of an attribute.
    public static func _$column<Value: AttributeValue>(
        _ name: String,
        _ type: Value.Type,
        _ options: [AttributeOption] = [],
        deleteRule: DeleteRule = .nullify,
        default value: (@Sendable () -> Value)? = nil
    ) -> ColumnSchema {
        var column = ColumnSchema(attribute: name, type, isOptional: false, options)
        if let value { column.defaultValue = { try value().valueInNewColumn } }
        return column
    }

    /// The column of an optional attribute.
    public static func _$column<Value: AttributeValue>(
        _ name: String,
        _ type: Value?.Type,
        _ options: [AttributeOption] = [],
        deleteRule: DeleteRule = .nullify,
        default value: (@Sendable () -> Value?)? = nil
    ) -> ColumnSchema {
        var column = ColumnSchema(attribute: name, Value.self, isOptional: true, options)
        if let value { column.defaultValue = { try value()?.valueInNewColumn ?? .null } }
        return column
    }

    /// The column of a to-one relationship. Existing rows start with nil, even if new objects have a default.
    public static func _$column<Destination: Model>(
        _ name: String,
        _ type: Destination?.Type,
        _ options: [AttributeOption] = [],
        deleteRule: DeleteRule = .nullify,
        default value: (@Sendable () -> Destination?)? = nil
    ) -> ColumnSchema {
        ColumnSchema(
            name: name,
            type: .integer,
            isOptional: true,
            destination: ModelReference(Destination.self),
            deleteRule: deleteRule,
            options: options
        )
    }

    /// Whether the values are of this kind.
    func holds(_ subject: AttributeOption.Subject) -> Bool {
        switch subject {
        case .texts: type == .text && !isDecimal
        case .numbers: isDecimal || (destination == nil && (type == .integer || type == .real))
        }
    }

    /// The column of an attribute. If it is optional, `type` is the type of its values.
    init<Value: AttributeValue>(
        attribute name: String,
        _ type: Value.Type,
        isOptional: Bool,
        _ options: [AttributeOption]
    ) {
        self.init(
            name: name,
            type: Value.columnType,
            isOptional: isOptional,
            destination: nil,
            deleteRule: .nullify,
            options: options
        )
        isTransformed = Value.self is any TransformedValue.Type
        heldType = Value.heldType
        lineForm = LineForm(of: heldType)
        let whole: [any AttributeValue.Type] = [
            Int.self, Int64.self, Double.self, Date.self, String.self, Data.self, ExternalData.self,
        ]
        if whole.contains(where: { $0 == type }) { return }
        accepts = { Value(storedValue: $0) != nil }
        normalized = { value in Value(storedValue: value).flatMap { try? $0.storedValue } }
    }
}

extension RelationshipSchema {
    /// The side of a one-to-one relationship that names its inverse and has no column.
    public static func _$relationship<Destination: Model>(
        _ name: String,
        _ type: Destination?.Type,
        deleteRule: DeleteRule = .nullify,
        ordered: Bool = false,
        inverse: String? = nil,
        originalName: String? = nil
    ) -> RelationshipSchema {
        RelationshipSchema(
            name: name,
            isToMany: false,
            isOrdered: false,
            deleteRule: deleteRule,
            destination: ModelReference(Destination.self),
            inverse: inverse,
            originalName: originalName
        )
    }
}

extension AttributeValue {
    /// The value in the form that a new column stores.
    fileprivate var valueInNewColumn: StoredValue {
        get throws {
            if let external = self as? ExternalData { return external.data.map(StoredValue.blob) ?? .null }
            return try storedValue
        }
    }
}
