/// The id of an object in a query: of the queried one, or of one that a to-one relationship leads to.
public struct IDColumn<Root, Object: Model>: Sendable {
    let path: RelationshipPath
    var node: ExpressionNode { .id(path) }

    init(_ path: RelationshipPath) { self.path = path }
}

extension IDColumn {
    /// True where it is this id; with nil, where the relationship leads nowhere.
    public static func == (left: IDColumn, right: ObjectID<Object>?) -> Condition<Root> {
        guard let right else { return Condition(.isNull(left.node)) }
        return Condition(.equal(left.node, .value(ValueNode(right))))
    }

    /// True where it is not this id.
    public static func != (left: IDColumn, right: ObjectID<Object>?) -> Condition<Root> { !(left == right) }

    /// True of objects created before the one with this id.
    public static func < (left: IDColumn, right: ObjectID<Object>) -> Condition<Root> {
        Condition(.compare(left.node, .less, .value(ValueNode(right))))
    }

    /// True of objects created after the one with this id.
    public static func > (left: IDColumn, right: ObjectID<Object>) -> Condition<Root> {
        Condition(.compare(left.node, .greater, .value(ValueNode(right))))
    }

    /// True where it is one of these ids, of which there may be any number.
    public func `in`(_ ids: some Sequence<ObjectID<Object>>) -> Condition<Root> {
        Condition(.member(node, of: ids.map { ValueNode($0) }))
    }

    /// In the order of creation.
    public var ascending: SortKey<Root> { SortKey(node, isDescending: false) }

    /// The latest first.
    public var descending: SortKey<Root> { SortKey(node, isDescending: true) }
}
