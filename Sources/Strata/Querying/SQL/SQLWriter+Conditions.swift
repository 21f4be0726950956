/// Conditions in SQL.
///
/// SQL has three truth values, and Swift has two. Negations are therefore first pushed down to the terms. Only AND, OR,
/// WHERE and EXISTS remain above the terms, and they treat NULL like false. A negated term that could be NULL uses
/// `IS NOT TRUE`. Other terms stay plain comparisons, for which SQLite finds an index.
///
/// SQLite's parser has room for 100 open parentheses and operators. The writer therefore adds parentheses only if the
/// meaning, or the shape of a long chain, depends on them.
extension SQLWriter {
    /// - Parameter isTerm: whether the caller joins the text with others by AND.
    mutating func condition(
        _ node: ConditionNode,
        negated: Bool = false,
        isTerm: Bool = false,
        in scope: inout SQLScope
    ) throws -> String {
        let text = try nested { try $0.clause(node, negated: negated, in: &scope) }
        return isTerm && node.isDisjunction(negated: negated) ? "(\(text))" : text
    }

    private mutating func clause(
        _ node: ConditionNode,
        negated: Bool,
        in scope: inout SQLScope
    ) throws -> String {
        switch node {
        case .constant(let value):
            return value != negated ? "1" : "0"
        case .and(let terms):
            return try joined(terms[...], isAnd: !negated, negated: negated, in: &scope)
        case .or(let terms):
            return try joined(terms[...], isAnd: negated, negated: negated, in: &scope)
        case .not(let inner):
            return try clause(inner, negated: !negated, in: &scope)
        case .isNull(let operand):
            return try expression(operand, in: &scope) + (negated ? " IS NOT NULL" : " IS NULL")
        case .equal(let left, let right):
            return try equal(left, right, negated: negated, in: &scope)
        case .compare(let left, let sign, let right):
            return try compare(left, sign, right, negated: negated, in: &scope)
        case .member(let operand, let values):
            return try member(operand, values, negated: negated, in: &scope)
        case .text(let operand, let match, let text, let options):
            let term = try self.text(operand, match, text, options, in: &scope)
            return negated ? "(\(term)) IS NOT TRUE" : term
        case .search(let search):
            let term = try self.search(search, in: &scope)
            return negated ? "(\(term)) IS NOT TRUE" : term
        case .exists(let members):
            return "\(negated ? "NOT " : "")EXISTS (SELECT 1 \(try rows(of: members, in: &scope)))"
        case .sql(let sql):
            return "(\(try raw(sql, in: &scope)))\(negated ? " IS NOT TRUE" : "")"
        case .invalid(let message):
            throw StrataError(.invalidQuery, message)
        }
    }

    /// Joins terms as a balanced tree.
    ///
    /// SQLite refuses expressions that are 1,000 levels deep. A chain has one level for each term; a tree has far
    /// fewer.
    private mutating func joined(
        _ terms: ArraySlice<ConditionNode>,
        isAnd: Bool,
        negated: Bool,
        in scope: inout SQLScope
    ) throws -> String {
        let sign = isAnd ? " AND " : " OR "
        if terms.count <= 8 {
            var texts: [String] = []
            for term in terms { texts.append(try condition(term, negated: negated, isTerm: isAnd, in: &scope)) }
            return texts.joined(separator: sign)
        }
        let middle = terms.startIndex + terms.count / 2
        let left = try joined(terms[..<middle], isAnd: isAnd, negated: negated, in: &scope)
        let right = try joined(terms[middle...], isAnd: isAnd, negated: negated, in: &scope)
        return "\(left)\(sign)(\(right))"
    }

    private mutating func equal(
        _ left: ExpressionNode,
        _ right: ExpressionNode,
        negated: Bool,
        in scope: inout SQLScope
    ) throws -> String {
        let sign =
            if negated { left.isOptional || right.isOptional ? "IS NOT" : "<>" } else {
                left.isOptional && right.isOptional ? "IS" : "="
            }
        return "\(try comparable(left, in: &scope)) \(sign) \(try comparable(right, in: &scope))"
    }

    private mutating func compare(
        _ left: ExpressionNode,
        _ sign: ConditionNode.Comparison,
        _ right: ExpressionNode,
        negated: Bool,
        in scope: inout SQLScope
    ) throws -> String {
        let isOptional = left.isOptional || right.isOptional
        let sign = negated && !isOptional ? sign.opposite : sign
        let term = "\(try comparable(left, in: &scope)) \(sign.rawValue) \(try comparable(right, in: &scope))"
        return negated && isOptional ? "(\(term)) IS NOT TRUE" : term
    }

    private mutating func member(
        _ operand: ExpressionNode,
        _ values: [ValueNode],
        negated: Bool,
        in scope: inout SQLScope
    ) throws -> String {
        guard !values.isEmpty else { return negated ? "1" : "0" }
        var stored: [StoredValue] = []
        stored.reserveCapacity(values.count)
        for value in values { stored.append(try self.stored(value)) }
        let text = try comparable(operand, in: &scope)
        let term = "\(text) IN (\(list(stored)))"
        return negated ? "(\(term)) IS NOT TRUE" : term
    }

    private mutating func text(
        _ operand: ExpressionNode,
        _ match: ConditionNode.TextMatch,
        _ text: String,
        _ options: TextOptions,
        in scope: inout SQLScope
    ) throws -> String {
        let operand = try expression(operand, in: &scope)
        if match == .prefix, options.isEmpty {
            let term = "\(operand) >= \(bind(.text(text)))"
            guard let end = TextFolding.end(ofPrefix: text) else { return term }
            return "\(term) AND \(operand) < \(bind(.text(end)))"
        }
        if match == .regex { return "strata_regex(\(bind(.text(text))), \(operand))" }
        if match == .equal, options.isEmpty { return "\(operand) = \(bind(.text(text)))" }
        let parameter = bind(.text(TextFolding.fold(text, options)))
        let flags = bind(.integer(Int64(options.rawValue)))
        switch match {
        case .equal: return "strata_fold(\(operand), \(flags)) = \(parameter)"
        case .prefix: return "strata_prefix(\(operand), \(parameter), \(flags))"
        case .suffix: return "strata_suffix(\(operand), \(parameter), \(flags))"
        case .like: return "strata_like(\(operand), \(parameter), \(flags))"
        case .contains, .regex: return "strata_contains(\(operand), \(parameter), \(flags))"
        }
    }
}

extension ConditionNode {
    /// Whether the condition's SQL, or that of its negation, consists of terms joined by OR.
    fileprivate func isDisjunction(negated: Bool) -> Bool {
        switch self {
        case .and: negated
        case .or: !negated
        case .not(let inner): inner.isDisjunction(negated: !negated)
        default: false
        }
    }
}
