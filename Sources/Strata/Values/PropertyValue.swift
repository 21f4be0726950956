/// What a property of a model may be declared as: an attribute's value, an optional one, or an optional model.
///
/// The macro cannot see whether `Author?` names a model or an enum, so the type itself says how it is kept in a row.
/// Conform to ``AttributeValue`` instead; models conform by `@Model`.
public protocol PropertyValue: SendableMetatype {
    /// The form in which a property of this type is kept in a row.
    associatedtype Stored: Sendable, Equatable
    /// The form in which a property of this type's optional is kept in a row.
    associatedtype OptionalStored: Sendable, Equatable

    /// The property's value, from its form in the row of `owner`.
    static func _$load(_ stored: Stored, of owner: some Model, at column: Int) -> Self
    static func _$loadOptional(_ stored: OptionalStored, of owner: some Model, at column: Int) -> Self?

    /// The form that goes into the row of `owner`.
    static func _$store(_ value: Self, in owner: some Model, at column: Int) -> Stored
    static func _$storeOptional(_ value: Self?, in owner: some Model, at column: Int) -> OptionalStored

    /// Whether two forms are the same to the byte, so that setting one over the other is no change.
    static func _$isSame(_ left: Stored, _ right: Stored) -> Bool
    static func _$isSameOptional(_ left: OptionalStored, _ right: OptionalStored) -> Bool
}

extension Optional: PropertyValue where Wrapped: PropertyValue {
    public typealias Stored = Wrapped.OptionalStored
    public typealias OptionalStored = Never

    @inlinable
    public static func _$load(_ stored: Wrapped.OptionalStored, of owner: some Model, at column: Int) -> Self {
        Wrapped._$loadOptional(stored, of: owner, at: column)
    }

    @inlinable
    public static func _$loadOptional(_ stored: Never, of owner: some Model, at column: Int) -> Self? {}

    @inlinable
    public static func _$store(_ value: Self, in owner: some Model, at column: Int) -> Wrapped.OptionalStored {
        Wrapped._$storeOptional(value, in: owner, at: column)
    }

    public static func _$storeOptional(_ value: Self?, in owner: some Model, at column: Int) -> Never {
        // Unreachable: a row with a column of type Never cannot be made, so no model with such a property exists.
        preconditionFailure("an attribute cannot be an optional of an optional")
    }

    @inlinable
    public static func _$isSame(_ left: Wrapped.OptionalStored, _ right: Wrapped.OptionalStored) -> Bool {
        Wrapped._$isSameOptional(left, right)
    }

    @inlinable
    public static func _$isSameOptional(_ left: Never, _ right: Never) -> Bool {}
}
