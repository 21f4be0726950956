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

    /// The columns that a change still sets when some are discarded. A timestamp alone is not worth writing.
    func rest(of columns: ColumnSet, without conflictLosses: ColumnSet) -> ColumnSet {
        let rest = columns.subtracting(conflictLosses)
        return conflictLosses.isEmpty || !rest.subtracting(info.automatic).isEmpty ? rest : ColumnSet()
    }

    // MARK: Details of errors

    /// The conflict of a column that both sides have changed.
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

    /// The error detail of a reference to a row that does not exist.
    func missing(
        _ reference: OutgoingReference,
        of row: Row,
        _ destination: EntityInfo,
        _ target: Int64
    ) -> StrataError.Detail {
        StrataError.Detail(
            model: info.name,
            id: row._$id,
            column: info.isJoin ? nil : info.columns[reference.column].name,
            message: "\(info.isJoin ? "has a member or owner" : "refers to") \(destination.name) \(target), which "
                + "does not exist: it was deleted, or another context has not saved it",
            mine: .integer(target)
        )
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

extension StrataError.Detail {
    /// This detail with another message.
    func saying(_ message: String) -> StrataError.Detail {
        StrataError.Detail(
            model: model,
            id: id,
            column: column,
            message: message,
            base: base,
            mine: mine,
            theirs: theirs
        )
    }
}
