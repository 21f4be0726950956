/// The kind of result that a query returns.
enum ResultShape: Sendable {
    /// Rows: the id, then all columns in the order of the schema.
    case objects
    /// Rows of members, each followed by the number of the object that it is a member of.
    case members
    /// Rows, each followed by the score of its match.
    case matches
    /// Rows grouped by key, each followed by its key.
    case sections(ExpressionNode)
    /// The ids.
    case ids
    /// The first rows of the query's slice, up to a limit, in the query's order.
    case first(Int)
    /// The last rows of the query's slice, up to a limit, starting at the end: see ``CompiledQuery/isReversed``.
    case last(Int)
    /// One integer: the number of objects in the slice.
    case count
    /// One integer: 1 if the slice has an object, otherwise 0.
    case exists
    /// One column of every row. If the query is distinct, each value occurs once.
    case values(ExpressionNode)
    /// One value: the aggregate over a column of the slice. NULL if there are no values to aggregate.
    case aggregate(Aggregate, ExpressionNode)

    enum Aggregate: Sendable {
        case sum
        case average
        case minimum
        case maximum

        /// The SQL function for values of a kind.
        func function(of kind: ValueKind) -> String {
            switch (self, kind) {
            case (.sum, .plain): "sum"
            case (.sum, .decimal): "strata_decimal_sum"
            case (.sum, .unsigned): "strata_unsigned_sum"
            case (.average, .plain): "avg"
            case (.average, .decimal): "strata_decimal_avg"
            case (.average, .unsigned): "strata_unsigned_avg"
            case (.minimum, _): "min"
            case (.maximum, _): "max"
            }
        }
    }
}

/// SQL together with its bindings.
struct CompiledQuery: Sendable {
    let sql: String
    /// The value of parameter n is at index n - 1.
    let bindings: [StoredValue]
    /// The tables that the result depends on, including join tables.
    let tables: Set<String>
    /// Whether the rows are in the reverse of the query's order.
    let isReversed: Bool
    /// Whether parts of the SQL are handwritten, so that SQLite may fail to parse them.
    let isRaw: Bool
}
