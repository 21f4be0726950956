/// One SELECT under construction: the queried object, and the tables joined for its to-one relationships.
struct SQLScope {
    let model: ModelSchema
    /// The alias of the object's table.
    let alias: String
    /// The text after FROM. Each new path appends its joins to this text.
    var from: String
    /// The aliases of joined tables, by the relationship names of their paths.
    var joins: [[String]: String] = [:]
    /// Whether sums and averages of groups count each distinct value once.
    var countsValuesOnce = false
}

/// Converts the trees of a query to SQL and collects the bindings.
///
/// Values are always bound, so there are few different texts and statements can be cached. Parameters are numbered,
/// because the writer finds joins after the terms that need them.
struct SQLWriter {
    let sources: SQLSources
    private(set) var bindings: [StoredValue] = []
    private(set) var tables: Set<String> = []
    /// Whether parts of the SQL are handwritten.
    var isRaw = false
    private var aliasCount = 0
    private var depth = 0

    init(sources: SQLSources) { self.sources = sources }

    /// Adds a value to the bindings, and returns its parameter.
    mutating func bind(_ value: StoredValue) -> String {
        bindings.append(value)
        return "?\(bindings.count)"
    }

    mutating func bind(_ value: ValueNode) throws -> String { try bind(stored(value)) }

    /// A scope for the objects of a model.
    mutating func scope(of model: ModelSchema) -> SQLScope {
        let (source, alias) = table(.model(model))
        return SQLScope(model: model, alias: alias, from: "\(source) AS \(alias)")
    }

    /// The FROM source of a table, and a new alias for it.
    mutating func table(_ table: SQLSources.Table) -> (source: String, alias: String) {
        switch table {
        case .model(let schema): tables.insert(schema.table)
        case .join(let name): tables.insert(name)
        }
        defer { aliasCount += 1 }
        return (sources.source(table), "t\(aliasCount)")
    }

    /// Runs `body` one level deeper. SQLite's parser has room for 100 open parentheses and operators.
    mutating func nested<Result>(_ body: (inout SQLWriter) throws -> Result) throws -> Result {
        depth += 1
        defer { depth -= 1 }
        guard depth <= 25 else {
            throw StrataError(
                .invalidQuery,
                "The predicate is nested more than 25 levels deep. Long chains of one operator, and lists, are flat."
            )
        }
        return try body(&self)
    }

    /// The value in its stored form. An id must belong to an inserted object, and the store must know it.
    func stored(_ value: ValueNode) throws -> StoredValue {
        switch value {
        case .stored(let stored): return stored
        case .id(let packed, let model): return .integer(try number(ofPacked: packed, model))
        case .invalid(let message): throw StrataError(.invalidQuery, message)
        }
    }

    private func number(ofPacked packed: Int64, _ model: String) throws -> Int64 {
        let number = packed & 0xFFFF_FFFF_FFFF
        guard number != 0 else {
            throw StrataError(
                .invalidQuery,
                "The query compares with an object of \(model) that was not inserted. Insert it into a context first."
            )
        }
        let fingerprint = UInt16(truncatingIfNeeded: packed >> 48)
        if let identity = sources.identity, !identity.knows(fingerprint: fingerprint, number: number) {
            throw StrataError(
                .idOfOtherStore,
                "The query compares with an id of \(model) from another store. Run the query in that store."
            )
        }
        return number
    }
}
