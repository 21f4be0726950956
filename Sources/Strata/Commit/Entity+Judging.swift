/// A merge policy's decision about columns that both sides have changed.
struct ColumnVerdict<Row: StoredRow> {
    /// The columns that keep the other side's values.
    var givenUp = ColumnSet()
    /// This side's row, with values that were merged from both sides.
    var row: Row
    /// The conflicts that the policy has not decided.
    var conflicts: [StrataError.Detail] = []
    /// Whether the result differs from this side's row.
    var isChanged = false
}

/// A merge policy's decision about an object that one side has deleted.
enum ObjectVerdict {
    case mine
    case theirs
    case error
}

extension Entity {
    /// Lets the policy decide about columns that both sides have changed.
    func judge(
        _ columns: ColumnSet,
        mine: Row,
        base: Row,
        theirs: Row,
        _ policy: MergePolicy
    ) -> ColumnVerdict<Row> {
        var verdict = ColumnVerdict(row: mine)
        switch policy.kind {
        case .mine: break
        case .theirs: verdict.givenUp = columns
        case .error: verdict.conflicts = columns.map { detail(mine, $0, base: base, theirs: theirs) }
        case .custom(let resolver):
            for column in columns {
                let detail = detail(mine, column, base: base, theirs: theirs)
                switch resolver.resolve(MergeConflict(detail, in: info.columns[column])) {
                case .mine: break
                case .theirs: verdict.givenUp.insert(column)
                case .error: verdict.conflicts.append(detail)
                case .value(let value):
                    do {
                        try verdict.row._$set(value, at: column)
                        verdict.isChanged = true
                    } catch {
                        verdict.conflicts.append(detail.saying("was merged to \(value), which is no value of it"))
                    }
                }
            }
        }
        verdict.isChanged = verdict.isChanged || !verdict.givenUp.isEmpty
        return verdict
    }

    /// Lets the policy decide about a row that was deleted on one side and changed on the other.
    func judge(
        _ kind: MergeConflict.Kind,
        mine: Row,
        _ policy: MergePolicy
    ) -> ObjectVerdict {
        switch policy.kind {
        // A late edit must not restore a row that an engine has removed from its queue.
        case .mine: return kind == .deletedElsewhere && info.commitNumber != nil ? .error : .mine
        case .theirs: return .theirs
        case .error: return .error
        case .custom(let resolver):
            switch resolver.resolve(MergeConflict(kind, model: info.name, number: mine._$number)) {
            case .mine: return .mine
            case .theirs: return .theirs
            case .error, .value: return .error
            }
        }
    }

    /// Lets the policy decide about a change of this commit whose row was deleted elsewhere.
    func judgeGone(_ change: Change<Row>, _ job: CommitJob) -> ObjectVerdict {
        let letsGo = letsGo(change) { entity, number in
            guard let taken = job.taken[entity], let index = taken.index(of: number) else { return false }
            return taken.kind(at: index) == .delete
        }
        return letsGo ? .theirs : judge(.deletedElsewhere, mine: change.row, job.policy)
    }

    /// Whether a change only clears references to objects that are deleted along with it. If the row itself is gone,
    /// such a change can be dropped.
    func letsGo(_ change: Change<Row>, isDeleted: (_ entity: Int, _ number: Int64) -> Bool) -> Bool {
        guard change.kind.isUpdate || change.kind == .orphan, let base = change.base?.seen else { return false }
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
