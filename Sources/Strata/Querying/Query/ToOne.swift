/// A to-one relationship in a query. The columns and relationships of its destination are its members.
///
/// ```swift
/// Article.where { $0.author.name == "Ursula" && $0.author.publisher.city != "London" }
/// ```
///
/// If the relationship has no destination, all columns are nil, as with Swift's `article.author?.name`, and a to-many
/// relationship has no members. The relationship itself can be compared with objects, ids and nil.
@dynamicMemberLookup
public struct ToOne<Root: Model, Destination: Model>: Sendable {
    // A member with a plain name would hide the destination's column with the same name.
    let _$path: RelationshipPath

    init(_$path: RelationshipPath) { self._$path = _$path }

    /// An attribute of the destination.
    public subscript<Value: ColumnValue>(
        dynamicMember member: KeyPath<Destination.Columns, Column<Destination, Value>>
    ) -> Column<Root, Value.Unwrapped?> {
        Column(Destination.columns[keyPath: member].node.prefixed(by: _$path))
    }

    /// An attribute of the destination that is stored outside the row.
    public subscript(
        dynamicMember member: KeyPath<Destination.Columns, ExternalColumn<Destination>>
    ) -> ExternalColumn<Root> {
        ExternalColumn(Destination.columns[keyPath: member].node.prefixed(by: _$path))
    }

    /// An attribute of the destination that is stored by a transformer.
    public subscript<Transformer: ValueTransformer>(
        dynamicMember member: KeyPath<Destination.Columns, TransformedColumn<Destination, Transformer>>
    ) -> TransformedColumn<Root, Transformer> {
        TransformedColumn(Destination.columns[keyPath: member].node.prefixed(by: _$path))
    }

    /// The id of the destination.
    public subscript<Object: Model>(
        dynamicMember member: KeyPath<Destination.Columns, IDColumn<Destination, Object>>
    ) -> IDColumn<Root, Object> {
        IDColumn(Destination.columns[keyPath: member].path.prefixed(by: _$path))
    }

    /// A to-one relationship of the destination.
    public subscript<Next: Model>(
        dynamicMember member: KeyPath<Destination.Columns, ToOne<Destination, Next>>
    ) -> ToOne<Root, Next> {
        ToOne<Root, Next>(_$path: Destination.columns[keyPath: member]._$path.prefixed(by: _$path))
    }

    /// A to-many relationship of the destination.
    public subscript<Next: Model>(
        dynamicMember member: KeyPath<Destination.Columns, RelationshipExpression<Destination, Next>>
    ) -> RelationshipExpression<Root, Next> {
        RelationshipExpression<Root, Next>(Destination.columns[keyPath: member].members.prefixed(by: _$path))
    }

    /// A condition defined in an extension of the destination's `Columns`.
    public subscript(
        dynamicMember member: KeyPath<Destination.Columns, Condition<Destination>>
    ) -> Condition<Root> {
        Condition(Destination.columns[keyPath: member].node.prefixed(by: _$path))
    }
}

extension ToOne {
    /// True if the relationship leads to this object. With nil, true if the relationship has no destination.
    ///
    /// Only the object's id is used, so the object can belong to any context. An object that was not inserted has no
    /// id; the query reports such an object when it runs.
    public static func == (left: ToOne, right: Destination?) -> Condition<Root> { left == right?.id }

    /// True if the relationship leads to another object or has no destination.
    public static func != (left: ToOne, right: Destination?) -> Condition<Root> { !(left == right?.id) }

    /// True if the relationship leads to the object with this id.
    @_disfavoredOverload
    public static func == (left: ToOne, right: ObjectID<Destination>?) -> Condition<Root> {
        IDColumn(left._$path) == right
    }

    /// True if the relationship does not lead to the object with this id, or has no destination.
    @_disfavoredOverload
    public static func != (left: ToOne, right: ObjectID<Destination>?) -> Condition<Root> {
        IDColumn(left._$path) != right
    }

    /// True if both relationships lead to the same object, or neither has a destination.
    public static func == (left: ToOne, right: ToOne) -> Condition<Root> {
        Condition(.equal(.id(left._$path), .id(right._$path)))
    }

    /// True if two relationships lead to different objects, or exactly one of them has a destination.
    public static func != (left: ToOne, right: ToOne) -> Condition<Root> {
        Condition(.not(.equal(.id(left._$path), .id(right._$path))))
    }
}
