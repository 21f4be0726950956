import CStrataSQLite

extension ObjectContext {
    /// The rows of an SQL statement. For models that the statement names as `\(Article.self)`, it reads the rows that
    /// this context sees.
    ///
    /// - Throws: ``StrataError`` with `invalidQuery` and SQLite's message, also for a statement that would write; or if
    ///   the store cannot be read.
    public func rows(_ sql: SQL) throws -> [SQLRow] {
        var names: SQLRow.Names?
        var rows: [SQLRow] = []
        try run(sql) { reader in
            let count = sqlite3_column_count(reader.statement)
            let known = names ?? SQLRow.Names((0..<count).map { reader.name(of: $0) })
            names = known
            let values = (0..<count).map { reader.value(at: $0) }
            rows.append(SQLRow(values, known, fingerprint: store.ids.fingerprint))
        }
        return rows
    }

    /// The values in the first column of an SQL statement.
    ///
    /// - Parameters:
    ///   - type: a type that an attribute may have; an optional type if the column may contain NULL.
    ///   - sql: one statement that reads.
    /// - Throws: as ``rows(_:)-(SQL)``, and `undecodable` if a value is not of this type.
    public func values<Value: ColumnValue>(_ type: Value.Type, _ sql: SQL) throws -> [Value] {
        var values: [Value] = []
        try run(sql) { values.append(try Value._$value($0.value(at: 0), in: $0.name(of: 0))) }
        return values
    }

    /// The objects whose ids an SQL statement returns, in the order of the statement. The ids are in the column `id`,
    /// or in the first column if none has this name.
    ///
    /// ```swift
    /// let sql: SQL = "SELECT a.id FROM \(Article.self) AS a ORDER BY length(a.title) DESC LIMIT 3"
    /// let articles = try context.fetch(Article.self, sql: sql)
    /// ```
    ///
    /// Missing and deleted objects are left out.
    ///
    /// - Throws: as ``rows(_:)-(SQL)``, and `undecodable` if a value is not an id.
    /// - Complexity: the statement, and a look-up by key for each object that is not live in this context.
    public func fetch<Object: Model>(_ model: Object.Type, sql: SQL) throws -> [Object] {
        let entity = try store.schema.entity(Object.self)
        var ids: [Int64] = []
        var column: Int32?
        try run(sql) { reader in
            let known = column ?? reader.column(named: "id") ?? 0
            column = known
            ids.append(try Int64._$value(reader.value(at: known), in: reader.name(of: known)))
        }
        return try ids.compactMap { try object($0, entity: entity, Object.self) }
    }

    private func run(_ sql: SQL, _ body: (RowReader) throws -> Void) throws {
        try run({ try sql.compile(using: $0) }, body)
    }
}

extension RowReader {
    fileprivate func column(named name: String) -> Int32? {
        (0..<sqlite3_column_count(statement)).first { self.name(of: $0) == name }
    }
}
