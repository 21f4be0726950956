/// Functions for rows that `@Model` generates. The column's type selects the overload: an attribute, an optional
/// attribute or a reference.
@_documentation(visibility: internal)
public enum RowSupport {
    // The functions are compiled into the code of each model. Otherwise each call of a generic one would look up the
    // metadata of the value's type.

    /// The value in the form in which the store keeps it.
    @inlinable
    public static func stored<Value: AttributeValue>(_ value: Value) throws -> StoredValue { try value.storedValue }

    // The most frequent types have their own overloads.
    /// An integer in the form in which the store keeps it.
    @inlinable
    public static func stored(_ value: Int) throws -> StoredValue { .integer(Int64(value)) }
    /// An integer in the form in which the store keeps it.
    @inlinable
    public static func stored(_ value: Int64) throws -> StoredValue { .integer(value) }
    /// A number in the form in which the store keeps it.
    @inlinable
    public static func stored(_ value: Double) throws -> StoredValue { .real(value) }
    /// A Boolean in the form in which the store keeps it: 0 or 1.
    @inlinable
    public static func stored(_ value: Bool) throws -> StoredValue { .integer(value ? 1 : 0) }
    /// A text in the form in which the store keeps it.
    @inlinable
    public static func stored(_ value: String) throws -> StoredValue { .text(value) }

    /// The value in the form in which the store keeps it; NULL for nil.
    @inlinable
    public static func stored<Value: AttributeValue>(_ value: Value?) throws -> StoredValue {
        try value?.storedValue ?? .null
    }

    // The overload for references does not throw. It is marked `throws` because generated code cannot tell which
    // overload it calls.
    /// A reference in the form in which the store keeps it: the number of the id, or NULL for nil.
    @inlinable
    public static func stored<Object: Model>(_ id: ObjectID<Object>?) throws -> StoredValue {
        id.map { .integer($0.rawValue) } ?? .null
    }

    /// The attribute's value, converted from the form in which the store keeps it.
    ///
    /// - Throws: ``StrataError/Code/undecodable`` if the stored value is not of the attribute's type.
    @inlinable
    public static func value<Value: AttributeValue, Owner: Model>(
        _ stored: StoredValue,
        as type: Value.Type,
        at column: Int,
        of owner: ObjectID<Owner>
    ) throws -> Value {
        guard let value = Value(storedValue: stored) else {
            throw undecodable(stored, as: Value.self, at: column, of: owner)
        }
        return value
    }

    /// The value of an optional attribute, converted from the form in which the store keeps it.
    ///
    /// - Throws: ``StrataError/Code/undecodable`` if the stored value is not of the attribute's type.
    @inlinable
    public static func value<Value: AttributeValue, Owner: Model>(
        _ stored: StoredValue,
        as type: Value?.Type,
        at column: Int,
        of owner: ObjectID<Owner>
    ) throws -> Value? {
        stored == .null ? nil : try value(stored, as: Value.self, at: column, of: owner)
    }

    /// A reference.
    ///
    /// The store keeps only the number. The fingerprint comes from the owner's id, since both objects belong to one
    /// store.
    public static func value<Object: Model, Owner: Model>(
        _ stored: StoredValue,
        as type: Object?.Type,
        at column: Int,
        of owner: ObjectID<Owner>
    ) throws -> ObjectID<Object>? {
        switch stored {
        case .null: return nil
        case .integer(let number) where ObjectIDRawValues.all.contains(number):
            return ObjectID(rawValue: number, fingerprint: owner.fingerprint)
        default: throw undecodable(stored, as: ObjectID<Object>.self, at: column, of: owner)
        }
    }

    // Accessors call the following functions if the macro does not know the property's type. The overloads for types
    // that no property can have are in RequiredReference.swift and UnknownAttribute.swift.

    /// The property's value, converted from its form in the row of `owner`.
    @inlinable @inline(__always)
    public static func load<Value: PropertyValue>(
        _ stored: Value.Stored,
        as type: Value.Type,
        of owner: some Model,
        at column: Int
    ) -> Value { Value._$load(stored, of: owner, at: column) }

    /// The value in the form that goes into the row of `owner`.
    @inlinable @inline(__always)
    public static func store<Value: PropertyValue>(
        _ value: Value,
        as type: Value.Type,
        in owner: some Model,
        at column: Int
    ) -> Value.Stored { Value._$store(value, in: owner, at: column) }

    /// Whether two forms are identical to the byte.
    @inlinable @inline(__always)
    public static func isSame<Value: PropertyValue>(
        _ left: Value.Stored,
        _ right: Value.Stored,
        as type: Value.Type
    ) -> Bool { Value._$isSame(left, right) }

    /// The error for a column that the model does not have.
    public static func noColumn<Owner: Model>(_ column: Int, of owner: Owner.Type) -> StrataError {
        StrataError(
            .invalidState,
            "\(Owner._$schema.name) has \(Owner._$schema.columns.count) columns, so the column index \(column) is "
                + "invalid."
        )
    }

    @usableFromInline
    static func undecodable<Value, Owner: Model>(
        _ stored: StoredValue,
        as type: Value.Type,
        at column: Int,
        of owner: ObjectID<Owner>
    ) -> StrataError {
        let schema = Owner._$schema
        return UndecodableValue(value: stored, type: "\(Value.self)", column: schema.columns[column].name)
            .error(of: schema, number: owner.rawValue)
    }
}
