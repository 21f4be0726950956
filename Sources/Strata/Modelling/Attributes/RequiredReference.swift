// Generated code calls these overloads if the type of a property is a non-optional model, which a macro cannot see. All
// of them compile except one. The user therefore gets one message that says what to write instead of many errors. None
// of them can run, because a row with a column of type Never cannot be created.

extension ColumnSchema {
    /// Reports that a to-one relationship must be optional.
    @available(*, unavailable, message: "a to-one relationship is optional; add a question mark to the property's type")
    public static func _$column<Destination: Model>(
        _ name: String,
        _ type: Destination.Type,
        _ options: [AttributeOption] = [],
        deleteRule: DeleteRule = .nullify,
        default value: (@Sendable () -> Destination)? = nil
    ) -> ColumnSchema {
        // Unreachable: unavailable functions cannot be called.
        fatalError()
    }
}

extension Model {
    public static func _$expression<Destination: Model>(_ name: String, _ type: Destination.Type) -> Bool { false }
}

extension RowReader {
    /// Never called: a model with a required reference does not compile.
    public func read<Object: Model>(_ type: Object.Type, at column: Int32) throws -> Never {
        // Unreachable: the model's schema does not compile.
        fatalError()
    }
}

extension RowBinder {
    /// Never called: `Never` has no values.
    public func bind(_ value: Never, at index: Int32) throws {}
}

extension RowDecoder {
    /// Never called: a model with a required reference does not compile.
    public func decode<Object: Model>(_ type: Object.Type, at column: Int) throws -> Never {
        // Unreachable: the model's schema does not compile.
        fatalError()
    }
}

extension RowEncoder {
    /// Never called: `Never` has no values.
    public func encode(_ value: Never, at column: Int) throws {}
}

extension RowSupport {
    /// Never called: `Never` has no values.
    public static func stored(_ value: Never) throws -> StoredValue {}

    /// Never called: a model with a required reference does not compile.
    public static func value<Object: Model, Owner: Model>(
        _ stored: StoredValue,
        as type: Object.Type,
        at column: Int,
        of owner: ObjectID<Owner>
    ) throws -> Never {
        // Unreachable: the model's schema does not compile.
        fatalError()
    }
}
