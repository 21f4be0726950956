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
        var texts: [String] = []
        var writer = SQLWriter(sources: .tables(resolver: schema.resolver, identity: connection.identity))
        var scope = SQLScope(model: Object._$schema, alias: info.sql.table, from: info.sql.table)
        for assignment in assignments {
            guard let column = info.columns.firstIndex(where: { $0.name == assignment.column }),
                !columns.contains(column), assignment.value.isOfOneRow
            else { throw Self.assignmentError(assignment.column, info) }
            columns.insert(column)
            texts.append("\(info.sql.columns[column]) = \(try writer.expression(assignment.value, in: &scope))")
        }
        if let updatedAt = info.updatedAt, !columns.contains(updatedAt) {
            columns.insert(updatedAt)
            let now = writer.bind(.real(time.timeIntervalSinceReferenceDate))
            texts.append("\(info.sql.columns[updatedAt]) = \(now)")
        }
        let sql = BatchSQL.update(
            info,
            texts,
            version: writer.bind(.integer(sequence)),
            firstParameter: writer.bindings.count + 1
        )
        if writer.isRaw { try connection.checkRawUpdate(sql, parameters: writer.bindings.count + 2) }
        var updated = NumberRuns()
        func checkValues() throws {
            for assignment in assignments {
                try writer.isRaw ? checkType(of: assignment, info) : checkSize(of: assignment, info)
            }
        }
        do {
            try forEachPortion(of: info.index) { first, last in
                let values = writer.bindings + [.integer(first), .integer(last)]
                updated = updated.union(try run(sql, values, checking: entity, edited: columns))
            }
        } catch let error as StrataError where error.code == .undecodable {
            // Either an assigned value makes the rows unreadable, or they could not be read before.
            try checkValues()
            throw error
        }
        try checkValues()
        try checkReferences(updated, columns, info)
        guard !updated.isEmpty else { return }
        columns.formUnion(info.derived)
        note(TableChanges(updated: [columns.map { info.columns[$0].name }: updated]), info)
    }

    /// What is calculated beyond 64 bits is a floating-point number to SQLite, and would be read as another one.
    private func checkSize<Object: Model>(of assignment: Assignment<Object>, _ info: EntityInfo) throws {
        guard case .arithmetic = assignment.value,
            let column = info.columns.firstIndex(where: { $0.name == assignment.column }),
            info.columns[column].type == .integer
        else { return }
        try check(assignment, info, BatchSQL.selectOversized(info, column)) {
            "\($0), which is too large for an integer"
        }
    }

    /// What SQL that was written by hand gives may be no value of the attribute's type.
    private func checkType<Object: Model>(of assignment: Assignment<Object>, _ info: EntityInfo) throws {
        guard let column = info.columns.firstIndex(where: { $0.name == assignment.column }) else { return }
        try check(assignment, info, BatchSQL.selectGathered(info, column)) { value in
            value == .null || info.columns[column].holds(value) ? nil : "\(value), which is no value of its type"
        }
    }

    /// Refuses what an assignment has come to in some rows.
    ///
    /// - Parameters:
    ///   - sql: gives the ids of rows and what they hold.
    ///   - fault: what is wrong with a value, if anything is.
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
                    number: try row.read(Int64.self, at: 0),
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
                : "\(info.name).\(column) cannot be set like this: a batch update sets each column once, to a value or to what is "
                    + "calculated from columns of the same object, by SQL of yours too."
        )
    }

    /// Inserts rows, or updates those that hold the same unique values.
    ///
    /// - Parameters:
    ///   - unique: the names of the columns that tell which rows are the same; nil where all are new.
    ///   - checkOrigin: refuses a row by what it was before it is given an id.
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
            row.id = ObjectID(number: try takeID(), fingerprint: connection.fingerprint)
            if let createdAt = info.createdAt, try row._$value(at: createdAt) == .null {
                try row._$set(timestamp, at: createdAt)
            }
            if let updatedAt = info.updatedAt { try row._$set(timestamp, at: updatedAt) }
            if let column = info.commitNumber { try row._$set(.integer(sequence), at: column) }
            try check(row, entity)
            if !info.externals.isEmpty { try writeBytes(of: &row, isOwn: isOwn, info) }
            if let holder = try write(row, by: statement, entity), holder != row._$number {
                updated.insert(holder)
            } else {
                inserted.append(row._$number)
            }
        }
        // Rows of this same batch may have been met again.
        updated.subtract(inserted)
        let insertedRuns = NumberRuns(ascending: inserted)
        let updatedRuns = NumberRuns(updated)
        try checkReferences(insertedRuns.union(updatedRuns), ColumnSet(first: info.columns.count), info)
        var changes = TableChanges(inserted: insertedRuns)
        if !updatedRuns.isEmpty {
            let columns = upsertedColumns(unique ?? [], info)
            changes.updated[columns.map { info.columns[$0].name }] = updatedRuns
        }
        note(changes, info)
    }

    /// Writes what a row keeps outside of itself. The row gets bytes of its own, also where it was read from a store and so has bytes
    /// already: those are another row's.
    ///
    /// - Parameter isOwn: whether the row is of this store. What another one calls by the same number are other bytes.
    private func writeBytes(of row: inout some StoredRow, isOwn: Bool, _ info: EntityInfo) throws {
        for column in info.externals {
            guard let external = row._$external(at: column) else { continue }
            guard let content = try external.data ?? (isOwn ? connection.content(of: external) : nil)
            else {
                throw StrataError(
                    .misuse,
                    "The bytes of a row's \(info.columns[column].name) are not in memory and not in this store. Make the row by "
                        + "`snapshot`, which reads them."
                )
            }
            try row._$set(.integer(try connection.insert(bytes: content)), at: column)
        }
    }

    /// What an update in place of an insert sets: all but what it was found by and the time of the first insert.
    private func upsertedColumns(_ unique: [String], _ info: EntityInfo) -> [Int] {
        info.columns.indices.filter { !unique.contains(info.columns[$0].name) && $0 != info.createdAt }
    }

    private func upsertStatement(_ unique: [String], _ info: EntityInfo) throws -> String {
        let set = try info.unique(unique)
        guard info.externals.isEmpty else {
            throw StrataError(
                .invalidQuery,
                "\(info.name) keeps bytes outside of its rows, which cannot be updated in place of an insert."
            )
        }
        return BatchSQL.upsert(info, by: set, setting: upsertedColumns(unique, info))
    }
}

extension EntityInfo {
    /// The columns of these names, which are unique together.
    ///
    /// - Throws: ``StrataError`` with `invalidQuery` where they are not.
    func unique(_ names: [String]) throws -> [Int] {
        let columns = names.compactMap { name in self.columns.firstIndex { $0.name == name } }
        guard let set = uniques.first(where: { Set($0) == Set(columns) && $0.count == names.count }) else {
            throw StrataError(
                .invalidQuery,
                "\(name) has no unique constraint on \(names.joined(separator: ", ")), by which rows could be told to be the "
                    + "same. Declare one: @Attribute(.unique), or @Model(.unique(…))."
            )
        }
        return set
    }
}

extension ExpressionNode {
    /// Whether it is calculated from values and columns of the queried object alone.
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
    /// Whether it is about values and columns of the queried object alone. What a text says is for SQLite to judge.
    fileprivate var isOfOneRow: Bool {
        switch self {
        case .text, .value, .list: true
        case .expression(.id(let path), _): path.hops.isEmpty || path.hops.count == 1 && !path.hops[0].isDerived
        case .expression(let node, _): node.isOfOneRow
        case .table, .members: false
        }
    }
}
