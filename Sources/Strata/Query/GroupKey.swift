/// What objects are put into groups and sections by: a column or what is calculated from it, an id, a to-one relationship.
///
/// The last two give ids. Objects without a value have the key nil, and make one group.
public protocol GroupKey<Root, Value>: Sendable {
    /// The model of the objects.
    associatedtype Root: Model
    /// The type of the keys.
    associatedtype Value: Sendable
    /// The key as an expression about a whole group, for conditions and sorts of groups.
    associatedtype Grouped: Sendable

    var _$key: GroupKeyParts<Value, Grouped> { get }
}

/// What a ``GroupKey`` consists of.
public struct GroupKeyParts<Value: Sendable, Grouped: Sendable>: Sendable {
    let node: ExpressionNode
    let grouped: Grouped
    let read: @Sendable (RowReader, Int32) throws -> Value
}

extension Column: GroupKey where Root: Model {
    public var _$key: GroupKeyParts<Value, Column<Group<Root>, Value>> {
        GroupKeyParts(node: node, grouped: Column<Group<Root>, Value>(node)) { try Value._$value($0.value(at: $1), in: $0.name(of: $1)) }
    }
}

extension IDColumn: GroupKey where Root: Model {
    public var _$key: GroupKeyParts<ObjectID<Object>?, IDColumn<Group<Root>, Object>> {
        GroupKeyParts(node: node, grouped: IDColumn<Group<Root>, Object>(path)) { reader, column in
            reader.isNull(at: column) ? nil : reader.read(ObjectID<Object>.self, at: column)
        }
    }
}

extension ToOne: GroupKey {
    public var _$key: GroupKeyParts<ObjectID<Destination>?, IDColumn<Group<Root>, Destination>> {
        IDColumn<Root, Destination>(_$path)._$key
    }
}
