import Foundation

// The values of rows in coders. A `Codable` type encodes itself, so that the strategies of the coder apply. The most
// specific of these extensions is the implementation for a type.

extension AttributeValue {
    /// Encodes the form in which the store keeps the value.
    public func _$encode<Key: CodingKey>(to container: inout KeyedEncodingContainer<Key>, forKey key: Key) throws {
        switch try storedValue {
        case .null: try container.encodeNil(forKey: key)
        case .integer(let value): try container.encode(value, forKey: key)
        case .real(let value): try container.encode(value, forKey: key)
        case .text(let value): try container.encode(value, forKey: key)
        case .blob(let value): try container.encode(value, forKey: key)
        }
    }

    public static func _$decode<Key: CodingKey>(
        from container: KeyedDecodingContainer<Key>,
        forKey key: Key
    ) throws -> Self {
        let stored: StoredValue =
            switch columnType {
            case .integer: .integer(try container.decode(Int64.self, forKey: key))
            case .real: .real(try container.decode(Double.self, forKey: key))
            case .text: .text(try container.decode(String.self, forKey: key))
            case .blob: .blob(try container.decode(Data.self, forKey: key))
            }
        return try valid(Self(storedValue: stored), stored, container, key)
    }

    /// The value, unless the decoded form is not valid for the type.
    fileprivate static func valid<Key: CodingKey>(
        _ value: Self?,
        _ decoded: Any,
        _ container: KeyedDecodingContainer<Key>,
        _ key: Key
    ) throws -> Self {
        if let value { return value }
        throw DecodingError.dataCorruptedError(
            forKey: key,
            in: container,
            debugDescription: "\(decoded) is not a value of \(Self.self)."
        )
    }
}

extension AttributeValue where Self: RawRepresentable, RawValue: AttributeValue {
    public func _$encode<Key: CodingKey>(to container: inout KeyedEncodingContainer<Key>, forKey key: Key) throws {
        try rawValue._$encode(to: &container, forKey: key)
    }

    public static func _$decode<Key: CodingKey>(
        from container: KeyedDecodingContainer<Key>,
        forKey key: Key
    ) throws -> Self {
        let raw = try RawValue._$decode(from: container, forKey: key)
        return try valid(Self(rawValue: raw), raw, container, key)
    }
}

extension AttributeValue where Self: Codable {
    public func _$encode<Key: CodingKey>(to container: inout KeyedEncodingContainer<Key>, forKey key: Key) throws {
        switch self {
        // For these types, coders do not need a container for each value.
        case let value as String: try container.encode(value, forKey: key)
        case let value as Int: try container.encode(value, forKey: key)
        case let value as Double: try container.encode(value, forKey: key)
        case let value as Bool: try container.encode(value, forKey: key)
        default: try container.encode(self, forKey: key)
        }
    }

    public static func _$decode<Key: CodingKey>(
        from container: KeyedDecodingContainer<Key>,
        forKey key: Key
    ) throws -> Self {
        try container.decode(Self.self, forKey: key)
    }
}

extension AttributeValue where Self: RawRepresentable & Codable, RawValue: AttributeValue {
    public func _$encode<Key: CodingKey>(to container: inout KeyedEncodingContainer<Key>, forKey key: Key) throws {
        try container.encode(self, forKey: key)
    }

    public static func _$decode<Key: CodingKey>(
        from container: KeyedDecodingContainer<Key>,
        forKey key: Key
    ) throws -> Self {
        try container.decode(Self.self, forKey: key)
    }
}

extension Transformed {
    public func _$encode<Key: CodingKey>(to container: inout KeyedEncodingContainer<Key>, forKey key: Key) throws {
        try Transformer.store(value)._$encode(to: &container, forKey: key)
    }

    public static func _$decode<Key: CodingKey>(
        from container: KeyedDecodingContainer<Key>,
        forKey key: Key
    ) throws -> Transformed {
        let stored = try Transformer.Stored._$decode(from: container, forKey: key)
        do {
            return Transformed(try Transformer.load(stored))
        } catch {
            // A transformer that uses a coder of its own throws a `DecodingError` whose path does not lead to this key.
            throw DecodingError.dataCorrupted(
                DecodingError.Context(
                    codingPath: container.codingPath + [key],
                    debugDescription: "The value cannot be converted to \(Transformer.Value.self): \(error)",
                    underlyingError: error
                )
            )
        }
    }
}

extension ExternalData {
    public func _$encode<Key: CodingKey>(to container: inout KeyedEncodingContainer<Key>, forKey key: Key) throws {
        guard let data else {
            throw EncodingError.invalidValue(
                self,
                EncodingError.Context(
                    codingPath: container.codingPath + [key],
                    debugDescription: "The bytes were not read. Encode a snapshot of the object, or omit the property."
                )
            )
        }
        try container.encode(data, forKey: key)
    }

    public static func _$decode<Key: CodingKey>(
        from container: KeyedDecodingContainer<Key>,
        forKey key: Key
    ) throws -> ExternalData {
        ExternalData(try container.decode(Data.self, forKey: key))
    }
}
