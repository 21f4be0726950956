/// A predicate as a tree, without generic types. Its value is true or false, never NULL: see `SQLWriter.condition`.
indirect enum ConditionNode: Sendable {
    case constant(Bool)
    case and([ConditionNode])
    case or([ConditionNode])
    case not(ConditionNode)
    case isNull(ExpressionNode)
    /// The two are equal, or both are NULL.
    case equal(ExpressionNode, ExpressionNode)
    case compare(ExpressionNode, Comparison, ExpressionNode)
    case member(ExpressionNode, of: [ValueNode])
    case text(ExpressionNode, TextMatch, String, TextOptions)
    case search(SearchNode)
    /// The to-many relationship has at least one such member.
    case exists(MembersNode)
    /// Handwritten SQL.
    case sql(SQL)
    case invalid(String)

    enum Comparison: String, Sendable {
        case less = "<"
        case lessOrEqual = "<="
        case greater = ">"
        case greaterOrEqual = ">="

        var opposite: Comparison {
            switch self {
            case .less: .greaterOrEqual
            case .lessOrEqual: .greater
            case .greater: .lessOrEqual
            case .greaterOrEqual: .less
            }
        }
    }

    enum TextMatch: Sendable {
        case equal
        case contains
        case prefix
        case suffix
        case like
        case regex
    }
}

extension ConditionNode {
    // Long chains stay flat, so that neither Swift nor SQLite recurses once per term.

    static func && (left: ConditionNode, right: ConditionNode) -> ConditionNode {
        switch (left, right) {
        case (.and(let left), .and(let right)): conjunction(left + right)
        case (.and(let left), _): conjunction(left + [right])
        case (_, .and(let right)): conjunction([left] + right)
        default: .and([left, right])
        }
    }

    static func || (left: ConditionNode, right: ConditionNode) -> ConditionNode {
        switch (left, right) {
        case (.or(let left), .or(let right)): disjunction(left + right)
        case (.or(let left), _): disjunction(left + [right])
        case (_, .or(let right)): disjunction([left] + right)
        default: .or([left, right])
        }
    }

    private static func conjunction(_ terms: [ConditionNode]) -> ConditionNode {
        .and(
            grouped(terms) {
                if case .and = $0 { true } else { false }
            } as: {
                .and($0)
            }
        )
    }

    private static func disjunction(_ terms: [ConditionNode]) -> ConditionNode {
        .or(
            grouped(terms) {
                if case .or = $0 { true } else { false }
            } as: {
                .or($0)
            }
        )
    }

    /// Collects the last 64 single terms of a chain into a group.
    ///
    /// Each further term copies the chain. A group is copied as one element.
    private static func grouped(
        _ terms: [ConditionNode],
        isGroup: (ConditionNode) -> Bool,
        as make: ([ConditionNode]) -> ConditionNode
    ) -> [ConditionNode] {
        guard terms.count >= 64 else { return terms }
        let start = (terms.lastIndex(where: isGroup) ?? -1) + 1
        guard terms.count - start >= 64 else { return terms }
        return terms[..<start] + [make(Array(terms[start...]))]
    }

    static prefix func ! (condition: ConditionNode) -> ConditionNode {
        if case .not(let inner) = condition { inner } else { .not(condition) }
    }

    /// The same condition, applied to the object at the end of a path.
    func prefixed(by path: RelationshipPath) -> ConditionNode {
        switch self {
        case .constant, .invalid: self
        case .and(let terms): .and(terms.map { $0.prefixed(by: path) })
        case .or(let terms): .or(terms.map { $0.prefixed(by: path) })
        case .not(let inner): .not(inner.prefixed(by: path))
        case .isNull(let expression): .isNull(expression.prefixed(by: path))
        case .equal(let left, let right): .equal(left.prefixed(by: path), right.prefixed(by: path))
        case .compare(let left, let sign, let right):
            .compare(left.prefixed(by: path), sign, right.prefixed(by: path))
        case .member(let expression, let values): .member(expression.prefixed(by: path), of: values)
        case .text(let expression, let match, let text, let options):
            .text(expression.prefixed(by: path), match, text, options)
        case .search(let search): .search(search.prefixed(by: path))
        case .exists(let members): .exists(members.prefixed(by: path))
        case .sql(let sql): .sql(sql.prefixed(by: path))
        }
    }
}
