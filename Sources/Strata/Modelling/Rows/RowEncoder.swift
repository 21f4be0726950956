/// Encodes the values of a row, by the index of their columns. Used by code that `@Model` generates.
@_documentation(visibility: internal)
public struct RowEncoder {
    private var container: KeyedEncodingContainer<PropertyKey>
    private let keys: PropertyKeys

    init(_ encoder: any Encoder, _ model: any Model.Type) throws {
        keys = try PropertyKeys(of: model, encoder.userInfo)
        container = encoder.container(keyedBy: PropertyKey.self)
    }

    /// Encodes the id of the row, if it has one.
    mutating func encode<Object: Model>(_ id: ObjectID<Object>) throws {
        if id.isAssigned, let key = keys.id { try container.encode(id, forKey: key) }
    }

    /// Encodes an attribute.
    public mutating func encode<Value: AttributeValue>(_ value: Value, at column: Int) throws {
        if let key = keys[column] { try value._$encode(to: &container, forKey: key) }
    }

    /// Encodes an optional attribute.
    public mutating func encode<Value: AttributeValue>(_ value: Value?, at column: Int) throws {
        guard let key = keys[column] else { return }
        if let value {
            try value._$encode(to: &container, forKey: key)
        } else if keys.schema.columns[column].defaultValue != nil {
            try container.encodeNil(forKey: key)
        }
    }

    /// Encodes a to-one relationship.
    public mutating func encode<Object: Model>(_ id: ObjectID<Object>?, at column: Int) throws {
        if let key = keys[column] { try container.encodeIfPresent(id, forKey: key) }
    }
}
