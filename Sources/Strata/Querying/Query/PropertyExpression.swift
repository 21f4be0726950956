extension Column: PropertyExpression {
    var _$property: String? { node.property }
}

extension ExternalColumn: PropertyExpression {
    var _$property: String? { node.property }
}

extension TransformedColumn: PropertyExpression {
    var _$property: String? { node.property }
}

extension IDColumn: PropertyExpression {
    var _$property: String? { path.hops.isEmpty ? "id" : nil }
}

extension ToOne: PropertyExpression {
    var _$property: String? { _$path.hops.count == 1 ? _$path.hops[0].name : nil }
}

extension RelationshipExpression: PropertyExpression {
    var _$property: String? { members.path.hops.isEmpty ? members.relationship : nil }
}

extension ExpressionNode {
    fileprivate var property: String? {
        if case .column(let column) = self, column.path.hops.isEmpty { column.name } else { nil }
    }
}
