/// What a query is asked for.
enum ResultShape: Sendable {
    /// Rows: the id, then all columns in the order of the schema.
    case objects
    /// Rows of members, and behind each of them the number of the object whose member it is.
    case members
    /// Rows, and behind each of them how well it matches what is searched for.
    case matches
    /// Rows, those of one key together, and behind each of them the key.
    case sections(ExpressionNode)
    /// The ids.
    case ids
    /// The first so many rows of the query's slice, in its order.
    case first(Int)
    /// The last so many rows of the query's slice, from the end: see ``CompiledQuery/isReversed``.
    case last(Int)
    /// One integer: how many objects the slice has.
    case count
    /// One integer: 1 if the slice has an object, else 0.
    case exists
    /// One column of every row, each value once where the query is distinct.
    case values(ExpressionNode)
    /// One value: the aggregate over a column of the slice. NULL where there is nothing to aggregate.
    case aggregate(Aggregate, ExpressionNode)

    enum Aggregate: Sendable {
        case sum
        case average
        case minimum
        case maximum

        /// The function of SQL for values of a kind.
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

/// SQL with what is to be bound to it.
struct CompiledQuery: Sendable {
    let sql: String
    /// The value of parameter n is at index n - 1.
    let bindings: [StoredValue]
    /// The tables that the answer depends on, join tables among them.
    let tables: Set<String>
    /// Whether the rows come in the reverse of the query's order.
    let isReversed: Bool
    /// Whether some of it was written by hand, so that SQLite may not understand it.
    let isRaw: Bool
}
