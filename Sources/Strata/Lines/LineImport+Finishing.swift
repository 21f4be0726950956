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
        job.note(TableChanges(inserted: try runs(LinesSQL.selectIDs(info))), info)
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
        let maker = try job.connection.statement(LinesSQL.makeRow(info))
        try maker.bind(values)
        defer { maker.reset() }
        _ = try maker.step()
        let row = try Row(_$from: maker.reader)
        try job.check(row, self)
        _ = try job.write(row, by: try job.connection.statement(.insert(info)), self)
    }
}
