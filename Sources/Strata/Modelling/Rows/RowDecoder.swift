/// Decodes the values of a row, by the index of their columns. Used by code that `@Model` generates.
@_documentation(visibility: internal)
public struct RowDecoder {
    private let container: KeyedDecodingContainer<PropertyKey>
    private let keys: PropertyKeys

    init(_ decoder: any Decoder, _ model: any Model.Type) throws {
        keys = try PropertyKeys(of: model, decoder.userInfo)
        container = try decoder.container(keyedBy: PropertyKey.self)
    }

    /// Decodes the id of the row.
    public func decode<Object: Model>(_ type: ObjectID<Object>.Type) throws -> ObjectID<Object> {
        guard let key = keys.id else { return .unassigned }
        return try container.decodeIfPresent(type, forKey: key) ?? .unassigned
    }

    /// Decodes an attribute.
    public func decode<Value: AttributeValue>(_ type: Value.Type, at column: Int) throws -> Value {
        if let key = givenKey(column) { return try value(of: column, as: type, key) }
        if let value = try defaultValue(of: column, as: type) { return value }
        let (key, property) = (keys[column], keys.schema.columns[column].name)
        throw DecodingError.keyNotFound(
            key ?? PropertyKey(stringValue: property),
            DecodingError.Context(
                codingPath: container.codingPath,
                debugDescription: "\(keys.schema.name).\(property) needs a value, because it has no default."
                    + (key == nil ? " The RowCoding of the decoder omits it." : "")
            )
        )
    }

    /// Decodes an optional attribute.
    public func decode<Value: AttributeValue>(_ type: Value?.Type, at column: Int) throws -> Value? {
        guard let key = givenKey(column) else { return try defaultValue(of: column, as: Value.self) }
        return try container.decodeNil(forKey: key) ? nil : value(of: column, as: Value.self, key)
    }

    /// Decodes a to-one relationship.
    public func decode<Object: Model>(_ type: Object?.Type, at column: Int) throws -> ObjectID<Object>? {
        guard let key = givenKey(column) else { return nil }
        return try container.decodeIfPresent(ObjectID<Object>.self, forKey: key)
    }

    /// The key of a column; nil if it is missing, or if the coder omits the column.
    private func givenKey(_ column: Int) -> PropertyKey? {
        keys[column].flatMap { container.contains($0) ? $0 : nil }
    }

    /// The value of an attribute whose key exists.
    private func value<Value: AttributeValue>(
        of column: Int,
        as type: Value.Type,
        _ key: PropertyKey
    ) throws -> Value {
        do {
            return try Value._$decode(from: container, forKey: key)
        } catch let error as DecodingError {
            throw error
        } catch {
            // An error of the type itself, or Foundation's error for a number that does not fit. These errors do not
            // name the key.
            let property = keys.schema.columns[column].name
            throw DecodingError.dataCorrupted(
                DecodingError.Context(
                    codingPath: container.codingPath + [key],
                    debugDescription: "The value is not valid for \(keys.schema.name).\(property): \(error)",
                    underlyingError: error
                )
            )
        }
    }

    /// The declared default of an attribute; nil if the declaration does not have one.
    private func defaultValue<Value: AttributeValue>(of column: Int, as type: Value.Type) throws -> Value? {
        guard let stored = try keys.schema.columns[column].defaultValue?() else { return nil }
        // The default of an external attribute is its bytes, which the attribute's column does not hold.
        if case .blob(let content) = stored, let value = ExternalData(content) as? Value { return value }
        return Value(storedValue: stored)
    }
}
