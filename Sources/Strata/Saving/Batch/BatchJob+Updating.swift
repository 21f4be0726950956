import Foundation

extension BatchJob {
    /// Sets columns of the objects that a query finds.
    func update<Object: Model>(
        _ query: Query<Object>,
        _ assignments: [Assignment<Object>],
        _ entity: Entity<Object.Row>
    ) throws {
        guard !assignments.isEmpty else { return }
        let info = try gather(query)
        var columns = ColumnSet()
        // Columns whose values SQLite calculates. All rows get the same value of another column.
        var calculated = ColumnSet()
        var texts: [String] = []
        var writer = SQLWriter(sources: .tables(resolver: schema.resolver, identity: connection.identity))
        var scope = SQLScope(model: Object._$schema, alias: info.sql.table, from: info.sql.table)
        for assignment in assignments {
            guard let column = info.columns.firstIndex(where: { $0.name == assignment.column }),
                !columns.contains(column), assignment.value.isOfOneRow
            else { throw Self.assignmentError(assignment.column, info) }
            columns.insert(column)
            if case .value = assignment.value {} else { calculated.insert(column) }
            texts.append("\(info.sql.columns[column]) = \(try writer.expression(assignment.value, in: &scope))")
        }
        if let updatedAt = info.updatedAt, !columns.contains(updatedAt) {
            columns.insert(updatedAt)
            let now = writer.bind(.real(time.timeIntervalSinceReferenceDate))
            texts.append("\(info.sql.columns[updatedAt]) = \(now)")
        }
        let sql = BatchSQL.update(info, texts, version: writer.bind(.integer(sequence)))
        if writer.isRaw { try connection.checkRawUpdate(sql, parameters: writer.bindings.count) }
        do { try connection.execute(sql, writer.bindings) } catch let error as StrataError {
            throw Self.constraint(error, info)
        }
        let updated = try gatheredIDs(of: info.index)
        guard let first = updated.ranges.first?.lowerBound else { return }
        if try mustRead(from: first, entity, edited: columns, calculated: calculated) {
            func checkValues() throws {
                for assignment in assignments {
                    try writer.isRaw ? checkType(of: assignment, info) : checkSize(of: assignment, info)
                }
            }
            do {
                try forEachPortion(of: info.index) { first, last in
                    try run(
                        BatchSQL.selectRows(info),
                        [.integer(first), .integer(last)],
                        checking: entity,
                        edited: columns
                    )
                }
            } catch let error as StrataError where error.code == .undecodable {
                // Either an assigned value makes the rows unreadable, or they were already unreadable.
                try checkValues()
                throw error
            }
            try checkValues()
        }
        try checkReferences(updated, columns, info)
        columns.formUnion(info.derived)
        note(TableChanges(updated: [columns.map { info.columns[$0].name }: updated]), info)
    }

    /// Whether an update must read the updated rows, to check them or to calculate their derived columns.
    ///
    /// Otherwise their new values are valid: no rule applies to them, and the calculated ones have the storage class of
    /// their column. The others are equal in all rows, and one row could be read.
    ///
    /// - Parameters:
    ///   - first: the id of one of the rows.
    ///   - edited: the columns that the update has set.
    ///   - calculated: the edited columns whose values differ between the rows.
    /// - Complexity: O(rows) if there are calculated columns, without values in memory. Otherwise O(1).
    private func mustRead<Row: StoredRow>(
        from first: Int64,
        _ entity: Entity<Row>,
        edited: ColumnSet,
        calculated: ColumnSet
    ) throws -> Bool {
        let info = entity.info
        guard info.derived.isEmpty, !info.hasRules(for: edited), !info.hooks.validateRow.isDeclared,
            calculated.allSatisfy({ info.columns[$0].accepts == nil })
        else { return true }
        var isReadable = false
        try connection.statement(.selectByID(info)).run([.integer(first)]) { reader in
            isReadable = (try? Row(_$from: reader)) != nil
        }
        // If this row cannot be read, reading all rows reports the error.
        guard isReadable else { return true }
        if calculated.isEmpty { return false }
        return try connection.value(BatchSQL.selectMistyped(info, calculated)) != nil
    }

    /// Refuses integer results beyond 64 bits. SQLite stores them as floating-point numbers, which would be read as
    /// another value.
    private func checkSize<Object: Model>(of assignment: Assignment<Object>, _ info: EntityInfo) throws {
        guard case .arithmetic = assignment.value,
            let column = info.columns.firstIndex(where: { $0.name == assignment.column }),
            info.columns[column].type == .integer
        else { return }
        try check(assignment, info, BatchSQL.selectOversized(info, column)) {
            "\($0), which is too large for an integer"
        }
    }

    /// Refuses results of raw SQL that are not valid for the attribute's type.
    private func checkType<Object: Model>(of assignment: Assignment<Object>, _ info: EntityInfo) throws {
        guard let column = info.columns.firstIndex(where: { $0.name == assignment.column }) else { return }
        try check(assignment, info, BatchSQL.selectGathered(info, column)) { value in
            value == .null || info.columns[column].holds(value)
                ? nil : "\(value), which is not a value of the attribute's type"
        }
    }

    /// Checks the results of an assignment and throws if any row's value is invalid.
    ///
    /// - Parameters:
    ///   - sql: selects the ids of rows and their values.
    ///   - fault: describes the fault of a value; nil if the value is valid.
    private func check<Object: Model>(
        _ assignment: Assignment<Object>,
        _ info: EntityInfo,
        _ sql: String,
        _ fault: (StoredValue) -> String?
    ) throws {
        var details: [StrataError.Detail] = []
        try connection.statement(sql).run([]) { row in
            guard details.count < 20, let fault = fault(row.value(at: 1)) else { return }
            details.append(
                StrataError.Detail(
                    model: info.name,
                    id: try row.read(Int64.self, at: 0),
                    column: assignment.column,
                    message: "would be \(fault)"
                )
            )
        }
        if !details.isEmpty { throw CommitJob.validationError(details) }
    }

    private static func assignmentError(_ column: String, _ info: EntityInfo) -> StrataError {
        StrataError(
            .invalidQuery,
            column.isEmpty
                ? "A batch update sets columns of \(info.name) itself, not those of other objects."
                : "A batch update cannot set \(info.name).\(column) like this. Set each column once, to a value or to "
                    + "an expression or SQL over columns of the same object."
        )
    }

    /// Inserts rows, or updates the existing rows with the same unique values.
    ///
    /// - Parameters:
    ///   - unique: the names of the columns that identify existing rows; nil if all rows are new.
    ///   - checkOrigin: refuses a row based on its original id, before the row gets a new id.
    func insert<Row: ModelRow>(
        _ rows: some Sequence<Row>,
        _ entity: Entity<Row>,
        upsert unique: [String]?,
        checkOrigin: (Row) throws -> Void
    ) throws {
        let info = entity.info
        let sql = try unique.map { try upsertStatement($0, info) }
        let statement = try sql.map(connection.statement) ?? connection.statement(.insert(info))
        // Rows may have been read from another store.
        statement.buffer.checkedIdentity = connection.identity
        defer { statement.buffer.checkedIdentity = nil }
        var (inserted, updated): ([Int64], Set<Int64>) = ([], [])
        let timestamp = StoredValue.real(time.timeIntervalSinceReferenceDate)
        for var row in rows {
            try checkOrigin(row)
            let isOwn = row.id.fingerprint == connection.fingerprint
            row.id = ObjectID(rawValue: try takeID(), fingerprint: connection.fingerprint)
            if let createdAt = info.createdAt, try row._$value(at: createdAt) == .null {
                try row._$set(timestamp, at: createdAt)
            }
            if let updatedAt = info.updatedAt { try row._$set(timestamp, at: updatedAt) }
            if let column = info.commitNumber { try row._$set(.integer(sequence), at: column) }
            try check(row, entity)
            if !info.externals.isEmpty { try writeBytes(of: &row, isOwn: isOwn, info) }
            if let holder = try write(row, by: statement, entity), holder != row._$id {
                updated.insert(holder)
            } else {
                inserted.append(row._$id)
            }
        }
        // The update may have matched a row that this batch inserted.
        updated.subtract(inserted)
        let insertedRuns = IDRanges(ascending: inserted)
        let updatedRuns = IDRanges(updated)
        try checkReferences(insertedRuns.union(updatedRuns), ColumnSet(first: info.columns.count), info)
        var changes = TableChanges(inserted: insertedRuns)
        if !updatedRuns.isEmpty {
            let columns = upsertedColumns(unique ?? [], info)
            changes.updated[columns.map { info.columns[$0].name }] = updatedRuns
        }
        note(changes, info)
    }

    /// Writes the values that a row stores outside of itself. The row gets a separate copy of the bytes, even if the
    /// row was read from a store and already has bytes. The existing bytes belong to another row.
    ///
    /// - Parameter isOwn: whether the row belongs to this store. In another store, the same number refers to other
    ///   bytes.
    private func writeBytes(of row: inout some StoredRow, isOwn: Bool, _ info: EntityInfo) throws {
        for column in info.externals {
            guard let external = row._$external(at: column) else { continue }
            guard let content = try external.data ?? (isOwn ? connection.content(of: external) : nil)
            else {
                throw StrataError(
                    .invalidState,
                    "The bytes of a row's \(info.columns[column].name) are not in memory and not in this store. "
                        + "Create the row with `snapshot`, which reads them."
                )
            }
            try row._$set(.integer(try connection.insert(bytes: content)), at: column)
        }
    }

    /// The columns that an upsert updates: all except the columns that identify the row and the time of the first
    /// insert.
    private func upsertedColumns(_ unique: [String], _ info: EntityInfo) -> [Int] {
        info.columns.indices.filter { !unique.contains(info.columns[$0].name) && $0 != info.createdAt }
    }

    private func upsertStatement(_ unique: [String], _ info: EntityInfo) throws -> String {
        let set = try info.unique(unique)
        guard info.externals.isEmpty else {
            throw StrataError(
                .invalidQuery,
                "\(info.name) has attributes with external storage, which an upsert cannot write. Save its objects in "
                    + "a context instead."
            )
        }
        return BatchSQL.upsert(info, by: set, setting: upsertedColumns(unique, info))
    }
}

extension EntityInfo {
    /// The columns with these names, which are unique together.
    ///
    /// - Throws: ``StrataError`` with `invalidQuery` if the columns do not have a unique constraint.
    func unique(_ names: [String]) throws -> [Int] {
        let columns = names.compactMap { name in self.columns.firstIndex { $0.name == name } }
        guard let set = uniques.first(where: { Set($0) == Set(columns) && $0.count == names.count }) else {
            throw StrataError(
                .invalidQuery,
                "\(name) has no unique constraint on \(names.joined(separator: ", ")), so an upsert cannot tell which "
                    + "rows are the same. Declare one: @Attribute(.unique), or @Model(.unique(…))."
            )
        }
        return set
    }
}

extension ExpressionNode {
    /// Whether the expression uses only values and columns of the queried object.
    fileprivate var isOfOneRow: Bool {
        switch self {
        case .column(let column): column.path.hops.isEmpty
        case .id(let path): path.hops.isEmpty
        case .value: true
        case .function(_, let arguments): arguments.allSatisfy(\.isOfOneRow)
        case .arithmetic(_, let left, let right): left.isOfOneRow && right.isOfOneRow
        case .sql(let sql, _): sql.fragments.allSatisfy(\.isOfOneRow)
        case .count, .aggregate: false
        }
    }
}

extension SQL.Fragment {
    /// Whether the fragment uses only values and columns of the queried object. SQLite itself checks raw text.
    fileprivate var isOfOneRow: Bool {
        switch self {
        case .text, .value, .list: true
        case .expression(.id(let path), _): path.hops.isEmpty || path.hops.count == 1 && !path.hops[0].isDerived
        case .expression(let node, _): node.isOfOneRow
        case .table, .members: false
        }
    }
}
