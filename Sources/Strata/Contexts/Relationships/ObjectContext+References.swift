extension ObjectContext {
    /// The members of a relationship that this context sees, in the order of their ids.
    ///
    /// - Parameter hidingDuplicates: whether a member appears only once if contexts that did not see each other have
    ///   each added it.
    func joinRows(
        _ join: Int,
        _ column: Int,
        _ number: Int64,
        hidingDuplicates: Bool = false
    ) throws -> [JoinRow] {
        publish()
        let info = store.schema.entities[join].info
        let connection = try currentSnapshot().reader.connection
        var rows: [JoinRow] = []
        let sql = info.selectReferring(
            column,
            isPending: connection.overlay.parts[join] != nil,
            hidingDuplicates: hidingDuplicates
        )
        try connection.statement(sql).run([.integer(number)]) { rows.append(try JoinRow(_$from: $0)) }
        return rows
    }

    /// Reads the rows that this context sees and whose column holds one of these numbers, by one statement.
    ///
    /// - Parameter column: nil for the id.
    func forEachRow(
        of info: EntityInfo,
        _ column: Int?,
        _ ids: [Int64],
        _ body: (RowReader) throws -> Void
    ) throws {
        publish()
        let connection = try currentSnapshot().reader.connection
        let isPending = connection.overlay.parts[info.index] != nil
        try connection.forEachRow(of: info, column, ids, isPending: isPending, body)
    }

    /// Empties the to-one column of the objects that refer to an object, except in one of them.
    func clearReferences(of info: EntityInfo, at column: Int, to number: Int64, except kept: Int64? = nil) throws {
        for holder in try info.numbers(in: self, column: column, leadingTo: number) where holder != kept {
            try anyObject(holder, entity: info.index)?.setReference(nil, at: column)
        }
    }
}

extension Connection {
    /// Reads the rows whose column holds one of these numbers, by one statement.
    ///
    /// - Parameters:
    ///   - column: a reference; nil for the id.
    ///   - isPending: whether the overlay contains rows of the entity.
    func forEachRow(
        of info: EntityInfo,
        _ column: Int?,
        _ ids: [Int64],
        isPending: Bool = false,
        _ body: (RowReader) throws -> Void
    ) throws {
        if let column, ids.count == 1 {
            try statement(info.selectReferring(column, isPending: isPending)).run([.integer(ids[0])], body)
        } else if !ids.isEmpty {
            let list = ListText.json(ids.map { .integer($0) })
            try statement(info.selectAny(column, isPending: isPending)).run([.text(list)], body)
        }
    }
}

extension EntityInfo {
    /// The ids of the rows that a context sees and whose to-one column refers to an object.
    func numbers(in context: ObjectContext, column: Int, leadingTo number: Int64) throws -> [Int64] {
        var ids: [Int64] = []
        try context.forEachRow(of: self, column, [number]) { ids.append(try $0.read(Int64.self, at: 0)) }
        return ids
    }

    /// A query for the rows whose column holds one of the numbers in a JSON array, in any order.
    ///
    /// - Parameter column: nil for the id.
    fileprivate func selectAny(_ column: Int?, isPending: Bool) -> String {
        let source = isPending ? Overlay.source(self, hidingDuplicates: false) + " AS rows" : sql.table
        let name = column.map { sql.columns[$0] } ?? "\"id\""
        return "SELECT \(sql.columnList) FROM \(source) WHERE \(name) IN (SELECT value FROM json_each(?))"
    }

    /// A query for the rows whose to-one column refers to an object, in the order of their ids.
    func selectReferring(_ column: Int, isPending: Bool, hidingDuplicates: Bool = false) -> String {
        guard isPending else { return sql.selectReferring[column] }
        let source = Overlay.source(self, hidingDuplicates: hidingDuplicates) + " AS rows"
        return "SELECT \(sql.columnList) FROM \(source) WHERE \(sql.columns[column]) = ? ORDER BY \"id\""
    }
}
