extension Entity {
    /// The changes of this entity that a commit writes; nil if there are none.
    ///
    /// They are the changes of the contexts that the commit takes as a whole, and the changes that the committer has
    /// saved upward before.
    func gather(_ job: CommitJob) -> (any AnyRowChanges)? {
        var gathered: RowChanges<Row>?
        for context in job.path {
            // In a chain, the deletes of this layer do not affect conflicts of the layers below it.
            let first = job.isChain ? job.conflicts.count : 0
            var level: RowChanges<Row>?
            for segment in job.layers[context] {
                guard job.segments.contains(segment.id), let part = segment.parts[info.index] else { continue }
                let newer = part.typed(Row.self)
                level = level?.merged(with: newer) { combine($0, $1, job, first) } ?? newer
            }
            guard let level else { continue }
            gathered =
                gathered?.merged(with: level) { older, newer in
                    if job.isChain { return meet(older, newer, job) }
                    if newer.kind == .delete { forgetConflicts(newer, job, first) }
                    return older.followed(by: newer)
                } ?? level
        }
        guard let gathered, gathered.kinds.contains(.cancelledInsert) else { return gathered }
        job.cancelledInserts[info.index] = RowChanges(unsorted: gathered.changes.filter { $0.kind == .cancelledInsert })
        let changes = gathered.changes.filter { $0.kind != .cancelledInsert }
        return changes.isEmpty ? nil : RowChanges(unsorted: changes)
    }

    /// Combines the change of a layer with the changes of the layers below it in a chain, with the same conflicts as by
    /// a save.
    private func meet(_ older: Change<Row>, _ newer: Change<Row>, _ job: CommitJob) -> Change<Row> {
        var newer = newer
        if job.conflictLosses[info.index]?.contains(newer.row._$id) ?? false {
            newer = newer.rebased(onto: older.kind.isVisible ? older.row : nil) ?? newer
        }
        if older.kind == .cancelledInsert, newer.kind == .updateOfDeleted { return meetDeleted(older, newer, job) }
        guard newer.kind == .delete else { return combine(older, newer, job, job.conflicts.count) }
        guard let base = newer.base, case .changed(let beneath) = base.parentVersion else {
            return older.followed(by: newer)
        }
        var unseen = beneath._$differences(from: base.original)
        if older.kind != .insert { unseen = unseen.intersection(older.columns) }
        if unseen.isEmpty { return older.followed(by: newer) }
        switch resolveConflict(.changedElsewhere, mine: newer.row, job.policy) {
        case .mine: break
        case .theirs:
            job.conflictLosses[info.index, default: []].insert(newer.row._$id)
            return older
        case .error: job.conflicts += changedElsewhere(newer.row, unseen, base: base.original, theirs: beneath)
        }
        return older.followed(by: newer)
    }

    /// Drops earlier conflicts of a deleted row. The row that the delete was made from is compared with the store
    /// instead.
    private func forgetConflicts(_ delete: Change<Row>, _ job: CommitJob, _ first: Int) {
        guard job.conflicts.count > first else { return }
        job.conflicts[first...].removeAll { $0.id == delete.row._$id && $0.model == info.name }
    }

    /// Combines a change with an older one of the same layer.
    ///
    /// The newer change may have been made without knowledge of the older one, which a child has saved there. Then the
    /// merge policy decides.
    ///
    /// - Parameter first: the first of the conflicts that a delete makes irrelevant.
    private func combine(
        _ older: Change<Row>,
        _ newer: Change<Row>,
        _ job: CommitJob,
        _ first: Int
    ) -> Change<Row> {
        if newer.kind == .delete { forgetConflicts(newer, job, first) }
        guard let base = newer.base else { return older.followed(by: newer) }
        if older.kind == .delete, newer.kind == .updateOfDeleted { return meetDeleted(older, newer, job) }
        guard newer.kind.isUpdate, case .changed(let beneath) = base.parentVersion else {
            return older.followed(by: newer)
        }
        var newer = newer
        // Other rows below do not matter for a commit, which compares with the store only.
        let unseen = newer.conflicting(with: beneath)
            .intersection(older.kind == .insert ? newer.columns : older.columns)
            .subtracting(info.automatic)
        let resolution = resolveConflict(unseen, mine: newer.row, base: base.original, theirs: beneath, job.policy)
        job.conflicts += resolution.conflicts
        if resolution.isChanged {
            job.conflictLosses[info.index, default: []].insert(newer.row._$id)
            newer.row = resolution.row
            newer.columns = rest(of: newer.columns, without: resolution.conflictLosses)
            if newer.columns.isEmpty { return older }
        }
        return older.followed(by: newer)
    }

    /// Combines the delete of a row with a later edit of the row, after asking the merge policy.
    private func meetDeleted(_ older: Change<Row>, _ newer: Change<Row>, _ job: CommitJob) -> Change<Row> {
        switch resolveDeletedElsewhere(newer, job) {
        case .mine: return older.followed(by: newer)
        case .theirs: job.conflictLosses[info.index, default: []].insert(newer.row._$id)
        case .error: job.conflicts += deletedElsewhere(newer)
        }
        // If another delete follows, this one still has the base that was known of the row in the store.
        return older
    }

    /// The columns that a change still sets when some are discarded. A timestamp alone is not worth writing.
    func rest(of columns: ColumnSet, without conflictLosses: ColumnSet) -> ColumnSet {
        let rest = columns.subtracting(conflictLosses)
        return conflictLosses.isEmpty || !rest.subtracting(info.automatic).isEmpty ? rest : ColumnSet()
    }

    /// Records rows that the committer shows differently after the commit.
    ///
    /// Rows that parents have changed as well show the parents' values after the committer's own change is gone. Rows
    /// with discarded changes show the remaining ones.
    func recordConflictLosses(_ job: CommitJob) {
        guard let written = job.written[info.index]?.typed(Row.self) else { return }
        var ids = job.conflictLosses[info.index] ?? []
        for context in job.foreignPath {
            ids.formUnion(written.touched(in: job.layers, context: context, entity: info.index))
        }
        // An undelete shows the row that its context knew. If the commit also writes a delete from a layer below, the
        // result has the values that lie under this delete.
        for part in job.layers.parts(of: info.index, in: job.path) where part.kinds.contains(ChangeKinds(.undelete)) {
            ids.formUnion(part.ids.enumerated().filter { part.kind(at: $0.offset) == .undelete }.map(\.element))
        }
        guard !ids.isEmpty, let differing = written.filtered(ids.contains) else { return }
        recordRewritten(differing.typed(Row.self), job)
    }

    /// Records rows whose result differs from the committer's version.
    func recordRewritten(_ part: RowChanges<Row>, _ job: CommitJob) {
        let rewrittenRows = rewrittenRows(job)
        for change in part.changes { rewrittenRows.add(change) }
    }

    /// Records one row whose result differs from the committer's version.
    func recordRewritten(_ change: Change<Row>, _ job: CommitJob) { rewrittenRows(job).add(change) }

    private func rewrittenRows(_ job: CommitJob) -> RewrittenRows<Row> {
        if let known = job.rewritten[info.index] { return unsafeDowncast(known, to: RewrittenRows<Row>.self) }
        let made = RewrittenRows<Row>()
        job.rewritten[info.index] = made
        return made
    }

    /// The error detail of a row with unique values that another row has.
    func duplicate(_ row: Row, of holder: Int64, in unique: [Int]) -> StrataError.Detail {
        let names = unique.map { column in
            let value = try? row._$value(at: column)
            return info.columns[column].name + (value.map { " (\($0))" } ?? "")
        }.joined(separator: " and ")
        return StrataError.Detail(
            model: info.name,
            id: row._$id,
            column: info.columns[unique[0]].name,
            message: "has the same \(names) as \(info.name) \(holder)",
            mine: try? row._$value(at: unique[0])
        )
    }

    func detail(_ mine: Row, _ column: Int, base: Row?, theirs: Row?) -> StrataError.Detail {
        StrataError.Detail(
            model: info.name,
            id: mine._$id,
            column: info.columns[column].name,
            message: "was changed here and elsewhere",
            base: base.flatMap { try? $0._$value(at: column) },
            mine: try? mine._$value(at: column),
            theirs: theirs.flatMap { try? $0._$value(at: column) }
        )
    }

    /// The conflicts of an update whose row is gone, one for each column.
    func deletedElsewhere(_ change: Change<Row>) -> [StrataError.Detail] {
        change.columns.map { column in
            detail(change.row, column, base: change.base?.original, theirs: nil)
                .saying("was changed here, and the object deleted elsewhere")
        }
    }

    /// The conflicts of a delete whose row was changed meanwhile, one for each column.
    func changedElsewhere(_ deleted: Row, _ columns: ColumnSet, base: Row, theirs: Row) -> [StrataError.Detail] {
        columns.subtracting(info.derived).map { column in
            var detail = detail(deleted, column, base: base, theirs: theirs)
            detail.mine = nil
            return detail.saying("was changed elsewhere, and the object deleted here")
        }
    }

    /// The rows that gathered changes refer to, and the rows that they change but that are not in the store.
    func neededRows(_ job: CommitJob, only: Int64?) -> [(entity: Int, number: Int64)] {
        guard let part = job.taken[info.index]?.typed(Row.self) else { return [] }
        let foreign = job.foreignPath
        var needed: [(entity: Int, number: Int64)] = []
        for (id, change) in zip(part.ids, part.changes)
        where change.kind != .delete && (only == nil || only == id) {
            if change.kind == .update || change.kind == .updateOfDeleted,
                change.base?.storeOriginal == nil
                    || job.layers.contains(.undelete, of: id, entity: info.index, in: foreign)
            {
                needed.append((info.index, id))
            }
            for reference in info.outgoing
            where change.kind == .insert || change.kind == .undelete || change.columns.contains(reference.column) {
                guard case .integer(let target)? = try? change.row._$value(at: reference.column) else { continue }
                if job.taken[reference.destination]?.index(of: target) == nil {
                    needed.append((reference.destination, target))
                }
            }
        }
        return needed
    }

    /// Includes a row that a parent has inserted, as a whole, in the state that the parent has published.
    ///
    /// - Returns: whether the row was included.
    func include(_ id: Int64, _ job: CommitJob) throws -> Bool {
        let isInserted = job.layers.contains(.insert, of: id, entity: info.index, in: job.foreignPath)
        guard try isInserted || !isStored(id, job), let top = topInserted(id, job) else { return false }
        var change = Change.insert(top.row)
        let taken = job.taken[info.index]?.typed(Row.self)
        if let update = taken?[id] {
            guard update.kind.isUpdate else { return false }
            change = change.followed(by: update)
        }
        let single = RowChanges(ids: [id], changes: [change])
        job.taken[info.index] = taken?.merged(with: single) { $1 } ?? single
        job.includedRows[info.index, default: []].insert(id)
        return true
    }

    /// The row as the topmost parent shows it that has not deleted it. A commit ignores deletes that a parent has not
    /// committed.
    private func topInserted(_ id: Int64, _ job: CommitJob) -> Change<Row>? {
        for context in job.foreignPath.reversed() {
            let stack = job.layers.stack(id, entity: info.index, in: context, Row.self)
            guard let top = stack.last?.change else { continue }
            if top.kind.isVisible { return top }
            if top.kind == .cancelledInsert || stack.contains(where: { $0.change.kind == .insert }) { return nil }
        }
        return nil
    }

    private func isStored(_ id: Int64, _ job: CommitJob) throws -> Bool {
        var isThere = false
        try job.connection.statement(info.sql.selectByID).run([.integer(id)]) { _ in isThere = true }
        return isThere
    }

    /// Validates the rows that result from these changes. The newest change of each row counts.
    func validate(_ parts: [any AnyRowChanges], _ failures: inout [StrataError.Detail]) {
        var seen: Set<Int64> = []
        let parts = parts.map { $0.typed(Row.self) }
        for part in parts.reversed() {
            part.changes.withUnsafeBufferPointer { changes in
                for index in changes.indices {
                    if parts.count > 1, !seen.insert(changes[index].row._$id).inserted { continue }
                    guard changes[index].kind.isVisible else { continue }
                    // A buffer with indices has an address.
                    let edited =
                        parts.count > 1
                        ? edited(changes[index].row._$id, in: parts)
                        : changes[index].kind == .update ? changes[index].columns : nil
                    let found = check(Change.rowPointer(changes.baseAddress! + index), edited)
                    if !found.isEmpty { failures += found }
                }
            }
        }
    }

    /// The columns of a row that these changes set; nil if they contain the whole row.
    private func edited(_ id: Int64, in parts: [RowChanges<Row>]) -> ColumnSet? {
        var columns = ColumnSet()
        for part in parts {
            guard let index = part.index(of: id) else { continue }
            guard part.changes[index].kind == .update else { return nil }
            columns.formUnion(part.changes[index].columns)
        }
        return columns
    }
}

extension Change {
    /// The columns that this change sets and whose value below differs from both the value that was seen and the new
    /// value.
    func conflicting(with beneath: Row) -> ColumnSet {
        guard let base else { return ColumnSet() }
        return columns.intersection(beneath._$differences(from: base.original))
            .intersection(row._$differences(from: beneath))
    }
}

/// Rows of one entity whose result differs from the committer's version, each as it was recorded last.
///
/// Stored by the index of the entity, which determines the type.
final class RewrittenRows<Row: StoredRow>: AnyRewrittenRows {
    private var changes: [Int64: Change<Row>] = [:]

    /// Records a row. Complexity: O(1).
    func add(_ change: Change<Row>) { changes[change.row._$id] = change }

    var part: any AnyRowChanges { RowChanges(unsorted: Array(changes.values)) }
}

/// ``RewrittenRows`` of any entity.
protocol AnyRewrittenRows: AnyObject {
    var part: any AnyRowChanges { get }
}
