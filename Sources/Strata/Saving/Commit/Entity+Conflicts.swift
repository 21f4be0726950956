/// A merge policy's decision about columns that both sides have changed.
struct ColumnResolution<Row: StoredRow> {
    /// The columns that keep the other side's values.
    var conflictLosses = ColumnSet()
    /// This side's row, with values that were merged from both sides.
    var row: Row
    /// The conflicts that the policy has not decided.
    var conflicts: [StrataError.Detail] = []
    /// Whether the result differs from this side's row.
    var isChanged = false
}

/// A merge policy's decision about an object that one side has deleted.
enum ObjectResolution {
    case mine
    case theirs
    case error
}

extension Entity {
    /// Lets the policy decide about columns that both sides have changed.
    func resolveConflict(
        _ columns: ColumnSet,
        mine: Row,
        base: Row,
        theirs: Row,
        _ policy: MergePolicy
    ) -> ColumnResolution<Row> {
        var resolution = ColumnResolution(row: mine)
        switch policy.kind {
        case .mine: break
        case .theirs: resolution.conflictLosses = columns
        case .error: resolution.conflicts = columns.map { detail(mine, $0, base: base, theirs: theirs) }
        case .custom(let resolver):
            for column in columns {
                let detail = detail(mine, column, base: base, theirs: theirs)
                switch resolver.resolve(MergeConflict(detail, in: info.columns[column])) {
                case .mine: break
                case .theirs: resolution.conflictLosses.insert(column)
                case .error: resolution.conflicts.append(detail)
                case .value(let value):
                    do {
                        try resolution.row._$set(value, at: column)
                        resolution.isChanged = true
                    } catch {
                        resolution.conflicts.append(detail.saying("was merged to \(value), which is not a valid value"))
                    }
                }
            }
        }
        resolution.isChanged = resolution.isChanged || !resolution.conflictLosses.isEmpty
        return resolution
    }

    /// Lets the policy decide about a row that was deleted on one side and changed on the other.
    func resolveConflict(
        _ kind: MergeConflict.Kind,
        mine: Row,
        _ policy: MergePolicy
    ) -> ObjectResolution {
        switch policy.kind {
        // A late edit must not restore a row that an engine has removed from its queue.
        case .mine: return kind == .deletedElsewhere && info.commitNumber != nil ? .error : .mine
        case .theirs: return .theirs
        case .error: return .error
        case .custom(let resolver):
            switch resolver.resolve(MergeConflict(kind, model: info.name, id: mine._$id)) {
            case .mine: return .mine
            case .theirs: return .theirs
            case .error, .value: return .error
            }
        }
    }

    /// Lets the policy decide about a change of this commit whose row was deleted elsewhere.
    func resolveDeletedElsewhere(_ change: Change<Row>, _ job: CommitJob) -> ObjectResolution {
        let onlyClearsDeleted = onlyClearsDeleted(change) { entity, id in
            guard let taken = job.taken[entity], let index = taken.index(of: id) else { return false }
            return taken.kind(at: index) == .delete
        }
        return onlyClearsDeleted ? .theirs : resolveConflict(.deletedElsewhere, mine: change.row, job.policy)
    }

    /// Whether a change only clears references to objects that are deleted along with it. If the row itself is gone,
    /// such a change can be dropped.
    func onlyClearsDeleted(_ change: Change<Row>, isDeleted: (_ entity: Int, _ id: Int64) -> Bool) -> Bool {
        guard change.kind.isUpdate || change.kind == .updateOfDeleted, let base = change.base?.original else {
            return false
        }
        let columns = change.columns.subtracting(info.automatic)
        return !columns.isEmpty
            && columns.allSatisfy { column in
                guard let reference = info.outgoing.first(where: { $0.column == column }),
                    case .null? = try? change.row._$value(at: column),
                    case .integer(let target)? = try? base._$value(at: column)
                else { return false }
                return isDeleted(reference.destination, target)
            }
    }
}
