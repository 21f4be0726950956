/// A to-one relationship in a query. Its destination's columns and relationships are its members:
///
/// ```swift
/// Article.where { $0.author.name == "Ursula" && $0.author.publisher.city != "London" }
/// ```
///
/// Where the relationship leads nowhere, all of them are nil, as with Swift's `article.author?.name`; a to-many
/// relationship has no members then. The relationship itself is compared with objects, ids and nil.
@dynamicMemberLookup
public struct ToOne<Root: Model, Destination: Model>: Sendable {
    // A member with a plain name would hide the destination's column of that name.
    let _$path: RelationshipPath

    init(_$path: RelationshipPath) { self._$path = _$path }

    /// An attribute of the destination.
    public subscript<Value: ColumnValue>(
        dynamicMember member: KeyPath<Destination.Columns, Column<Destination, Value>>
    ) -> Column<Root, Value.Unwrapped?> {
        Column(Destination.columns[keyPath: member].node.prefixed(by: _$path))
    }

    /// An attribute of the destination that is kept outside of the row.
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
        dynamicMember member: KeyPath<Destination.Columns, ToMany<Destination, Next>>
    ) -> ToMany<Root, Next> {
        ToMany<Root, Next>(Destination.columns[keyPath: member].members.prefixed(by: _$path))
    }

    /// A condition that the destination's `Columns` were extended with.
    public subscript(
        dynamicMember member: KeyPath<Destination.Columns, Condition<Destination>>
    ) -> Condition<Root> {
        Condition(Destination.columns[keyPath: member].node.prefixed(by: _$path))
    }
}

extension ToOne {
    /// True where the relationship leads to this object; with nil, where it leads nowhere.
    ///
    /// Only the object's id is taken, so that it may be an object of any context. One that was not inserted has none, which is reported when the query runs.
    public static func == (left: ToOne, right: Destination?) -> Condition<Root> { left == right?.id }

    /// True where the relationship does not lead to this object, also where it leads nowhere.
    public static func != (left: ToOne, right: Destination?) -> Condition<Root> { !(left == right?.id) }

    /// True where the relationship leads to the object with this id.
    @_disfavoredOverload
    public static func == (left: ToOne, right: ObjectID<Destination>?) -> Condition<Root> {
        IDColumn(left._$path) == right
    }

    /// True where the relationship does not lead to the object with this id, also where it leads nowhere.
    @_disfavoredOverload
    public static func != (left: ToOne, right: ObjectID<Destination>?) -> Condition<Root> {
        IDColumn(left._$path) != right
    }

    /// True where both relationships lead to the same object, or both nowhere.
    public static func == (left: ToOne, right: ToOne) -> Condition<Root> {
        Condition(.equal(.id(left._$path), .id(right._$path)))
    }

    /// True where two relationships lead to different objects, or one of them nowhere.
    public static func != (left: ToOne, right: ToOne) -> Condition<Root> {
        Condition(.not(.equal(.id(left._$path), .id(right._$path))))
    }
}
