/// A column of a batch update and its new value: see
/// ``SavingContext/batchUpdate(_:_:)-(_,(Object.Columns)->Assignment<Object>)``.
public struct Assignment<Root: Model>: Sendable {
    let column: String
    let value: ExpressionNode

    fileprivate init(_ target: ExpressionNode, _ value: ExpressionNode) {
        self.value = value
        guard case .column(let column) = target, column.path.hops.isEmpty else {
            // The target is not a column of the model itself; the update reports the error.
            self.column = ""
            return
        }
        self.column = column.name
    }

    /// Makes a to-one relationship refer to the object with this id, or to no object.
    public static func relate<Destination: Model>(
        _ relationship: ToOne<Root, Destination>,
        to id: ObjectID<Destination>?
    ) -> Assignment {
        let path = relationship._$path
        let isOwn = path.hops.count == 1 && !path.hops[0].isDerived
        let target = ColumnNode(name: isOwn ? path.hops[0].name : "", isOptional: true, kind: .plain)
        return Assignment(.column(target), .value(id.map { ValueNode($0) } ?? .stored(.null)))
    }
}

extension Column where Root: Model {
    /// Sets the column to a value, in a batch update.
    public func set(to value: Value.Unwrapped) -> Assignment<Root> { Assignment(node, .value(ValueNode(value))) }

    /// Sets the column to a value calculated from columns of the same object, in a batch update. The calculation uses
    /// the values from before the update. It may also be SQL over columns of the same object:
    /// `$0.title.set(to: .sql("trim(\($0.title))"))`.
    public func set(to value: Column<Root, Value>) -> Assignment<Root> { Assignment(node, value.node) }
}

extension Column where Root: Model, Value: ExpressibleByNilLiteral {
    /// Sets the column to a value or to nil, in a batch update.
    public func set(to value: Value.Unwrapped?) -> Assignment<Root> {
        Assignment(node, .value(value.map { ValueNode($0) } ?? .stored(.null)))
    }

    /// Sets the column to a value calculated from non-optional columns of the same object, in a batch update.
    @_disfavoredOverload
    public func set(to value: Column<Root, Value.Unwrapped>) -> Assignment<Root> where Value.Unwrapped: ColumnValue {
        Assignment(node, value.node)
    }
}
