/// The changes of one commit, by table: rows, kinds of change and columns, without values.
struct CommitChanges: Sendable, Hashable {
    /// The changes by the name of the table.
    var tables: [String: TableChanges] = [:]

    var isEmpty: Bool { tables.isEmpty }
}

/// The changes of one commit in one table.
struct TableChanges: Sendable, Hashable {
    var inserted = IDRanges()
    var deleted = IDRanges()
    /// The updated rows, by the names of the columns that were set. The name of a to-many relationship represents its
    /// members.
    var updated: [[String]: IDRanges] = [:]

    /// All affected rows.
    var all: IDRanges { updated.values.reduce(inserted.union(deleted)) { $0.union($1) } }
}

extension CommitChanges {
    /// Adds the rows of one entity, as the commit has left them.
    mutating func add(_ rows: any AnyRowChanges, of entity: any AnyEntity, _ schema: Schema) {
        if entity.info.isJoin {
            addMembers(rows.typed(JoinRow.self), entity.info, schema)
        } else {
            add(entity.changes(of: rows), to: entity.info.table)
        }
    }

    mutating func add(_ changes: TableChanges, to table: String) {
        tables[table] = tables[table]?.adding(changes) ?? changes
    }

    /// Adds members of a relationship that were added, removed or moved, as changes of the objects at both ends.
    mutating func addMembers(_ part: RowChanges<JoinRow>, _ info: EntityInfo, _ schema: Schema) {
        for membership in schema.memberships[info.index] ?? [] {
            let isLeft = membership.side == JoinRow.Column.left
            let owners = IDRanges(part.changes.lazy.map { isLeft ? $0.row.left : $0.row.right })
            let changes = TableChanges(updated: [[membership.relationship]: owners])
            add(changes, to: membership.table)
        }
    }
}

extension Schema {
    /// The affected rows, by entity. Members of relationships are not known individually, so their entity has an empty
    /// set.
    func numbers(_ changes: CommitChanges) -> [Int: IDRanges] {
        var result: [Int: IDRanges] = [:]
        for (table, changes) in changes.tables {
            guard let index = infosByTable[table]?.index else { continue }
            result[index] = changes.all
        }
        for (join, memberships) in memberships {
            let isConcerned = memberships.contains { membership in
                changes.tables[membership.table]?.updated.keys.contains { $0.contains(membership.relationship) }
                    ?? false
            }
            if isConcerned { result[join] = IDRanges() }
        }
        return result
    }
}

extension TableChanges {
    func adding(_ other: TableChanges) -> TableChanges {
        TableChanges(
            inserted: inserted.union(other.inserted),
            deleted: deleted.union(other.deleted),
            updated: updated.merging(other.updated) { $0.union($1) }
        )
    }
}

extension Entity {
    /// The effect of a part's changes on the rows in the store.
    func changes(of part: any AnyRowChanges) -> TableChanges {
        switch part.kinds {
        case .insert: TableChanges(inserted: IDRanges(ascending: part.ids))
        case .delete: TableChanges(deleted: IDRanges(ascending: part.ids))
        default: mixedChanges(of: part.typed(Row.self))
        }
    }

    private func mixedChanges(of part: RowChanges<Row>) -> TableChanges {
        var result = TableChanges()
        var updated: [ColumnSet: IDRanges] = [:]
        // In most commits, the rows have changed in the same columns.
        var last = (columns: ColumnSet(), runs: IDRanges())
        part.changes.withUnsafeBufferPointer { changes in
            for index in changes.indices {
                let number = part.ids[index]
                switch changes[index].kind {
                case .insert: result.inserted.append(number)
                case .delete: result.deleted.append(number)
                case .cancelledInsert: break
                case .update, .updateOfDeleted, .undelete:
                    let columns = changes[index].columns
                    if columns != last.columns {
                        if !last.runs.isEmpty { updated[last.columns] = last.runs }
                        last = (columns, updated.removeValue(forKey: columns) ?? IDRanges())
                    }
                    last.runs.append(number)
                }
            }
        }
        if !last.runs.isEmpty { updated[last.columns] = last.runs }
        for (columns, runs) in updated where !columns.isEmpty {
            result.updated[columns.map { info.columns[$0].name }] = runs
        }
        return result
    }
}
