extension LineImport {
    /// After the last line: resolves references to existing objects, and records the changes.
    func finish() throws {
        do {
            if try connection.integer(LinesSQL.hasMissing) == 1 { try relateToExisting() }
            try checkMembers()
        } catch let error as StrataError {
            throw Self.located(error, "the lines refer to existing objects in a way that the models do not allow")
        }
        try connection.execute(LinesSQL.drop)
        try connection.execute(LinesSQL.dropMatches)
        for entity in schema.openedEntities {
            if entity.info.isJoin { try noteMembers(entity.info) } else { try noteRows(entity.info) }
        }
    }

    /// Resolves names that no line defines to objects of the store. A name that the store does not have is an error.
    private func relateToExisting() throws {
        // A to-one relationship may lead to an unopened model.
        let destinations = Set(schema.openedEntities.flatMap { $0.info.outgoing.map(\.destination) })
        for entity in schema.entities
        where !entity.info.isJoin && (schema.isOpened[entity.info.index] || destinations.contains(entity.info.index)) {
            let values: [StoredValue] = [.integer(Int64(entity.info.index)), .integer(firstID)]
            try connection.execute(LinesSQL.findExisting(entity.info), values)
        }
        let missing = try connection.row(LinesSQL.selectMissing)
        if case .integer(let line) = missing.first {
            let texts = missing.dropFirst().map { String(storedValue: $0) ?? "" }
            throw LineFailure(
                nil,
                texts.first,
                "refers to '\(texts.last ?? "")', which is neither in the lines nor in the store"
            )
            .error(line: line)
        }
        try connection.execute(LinesSQL.indexExisting)
        for entity in schema.openedEntities {
            for reference in entity.info.outgoing {
                do {
                    try connection.execute(LinesSQL.relate(entity.info, reference.column))
                } catch let error as StrataError {
                    throw BatchJob.constraint(error, entity.info)
                }
            }
        }
    }

    /// Checks that ordered one-to-many relationships list only objects that refer back to their owner.
    private func checkMembers() throws {
        for info in schema.openedEntities.map(\.info) {
            for relationship in info.relationships where schema.isOpened[relationship.destination] {
                guard case .foreignKey(let column, let order?) = relationship.storage else { continue }
                let member = schema.entities[relationship.destination].info
                let sql = LinesSQL.selectStray(schema.entities[order].info, member, column)
                guard case .integer(let owner) = try connection.row(sql, [.integer(firstID)]).first else { continue }
                let line = try connection.integer(LinesSQL.selectLine, [.integer(owner)])
                let name = "\(member.name).\(member.columns[column].name)"
                throw LineFailure(info.name, relationship.name, "lists an object whose \(name) does not refer back")
                    .error(line: line)
            }
        }
    }

    private func noteRows(_ info: EntityInfo) throws {
        let changed = (updated[info.index] ?? [:]).mapValues { IDRanges($0) }
        job.note(TableChanges(inserted: try runs(LinesSQL.selectIDs(info)), updated: changed), info)
    }

    /// Records inserted memberships as changes of the objects at both ends.
    private func noteMembers(_ join: EntityInfo) throws {
        for membership in schema.memberships[join.index] ?? [] {
            guard let owner = schema.infosByTable[membership.table] else { continue }
            let owners = try runs(LinesSQL.selectEnds(join, membership.side))
            if !owners.isEmpty { job.note(TableChanges(updated: [[membership.relationship]: owners]), owner) }
        }
    }

    /// The ids that a statement returns in ascending order.
    private func runs(_ sql: String) throws -> IDRanges {
        var result = IDRanges()
        try connection.statement(sql).run([.integer(firstID)]) { result.append(try $0.read(Int64.self, at: 0)) }
        return result
    }
}

extension Entity {
    /// Inserts a row with these values. The first value is the id.
    func insertRow(_ values: [StoredValue], _ job: BatchJob) throws {
        let row = try makeRow(values, job)
        try job.check(row, self)
        _ = try job.write(row, by: try job.connection.statement(.insert(info)), self)
    }

    /// Updates a row, and sets its timestamps as a save does.
    ///
    /// - Parameter value: returns the new value of a column from its old value.
    /// - Returns: the columns whose values changed.
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
        let maker = try job.connection.statement(.selectParameters(info))
        try maker.bind(values)
        defer { maker.reset() }
        _ = try maker.step()
        return try Row(_$from: maker.reader)
    }
}
