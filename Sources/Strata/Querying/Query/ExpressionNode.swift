import Foundation

/// A column expression as a tree, without generic types. The tree holds names; the folder `SQL` generates SQL from it.
indirect enum ExpressionNode: Sendable {
    case column(ColumnNode)
    /// The id of the object at the end of a path. If the path is empty, the id of the queried object.
    case id(RelationshipPath)
    case value(ValueNode)
    /// A function of SQL that returns NULL if and only if its first argument is NULL.
    case function(String, [ExpressionNode])
    case arithmetic(String, ExpressionNode, ExpressionNode)
    /// The number of members of a to-many relationship.
    case count(MembersNode)
    /// An aggregate over the objects of a group.
    case aggregate(AggregateNode)
    /// Handwritten SQL.
    case sql(SQL, ValueKind)
}

/// A stored column at the end of a path of to-one relationships.
struct ColumnNode: Sendable {
    var path = RelationshipPath()
    let name: String
    let isOptional: Bool
    let kind: ValueKind
}

/// How SQLite must compare or sum values.
enum ValueKind: Sendable {
    case plain
    case decimal
    case unsigned

    init<Value: AttributeValue>(_ type: Value.Type) {
        let type = type.heldType
        if type == Decimal.self {
            self = .decimal
        } else {
            self = type == UInt64.self || type == UInt.self ? .unsigned : .plain
        }
    }
}

/// A value that is part of the query.
enum ValueNode: Sendable {
    case stored(StoredValue)
    /// An id as the caller gave it, with its store's fingerprint.
    case id(packed: Int64, model: String)
    /// A value that no store can hold. The query reports the text when it runs.
    case invalid(String)

    init<Value: AttributeValue>(_ value: Value) {
        do {
            let stored = try value.storedValue
            let isNaN = if case .real(let number) = stored { number.isNaN } else { (value as? Decimal)?.isNaN ?? false }
            self =
                isNaN
                ? .invalid("NaN equals nothing and cannot be compared. Compare with nil or leave the term out.")
                : .stored(stored)
        } catch {
            self = .invalid("A value of type \(Value.self) cannot be encoded: \(error)")
        }
    }

    init<Object: Model>(_ id: ObjectID<Object>) { self = .id(packed: id.packed, model: "\(Object.self)") }
}

/// A path along to-one relationships, starting at the queried object.
struct RelationshipPath: Sendable {
    struct Hop: Sendable {
        let name: String
        let destination: ModelReference
        /// Whether the relationship's column is in the destination's table.
        let isDerived: Bool
    }

    var hops: [Hop] = []

    func prefixed(by path: RelationshipPath) -> RelationshipPath { RelationshipPath(hops: path.hops + hops) }
}

/// The members of a to-many relationship of the object at the end of a path, optionally restricted by a condition.
struct MembersNode: Sendable {
    var path: RelationshipPath
    let relationship: String
    let destination: ModelReference
    /// A condition on the members. Its columns are columns of the members.
    var condition: ConditionNode?
}

extension ExpressionNode {
    /// The same expression, applied to the object at the end of a path.
    func prefixed(by path: RelationshipPath) -> ExpressionNode {
        switch self {
        case .column(var column):
            column.path = column.path.prefixed(by: path)
            return .column(column)
        case .id(let own): return .id(own.prefixed(by: path))
        case .value: return self
        case .function(let name, let arguments): return .function(name, arguments.map { $0.prefixed(by: path) })
        case .arithmetic(let sign, let left, let right):
            return .arithmetic(sign, left.prefixed(by: path), right.prefixed(by: path))
        case .count(let members): return .count(members.prefixed(by: path))
        case .aggregate: return self
        case .sql(let sql, let kind): return .sql(sql.prefixed(by: path), kind)
        }
    }

    /// Whether the expression may be NULL.
    var isOptional: Bool {
        switch self {
        case .column(let column): column.isOptional || !column.path.hops.isEmpty
        case .id(let path): !path.hops.isEmpty
        case .value(.stored(.null)): true
        case .value, .count: false
        case .function(_, let arguments): arguments.first?.isOptional ?? false
        case .arithmetic(_, let left, let right): left.isOptional || right.isOptional
        case .aggregate(let aggregate): aggregate.isOptional
        case .sql: true
        }
    }

    var kind: ValueKind {
        switch self {
        case .column(let column): column.kind
        case .aggregate(let aggregate): aggregate.kind
        case .sql(_, let kind): kind
        default: .plain
        }
    }
}

extension MembersNode {
    func prefixed(by path: RelationshipPath) -> MembersNode {
        var result = self
        result.path = self.path.prefixed(by: path)
        return result
    }
}
