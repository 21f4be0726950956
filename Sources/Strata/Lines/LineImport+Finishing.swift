extension LineImport {
    /// After the last line: lets references lead where they are to, and notes what was done.
    func finish() throws {
        do {
            if try connection.integer(LinesSQL.hasMissing) == 1 { try relateToExisting() }
            try checkMembers()
        } catch let error as StrataError {
            throw Self.located(error, "objects that were there already cannot be referred to like this")
        }
        try connection.execute(LinesSQL.drop)
        try connection.execute(LinesSQL.dropMatches)
        for entity in schema.entities {
            if entity.info.isJoin { try noteMembers(entity.info) } else { try noteRows(entity.info) }
        }
    }

    /// Objects that the lines name and do not have are those of the store, or errors.
    private func relateToExisting() throws {
        for entity in schema.entities where !entity.info.isJoin {
            let values: [StoredValue] = [.integer(Int64(entity.info.index)), .integer(firstID)]
            try connection.execute(LinesSQL.findExisting(entity.info), values)
        }
        let missing = try connection.row(LinesSQL.selectMissing)
        if case .integer(let line) = missing.first {
            let texts = missing.dropFirst().map { String(storedValue: $0) ?? "" }
            throw LineFailure(
                nil,
                texts.first,
                "leads to '\(texts.last ?? "")', which is neither in the lines nor in the store"
            )
            .error(line: line)
        }
        for entity in schema.entities {
            for reference in entity.info.outgoing {
                do {
                    try connection.execute(LinesSQL.relate(entity.info, reference.column))
                } catch let error as StrataError {
                    throw BatchJob.constraint(error, entity.info)
                }
            }
        }
    }

    /// An ordered relationship lists what leads to its object, and nothing else.
    private func checkMembers() throws {
        for info in schema.entities.map(\.info) {
            for relationship in info.relationships {
                guard case .foreignKey(let column, let order?) = relationship.storage else { continue }
                let member = schema.entities[relationship.destination].info
                let sql = LinesSQL.selectStray(schema.entities[order].info, member, column)
                guard case .integer(let owner) = try connection.row(sql, [.integer(firstID)]).first else { continue }
                let line = try connection.integer(LinesSQL.selectLine, [.integer(owner)])
                let name = "\(member.name).\(member.columns[column].name)"
                throw LineFailure(info.name, relationship.name, "lists an object whose \(name) does not lead back")
                    .error(line: line)
            }
        }
    }

    private func noteRows(_ info: EntityInfo) throws {
        let changed = (updated[info.index] ?? [:]).mapValues { NumberRuns($0) }
        job.note(TableChanges(inserted: try runs(LinesSQL.selectIDs(info)), updated: changed), info)
    }

    /// Members that came are changes of the objects at both ends.
    private func noteMembers(_ join: EntityInfo) throws {
        for membership in schema.memberships[join.index] ?? [] {
            guard let owner = schema.infosByTable[membership.table] else { continue }
            let owners = try runs(LinesSQL.selectEnds(join, membership.side))
            if !owners.isEmpty { job.note(TableChanges(updated: [[membership.relationship]: owners]), owner) }
        }
    }

    /// The numbers that a statement gives in ascending order.
    private func runs(_ sql: String) throws -> NumberRuns {
        var result = NumberRuns()
        try connection.statement(sql).run([.integer(firstID)]) { result.append(try $0.read(Int64.self, at: 0)) }
        return result
    }
}

extension Entity {
    /// Inserts a row of these values, the id first.
    func insertRow(_ values: [StoredValue], _ job: BatchJob) throws {
        let row = try makeRow(values, job)
        try job.check(row, self)
        _ = try job.write(row, by: try job.connection.statement(.insert(info)), self)
    }

    /// Updates a row. Its timestamps are set as by a save.
    ///
    /// - Parameter value: gives the value of a column, from the one that it has.
    /// - Returns: the columns that were set, which are those with another value than before.
    func updateRow(
        _ number: Int64,
        _ job: BatchJob,
        _ value: (_ column: Int, _ old: StoredValue) throws -> StoredValue
    ) throws -> ColumnSet {
        var found: Row?
        try job.connection.statement(.selectByID(info)).run([.integer(number)]) { found = try Row(_$from: $0) }
        guard let old = found else { return ColumnSet() }
        var values: [StoredValue] = [.integer(number)]
        for column in info.columns.indices {
            let before = try old._$value(at: column)
            values.append(info.automatic.contains(column) ? before : try value(column, before))
        }
        var row = try makeRow(values, job)
        var columns = row._$differences(from: old).subtracting(info.automatic)
        guard !columns.isEmpty else { return columns }
        if let updatedAt = info.updatedAt {
            try row._$set(.real(job.time.timeIntervalSinceReferenceDate), at: updatedAt)
            columns.insert(updatedAt)
        }
        columns.formUnion(info.derived)
        try job.check(row, edited: columns, self)
        try job.write(columns, of: [row], info)
        return columns
    }

    private func makeRow(_ values: [StoredValue], _ job: BatchJob) throws -> Row {
        let maker = try job.connection.statement(LinesSQL.makeRow(info))
        try maker.bind(values)
        defer { maker.reset() }
        _ = try maker.step()
        return try Row(_$from: maker.reader)
    }
}
