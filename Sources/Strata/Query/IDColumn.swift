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

    /// True of objects with a smaller id. Those of other processes, of batches and of imports say nothing of when the object was made.
    public static func < (left: IDColumn, right: ObjectID<Object>) -> Condition<Root> {
        Condition(.compare(left.node, .less, .value(ValueNode(right))))
    }

    /// True of objects with a greater id. To find what is new, follow the history or compare an attribute with `.createdAt`: what other
    /// processes, batches and imports make later may have smaller ids.
    public static func > (left: IDColumn, right: ObjectID<Object>) -> Condition<Root> {
        Condition(.compare(left.node, .greater, .value(ValueNode(right))))
    }

    /// True where it is one of these ids, of which there may be any number.
    public func `in`(_ ids: some Sequence<ObjectID<Object>>) -> Condition<Root> {
        Condition(.member(node, of: ids.map { ValueNode($0) }))
    }

    /// From the smallest id to the greatest: the order in which one stack has inserted its objects. Other processes, batches and
    /// imports take ids from other ranges.
    public var ascending: SortKey<Root> { SortKey(node, isDescending: false) }

    /// The greatest id first.
    public var descending: SortKey<Root> { SortKey(node, isDescending: true) }
}
