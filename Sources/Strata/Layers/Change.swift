/// What one layer does to one row.
struct Change<Row: StoredRow>: Sendable {
    var kind: ChangeKind
    /// The columns that an update changes, or that were edited after an insert. Empty for other kinds.
    var columns: ColumnSet
    /// The whole row as this layer shows it; of a delete, as it was before.
    var row: Row
    /// What an update or delete set out from. An insert has one where it was edited later, or brings back a row that may
    /// be in the store.
    var base: Base<Row>?

    static func insert(_ row: Row) -> Change {
        Change(kind: .insert, columns: ColumnSet(), row: row, base: nil)
    }
}

enum ChangeKind: UInt8, Sendable {
    case insert
    case update
    case delete
    /// An insert of this layer that was deleted again: nothing is left to write, and older entries are hidden.
    case withdrawn
    /// An update of a row that has vanished beneath it. It shows nothing, and meets its conflict at the next save.
    case orphan

    /// Whether the row is there for those who read through the layer.
    var isVisible: Bool { self == .insert || self == .update }
}

/// The two bases of a change (H18): what was seen through everything beneath it, and what was in the store.
final class Base<Row: StoredRow>: Sendable {
    let seen: Row
    /// Nil where the row was not in the store yet.
    let stored: Row?
    /// The store's sequence number at which `stored` was true.
    let sequence: Int64
    /// What lies beneath the change now, where that is not what was seen.
    let beneath: Beneath

    /// The row beneath a change.
    enum Beneath: Sendable {
        case asSeen
        case changed(Row)
        case gone
    }

    init(seen: Row, stored: Row?, sequence: Int64, beneath: Beneath = .asSeen) {
        self.seen = seen
        self.stored = stored
        self.sequence = sequence
        self.beneath = beneath
    }

    var isAsSeen: Bool {
        if case .asSeen = beneath { true } else { false }
    }

    func over(_ beneath: Beneath) -> Base {
        Base(seen: seen, stored: stored, sequence: sequence, beneath: beneath)
    }
}

extension Change {
    /// This change with a newer one of the same carrier on top of it.
    func followed(by newer: Change) -> Change {
        switch (kind, newer.kind) {
        case (.insert, .update):
            // Only what the newer change touches: its row may show what others have changed in between.
            var merged = row
            merged._$copy(newer.columns, from: newer.row)
            return Change(
                kind: .insert,
                columns: columns.union(newer.columns),
                row: merged,
                base: baseOfInsert(editedBy: newer)
            )
        case (.insert, .insert):
            return Change(kind: .insert, columns: ColumnSet(), row: newer.row, base: base)
        case (.insert, .delete) where base?.stored != nil:
            // Such an insert has brought a row back that may still be in the store.
            return Change(kind: .delete, columns: ColumnSet(), row: newer.row, base: newer.base ?? base)
        case (.withdrawn, .insert): return newer
        case (.insert, .delete), (.insert, .withdrawn), (.withdrawn, _):
            return Change(kind: .withdrawn, columns: ColumnSet(), row: newer.row, base: nil)
        case (.update, .update), (.orphan, .update), (.update, .orphan), (.orphan, .orphan):
            // The newer row may show what others have set in between, in columns that are this one's.
            var merged = newer.row
            merged._$copy(columns.subtracting(newer.columns), from: row)
            return Change(
                kind: newer.kind,
                columns: columns.union(newer.columns),
                row: merged,
                base: mergedBase(newer)
            )
        case (.update, .delete), (.orphan, .delete):
            return Change(kind: .delete, columns: ColumnSet(), row: newer.row, base: mergedBase(newer))
        default:
            return newer
        }
    }

    /// The base of an insert together with an edit of it: what was seen in the columns that were edited.
    private func baseOfInsert(editedBy newer: Change) -> Base<Row>? {
        guard let later = newer.base else { return base }
        if base == nil, later.stored == nil, later.isAsSeen { return later }
        var seen = later.seen
        if let base { seen._$copy(columns, from: base.seen) }
        return Base(
            seen: seen,
            stored: base?.stored,
            sequence: base?.sequence ?? later.sequence,
            beneath: base?.beneath ?? .asSeen
        )
    }

    /// Older columns keep their bases, columns that only the newer change touches bring theirs.
    private func mergedBase(_ newer: Change) -> Base<Row>? {
        guard let base, let later = newer.base else { return base ?? newer.base }
        let added = newer.columns.subtracting(columns)
        if newer.kind == .update && added.isEmpty { return base }
        var seen = later.seen
        seen._$copy(columns, from: base.seen)
        // Where one of the two was made before the row came into the store, what it has seen stands for what was stored.
        var stored: Row?
        if base.stored != nil || later.stored != nil {
            stored = later.stored ?? later.seen
            stored?._$copy(columns, from: base.stored ?? base.seen)
        }
        return Base(
            seen: seen,
            stored: stored,
            sequence: min(base.sequence, later.sequence),
            beneath: base.isAsSeen ? beneathBoth(later, base) : base.beneath
        )
    }

    /// What lies beneath this change, which is as it was seen, where something else lies beneath the newer one: in this
    /// change's own columns that is only what it has set itself.
    private func beneathBoth(_ later: Base<Row>, _ base: Base<Row>) -> Base<Row>.Beneath {
        guard case .changed(var row) = later.beneath else { return later.beneath }
        row._$copy(columns, from: base.seen)
        return .changed(row)
    }

    /// The same change over another row beneath it (nil: the row is gone). Nil where nothing is different.
    func rebased(onto below: Row?) -> Change? {
        switch (kind, below) {
        case (.update, nil):
            return Change(kind: .orphan, columns: columns, row: row, base: base?.over(.gone))
        case (.update, let below?), (.orphan, let below?):
            var merged = below
            merged._$copy(columns, from: row)
            let isConflicting = base.map { hasChanged(below, since: $0.seen) } ?? false
            let isUnmarked = base?.isAsSeen ?? true
            if kind == .update, !isConflicting, isUnmarked, merged._$differences(from: row).isEmpty { return nil }
            return Change(
                kind: .update,
                columns: columns,
                row: merged,
                base: base?.over(isConflicting ? .changed(below) : .asSeen)
            )
        case (.delete, nil):
            return Change(kind: .delete, columns: columns, row: row, base: base?.over(.gone))
        case (.delete, let below?):
            guard let base else { return nil }
            let isChanged = !below._$differences(from: base.seen).isEmpty
            if !isChanged && base.isAsSeen { return nil }
            return Change(
                kind: .delete,
                columns: columns,
                row: row,
                base: base.over(isChanged ? .changed(below) : .asSeen)
            )
        default:
            return nil
        }
    }

    /// Whether a column that this change sets has another value beneath it than the one that was seen.
    private func hasChanged(_ below: Row, since seen: Row) -> Bool {
        !below._$differences(from: seen).intersection(columns).isEmpty
    }
}
