import CStrataSQLite

extension Connection {
    /// A checked statement that a developer wrote completely or in part. The statement must read only, and must be one
    /// statement.
    func rawStatement(_ query: CompiledQuery) throws -> Statement {
        let make = {
            let statement = try Statement(query.sql, on: self, isRaw: true)
            try self.check(statement, query.sql)
            return statement
        }
        var statement = try statement(query.sql, make)
        // The cache may contain a statement of Strata's own with the same text.
        if !statement.isRaw { statement = try make() }
        try checkParameters(of: statement, query.bindings.count)
        return statement
    }

    /// Checks an update that contains SQL of a developer: it must be one statement, with exactly this number of
    /// parameters.
    func checkRawUpdate(_ sql: String, parameters: Int) throws {
        // The WITH clause names the last expected parameter first. SQLite then counts a developer's own `?` after it.
        let sql = "WITH \"strata_parameters\" AS (SELECT ?\(parameters)) \(sql)"
        let statement = try Statement(sql, on: self, isRaw: true)
        guard try isOneStatement(sql) else {
            throw StrataError(.invalidQuery, "The SQL is more than one expression. Give one for each column.")
        }
        try checkParameters(of: statement, parameters)
    }

    private func checkParameters(of statement: Statement, _ count: Int) throws {
        guard sqlite3_bind_parameter_count(statement.pointer) == count else {
            throw StrataError(
                .invalidQuery,
                "The SQL contains parameters (?). Interpolate values instead: \"… = \\(value)\" binds them."
            )
            .because(.missingParameters)
        }
    }

    private func check(_ statement: Statement, _ sql: String) throws {
        guard sqlite3_stmt_readonly(statement.pointer) != 0 else {
            throw StrataError(
                .invalidQuery,
                "The SQL would write. Change objects in a context and commit it, so that all observers are notified."
            )
            .because(.writingSQL)
        }
        // A statement that changes a setting of this connection would also affect the connection's next user.
        guard sqlite3_column_count(statement.pointer) > 0,
            ["SELECT", "WITH", "VALUES", "EXPLAIN"].contains(SQLText.firstWord(sql))
        else {
            throw StrataError(
                .invalidQuery,
                "The SQL is not a query. A query begins with SELECT, WITH, VALUES or EXPLAIN, and changes nothing."
            )
        }
        guard try isOneStatement(sql) else {
            throw StrataError(.invalidQuery, "The SQL is more than one statement. Run them one after the other.")
        }
    }

    /// Whether the text contains a statement, followed by spaces and comments only.
    ///
    /// - Throws: SQLite's error for the text.
    func isOneStatement(_ sql: String) throws -> Bool {
        try sql.withCString { text in
            var first: OpaquePointer?
            var second: OpaquePointer?
            var rest: UnsafePointer<CChar>?
            defer {
                sqlite3_finalize(first)
                sqlite3_finalize(second)
            }
            let code = sqlite3_prepare_v2(pointer, text, -1, &first, &rest)
            guard code == SQLITE_OK else { throw lastError(code) }
            return first != nil && sqlite3_prepare_v2(pointer, rest, -1, &second, nil) == SQLITE_OK && second == nil
        }
    }

    /// The error that the last call left, for a statement that was written by hand.
    func lastErrorOfRawSQL(_ code: Int32) -> StrataError {
        if code == SQLITE_OK { return StrataError(.invalidQuery, "The SQL is empty.") }
        guard code & 0xFF == SQLITE_ERROR, let text = sqlite3_errmsg(pointer) else { return lastError(code) }
        return StrataError(.invalidQuery, "SQLite cannot run the SQL: \(String(cString: text)).")
    }
}
