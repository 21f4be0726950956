/// The criterion of groups and sections: a column, a value calculated from columns, an id, or a to-one relationship.
///
/// For ids and to-one relationships, the keys are ids. Objects without a value have the key nil and form one group.
public protocol GroupKey<Root, Value>: Sendable {
    /// The model of the objects.
    associatedtype Root: Model
    /// The type of the keys.
    associatedtype Value: Sendable
    /// The key as an expression about a whole group, for conditions and sorts of groups.
    associatedtype KeyColumn: Sendable

    var _$key: GroupKeyParts<Value, KeyColumn> { get }
}

/// The components of a ``GroupKey``.
@_documentation(visibility: internal)
public struct GroupKeyParts<Value: Sendable, KeyColumn: Sendable>: Sendable {
    let node: ExpressionNode
    let column: KeyColumn
    let read: @Sendable (RowReader, Int32) throws -> Value
}

extension Column: GroupKey where Root: Model {
    public var _$key: GroupKeyParts<Value, Column<Grouped<Root>, Value>> {
        GroupKeyParts(node: node, column: Column<Grouped<Root>, Value>(node)) {
            try Value._$value($0.value(at: $1), in: $0.name(of: $1))
        }
    }
}

extension IDColumn: GroupKey where Root: Model {
    public var _$key: GroupKeyParts<ObjectID<Object>?, IDColumn<Grouped<Root>, Object>> {
        GroupKeyParts(node: node, column: IDColumn<Grouped<Root>, Object>(path)) { reader, column in
            reader.isNull(at: column) ? nil : reader.read(ObjectID<Object>.self, at: column)
        }
    }
}

extension ToOne: GroupKey {
    public var _$key: GroupKeyParts<ObjectID<Destination>?, IDColumn<Grouped<Root>, Destination>> {
        IDColumn<Root, Destination>(_$path)._$key
    }
}
