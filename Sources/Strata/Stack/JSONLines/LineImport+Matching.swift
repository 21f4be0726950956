extension LineImport {
    /// Finds the object of the store that a line matches, and records the line's name for this object or for the new
    /// one.
    func match(_ line: ImportLine) throws {
        let info = line.info
        let holder = try holder(of: line)
        if let holder {
            if let other = try connection.integer(LinesSQL.selectMatchingLine, [.integer(holder)]) {
                let names = (keys[info.index] ?? []).map { info.columns[$0].name }.joined(separator: ", ")
                throw LineFailure(info.name, names, "matches the same object as line \(other)")
            }
            try connection.execute(LinesSQL.insertMatch, [.integer(self.line), .integer(holder)])
        }
        guard let key = line.id else { return }
        try names.announce(key, of: info, line: self.line, holder: holder)
    }

    /// The object of the store that has the same unique values as a line. Nil if the line omits one of these values.
    private func holder(of line: ImportLine) throws -> Int64? {
        let info = line.info
        guard let key = keys[info.index] else { return nil }
        var values: [StoredValue] = []
        for column in key {
            guard case .value(let value) = line.fields[column], value != .null else { return nil }
            values.append(info.columns[column].normalized(value))
        }
        return try connection.integer(info.sql.selectHolder(key), values)
    }

    /// Removes the members that an existing object has in the store but not in its line.
    ///
    /// In an ordered one-to-many relationship, the members' places stay: the members' own to-one column defines their
    /// owner.
    ///
    /// - Returns: whether the stored members, or their order in an ordered relationship, differ from the line's
    ///   members.
    func prepare(
        _ join: EntityInfo,
        _ own: Int,
        _ place: Int?,
        of number: Int64,
        for members: [Int64],
        _ relationship: ResolvedRelationship
    ) throws -> Bool {
        let old = try connection.numbers(LinesSQL.selectEnds(join, of: own, place: place), [.integer(number)])
        let kept = Set(members)
        guard case .join = relationship.storage else { return old.filter(kept.contains) != members }
        guard place == nil ? Set(old) != kept : old != members else { return false }
        var removed: [JoinRow] = []
        let statement = try connection.statement(LinesSQL.deleteMember(join, of: own))
        for member in old where !kept.contains(member) {
            try statement.run([.integer(number), .integer(member), .integer(firstID)]) {
                removed.append(try JoinRow(_$from: $0))
            }
        }
        if !removed.isEmpty { job.note(removed: removed, of: join) }
        return true
    }
}

extension ColumnSchema {
    /// A value in the form in which its type stores it, whichever notation the line uses.
    fileprivate func normalized(_ value: StoredValue) -> StoredValue {
        heldType?.init(storedValue: value).flatMap { try? $0.storedValue } ?? value
    }
}
