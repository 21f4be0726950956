// Generated code calls these overloads if the type of a property is neither an attribute's nor a model, which a macro
// cannot see. As in RequiredReference.swift, one of them tells the user what to write, and the others suppress further
// compiler errors. None of them can run: a model with such a property does not compile.

extension ColumnSchema {
    /// Reports that the property's type must conform to ``AttributeValue``.
    @available(
        *,
        unavailable,
        message: """
            the type of an attribute conforms to AttributeValue; write 'enum Status: String, AttributeValue' or \
            'struct Address: Codable, Equatable, AttributeValue', or mark the property '@Transient'
            """
    )
    public static func _$column<Value>(
        _ name: String,
        _ type: Value.Type,
        _ options: [AttributeOption] = [],
        deleteRule: DeleteRule = .nullify,
        default value: (@Sendable () -> Value)? = nil
    ) -> ColumnSchema {
        // Unreachable: unavailable functions cannot be called.
        fatalError()
    }

    /// Reports that a to-many relationship must be declared as a ``Many``.
    @available(*, unavailable, message: "a to-many relationship is a Many; write 'Many<Hobby>' instead of '[Hobby]'")
    public static func _$column<Member: Model>(
        _ name: String,
        _ type: [Member].Type,
        _ options: [AttributeOption] = [],
        deleteRule: DeleteRule = .nullify,
        default value: (@Sendable () -> [Member])? = nil
    ) -> ColumnSchema {
        // Unreachable: unavailable functions cannot be called.
        fatalError()
    }
}

extension Model {
    public static func _$expression<Value>(_ name: String, _ type: Value.Type) -> Bool { false }
}

extension RowReader {
    /// Never called: a model with such a property does not compile.
    public func read<Value>(_ type: Value.Type, at column: Int32) throws -> Value {
        // Unreachable: the model's schema does not compile.
        fatalError()
    }
}

extension RowBinder {
    /// Never called: a model with such a property does not compile.
    public func bind<Value>(_ value: Value, at index: Int32) throws {}
}

extension RowDecoder {
    /// Never called: a model with such a property does not compile.
    public func decode<Value>(_ type: Value.Type, at column: Int) throws -> Value {
        // Unreachable: the model's schema does not compile.
        fatalError()
    }
}

extension RowEncoder {
    /// Never called: a model with such a property does not compile.
    public func encode<Value>(_ value: Value, at column: Int) throws {}
}

extension RowSupport {
    /// Never called: a model with such a property does not compile.
    public static func load<Value>(_ stored: Value, as type: Value.Type, of owner: some Model, at column: Int) -> Value
    {
        stored
    }

    /// Never called: a model with such a property does not compile.
    public static func store<Value>(_ value: Value, as type: Value.Type, in owner: some Model, at column: Int) -> Value
    {
        value
    }

    /// Never called: a model with such a property does not compile.
    public static func isSame<Value>(_ left: Value, _ right: Value, as type: Value.Type) -> Bool { false }

    /// Never called: a model with such a property does not compile.
    public static func stored<Value>(_ value: Value) throws -> StoredValue { .null }

    /// Never called: a model with such a property does not compile.
    public static func value<Value, Owner: Model>(
        _ stored: StoredValue,
        as type: Value.Type,
        at column: Int,
        of owner: ObjectID<Owner>
    ) throws -> Value {
        // Unreachable: the model's schema does not compile.
        fatalError()
    }
}
