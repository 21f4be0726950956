/// The id of an object in a query: the queried object, or the destination of a to-one relationship.
public struct IDColumn<Root, Object: Model>: Sendable {
    let path: RelationshipPath
    var node: ExpressionNode { .id(path) }

    init(_ path: RelationshipPath) { self.path = path }
}

extension IDColumn {
    /// True if the id equals this one. With nil, true if the relationship has no destination.
    public static func == (left: IDColumn, right: ObjectID<Object>?) -> Condition<Root> {
        guard let right else { return Condition(.isNull(left.node)) }
        return Condition(.equal(left.node, .value(ValueNode(right))))
    }

    /// True if the id does not equal this one.
    public static func != (left: IDColumn, right: ObjectID<Object>?) -> Condition<Root> { !(left == right) }

    /// True for objects with a smaller id.
    ///
    /// The order of ids does not tell when objects were created by other processes, batches and imports.
    public static func < (left: IDColumn, right: ObjectID<Object>) -> Condition<Root> {
        Condition(.compare(left.node, .less, .value(ValueNode(right))))
    }

    /// True for objects with a greater id.
    ///
    /// Do not use this condition to find new objects: objects that other processes, batches and imports create later
    /// can have smaller ids. Follow the history instead, or compare an attribute with `.createdAt`.
    public static func > (left: IDColumn, right: ObjectID<Object>) -> Condition<Root> {
        Condition(.compare(left.node, .greater, .value(ValueNode(right))))
    }

    /// True if the id is one of `ids`. Any number of ids can be given.
    public func `in`(_ ids: some Sequence<ObjectID<Object>>) -> Condition<Root> {
        Condition(.member(node, of: ids.map { ValueNode($0) }))
    }

    /// Sorts from the smallest id to the greatest: the order in which one stack inserted its objects.
    ///
    /// Other processes, batches and imports take ids from other ranges.
    public var ascending: SortKey<Root> { SortKey(node, isDescending: false) }

    /// Sorts from the greatest id to the smallest.
    public var descending: SortKey<Root> { SortKey(node, isDescending: true) }
}
