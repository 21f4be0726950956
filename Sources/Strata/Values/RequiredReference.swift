// What generated code calls where the type of a property is a model and not an optional one, which no macro can see.
// All of it compiles but one, so that the user gets one message that says what to write instead of a page of others.
// None of it can run: a row with a column of type Never cannot be made.

extension ColumnSchema {
    /// Says what is wrong.
    @available(*, unavailable, message: "a to-one relationship is optional; add a question mark to the property's type")
    public static func _$column<Destination: Model>(
        _ name: String,
        _ type: Destination.Type,
        _ options: [AttributeOption] = [],
        deleteRule: DeleteRule = .nullify,
        default value: (@Sendable () -> Destination)? = nil
    ) -> ColumnSchema {
        // Unreachable: what is unavailable cannot be called.
        fatalError()
    }
}

extension Model {
    public static func _$expression<Destination: Model>(_ name: String, _ type: Destination.Type) -> Bool { false }
}

extension RowReader {
    /// Never called: see above.
    public func read<Object: Model>(_ type: Object.Type, at column: Int32) throws -> Never {
        // Unreachable: the model's schema does not compile.
        fatalError()
    }
}

extension RowBinder {
    /// Never called: there is no such value.
    public func bind(_ value: Never, at index: Int32) throws {}
}

extension RowSupport {
    /// Never called: there is no such value.
    public static func stored(_ value: Never) throws -> StoredValue {}

    /// Never called: see above.
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
