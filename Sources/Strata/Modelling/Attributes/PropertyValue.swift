/// A type that a property of a model can be declared as: an attribute's value, an optional value, or an optional model.
///
/// The macro cannot see whether `Author?` names a model or an enum, so the type itself defines its form in a row.
/// Conform to ``AttributeValue`` instead; models conform by `@Model`.
public protocol PropertyValue: SendableMetatype {
    /// The form of a property of this type in a row.
    associatedtype Stored: Sendable, Equatable
    /// The form of an optional property of this type in a row.
    associatedtype OptionalStored: Sendable, Equatable

    /// The property's value, converted from its form in the row of `owner`.
    static func _$load(_ stored: Stored, of owner: some Model, at column: Int) -> Self
    static func _$loadOptional(_ stored: OptionalStored, of owner: some Model, at column: Int) -> Self?

    /// The value in the form that goes into the row of `owner`.
    static func _$store(_ value: Self, in owner: some Model, at column: Int) -> Stored
    static func _$storeOptional(_ value: Self?, in owner: some Model, at column: Int) -> OptionalStored

    /// Whether two forms are identical to the byte, so that replacing one with the other is not a change.
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
