extension EntityCommit {
    /// The rows that gathered changes refer to, and the rows that they change but that are not in the store.
    ///
    /// - Parameter only: the one row whose changes count; nil for all.
    func neededRows(only: Int64?) -> [(entity: Int, number: Int64)] {
        guard let taken else { return [] }
        let foreign = job.foreignPath
        var needed: [(entity: Int, number: Int64)] = []
        for (id, change) in zip(taken.ids, taken.changes)
        where change.kind != .delete && (only == nil || only == id) {
            if change.kind == .update || change.kind == .updateOfDeleted,
                change.base?.storeOriginal == nil
                    || job.layers.contains(.undelete, of: id, entity: info.index, in: foreign)
            {
                needed.append((info.index, id))
            }
            for reference in info.outgoing
            where change.kind == .insert || change.kind == .undelete || change.columns.contains(reference.column) {
                // No context inserts objects of models that the stack does not open.
                guard job.schema.isOpened[reference.destination],
                    case .integer(let target)? = try? change.row._$value(at: reference.column)
                else { continue }
                if job.taken(reference.destination)?.index(of: target) == nil {
                    needed.append((reference.destination, target))
                }
            }
        }
        return needed
    }

    /// Includes a row that a parent has inserted, as a whole, in the state that the parent has published.
    ///
    /// - Returns: whether the row was included.
    func include(_ id: Int64) throws -> Bool {
        let isInserted = job.layers.contains(.insert, of: id, entity: info.index, in: job.foreignPath)
        guard try isInserted || !isStored(id), let top = topInserted(id) else { return false }
        var change = Change.insert(top.row)
        if let update = taken?[id] {
            guard update.kind.isUpdate else { return false }
            change = change.followed(by: update)
        }
        let single = RowChanges(ids: [id], changes: [change])
        taken = taken?.merged(with: single) { $1 } ?? single
        includedRows.insert(id)
        return true
    }

    /// The row as the topmost parent shows it that has not deleted it. A commit ignores deletes that a parent has not
    /// committed.
    private func topInserted(_ id: Int64) -> Change<Row>? {
        for context in job.foreignPath.reversed() {
            let stack = job.layers.stack(id, entity: info.index, in: context, Row.self)
            guard let top = stack.last?.change else { continue }
            if top.kind.isVisible { return top }
            if top.kind == .cancelledInsert || stack.contains(where: { $0.change.kind == .insert }) { return nil }
        }
        return nil
    }

    private func isStored(_ id: Int64) throws -> Bool {
        var isThere = false
        try connection.statement(info.sql.selectByID).run([.integer(id)]) { _ in isThere = true }
        return isThere
    }
}
