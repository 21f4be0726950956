/// What ties an object to its context. Stored in each object by `@Model`.
public struct ObjectLink {
    public init() {}
}

extension Model {
    /// Called before a property is read.
    @inlinable @inline(__always)
    public func _$willRead() {}

    /// Called before a column is changed.
    public func _$willChange(_ column: Int) {}

    public static func _$load(_ stored: Never, of owner: some Model, at column: Int) -> Self {}

    public static func _$loadOptional(_ stored: ObjectID<Self>?, of owner: some Model, at column: Int) -> Self? { nil }

    public static func _$store(_ value: Self, in owner: some Model, at column: Int) -> Never {
        // Unreachable: a row with a column of type Never cannot be made, so no model with such a property exists.
        preconditionFailure("a to-one relationship is optional")
    }

    public static func _$storeOptional(_ value: Self?, in owner: some Model, at column: Int) -> ObjectID<Self>? {
        value?._$row.id
    }

    public static func _$isSame(_ left: Never, _ right: Never) -> Bool {}

    @inlinable
    public static func _$isSameOptional(_ left: ObjectID<Self>?, _ right: ObjectID<Self>?) -> Bool { left == right }

    /// The other side of a one-to-one relationship that has no column here.
    public func _$derived<Destination: Model>(_ relationship: Int) -> Destination? { nil }

    public func _$setDerived<Destination: Model>(_ value: Destination?, _ relationship: Int) {}
}
