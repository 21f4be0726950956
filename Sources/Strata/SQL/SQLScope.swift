/// One SELECT under construction: the object that it is about, and the tables joined for its to-one relationships.
struct SQLScope {
    let model: ModelSchema
    /// The alias of the object's table.
    let alias: String
    /// The text behind FROM, to which joins are appended as paths are met.
    var from: String
    /// Aliases of joined tables by the names of their paths.
    var joins: [[String]: String] = [:]
    /// Whether sums and averages of groups take each value once.
    var countsValuesOnce = false
}

/// Turns the trees of a query into SQL and collects what is to be bound.
///
/// Values are always bound, so the texts are few and statements can be kept. Parameters are numbered, since joins are
/// found after the terms that need them.
struct SQLWriter {
    let sources: SQLSources
    private(set) var bindings: [StoredValue] = []
    private(set) var tables: Set<String> = []
    /// Whether some of it was written by hand.
    var isRaw = false
    private var aliasCount = 0
    private var depth = 0

    init(sources: SQLSources) { self.sources = sources }

    /// A parameter for a value.
    mutating func bind(_ value: StoredValue) -> String {
        bindings.append(value)
        return "?\(bindings.count)"
    }

    mutating func bind(_ value: ValueNode) throws -> String {
        switch value {
        case .stored(let stored): return bind(stored)
        case .id: return bind(.integer(try number(of: value)))
        case .invalid(let message): throw StrataError(.invalidQuery, message)
        }
    }

    /// A scope about the objects of a model.
    mutating func scope(of model: ModelSchema) -> SQLScope {
        let (source, alias) = table(.model(model))
        return SQLScope(model: model, alias: alias, from: "\(source) AS \(alias)")
    }

    /// What stands in FROM for a table, and a new alias for it.
    mutating func table(_ table: SQLSources.Table) -> (source: String, alias: String) {
        switch table {
        case .model(let schema): tables.insert(schema.table)
        case .join(let name): tables.insert(name)
        }
        defer { aliasCount += 1 }
        return (sources.source(table), "t\(aliasCount)")
    }

    /// Runs `body` one level deeper. The parser of SQLite has room for 100 open parentheses and operators.
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

    /// The value as it is stored. An id must be that of an inserted object, and one that the store knows.
    func stored(_ value: ValueNode) throws -> StoredValue {
        switch value {
        case .stored(let stored): return stored
        case .id: return .integer(try number(of: value))
        case .invalid(let message): throw StrataError(.invalidQuery, message)
        }
    }

    private func number(of value: ValueNode) throws -> Int64 {
        guard case .id(let packed, let model) = value else { return 0 }
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
                .foreignID,
                "The query compares with an id of \(model) that another store handed out. Ask that store."
            )
        }
        return number
    }
}
