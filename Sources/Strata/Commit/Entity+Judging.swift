/// What a merge policy has decided about columns that both sides have changed.
struct ColumnVerdict<Row: StoredRow> {
    /// What stays as the others have set it.
    var givenUp = ColumnSet()
    /// This side's row, with the values that were made of both.
    var row: Row
    /// What nobody has decided.
    var conflicts: [StrataError.Detail] = []
    /// Whether the row comes out otherwise than it was.
    var isChanged = false
}

/// What a merge policy has decided about an object that one side has deleted.
enum ObjectVerdict {
    case mine
    case theirs
    case error
}

extension Entity {
    /// Has the policy decide about columns that both sides have changed.
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

    /// Has the policy decide about a row that was deleted on one side and changed on the other.
    func judge(
        _ kind: MergeConflict.Kind,
        mine: Row,
        _ policy: MergePolicy
    ) -> ObjectVerdict {
        switch policy.kind {
        // What an engine has taken off its queue is not to come back by an edit that came late.
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

    /// Has the policy decide about a change in a commit whose row was deleted elsewhere.
    func judgeGone(_ change: Change<Row>, _ job: CommitJob) -> ObjectVerdict {
        let letsGo = letsGo(change) { entity, number in
            guard let taken = job.taken[entity], let index = taken.index(of: number) else { return false }
            return taken.kind(at: index) == .delete
        }
        return letsGo ? .theirs : judge(.deletedElsewhere, mine: change.row, job.policy)
    }

    /// Whether a change does nothing but let go of what is deleted along with it: nobody misses that where the row itself is gone.
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
