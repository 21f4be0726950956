/// What one layer does to one row.
@usableFromInline
struct Change<Row: StoredRow>: Sendable {
    /// The whole row as this layer shows it; of a delete, as it was before. It comes first, so that it lies where the
    /// change does: see ``rowPointer(_:)``.
    @usableFromInline var row: Row
    @usableFromInline var kind: ChangeKind
    /// Of an update, whether it once was a ``ChangeKind/restore``: a pinned context may have the delete in its view still.
    @usableFromInline var hasBroughtBack: Bool
    /// The columns that an update changes, or that were edited after an insert or before a delete.
    @usableFromInline var columns: ColumnSet
    /// What an update or delete set out from. An insert has one where it was edited later.
    @usableFromInline var base: Base<Row>?

    @inlinable
    init(kind: ChangeKind, columns: ColumnSet, row: Row, base: Base<Row>?, hasBroughtBack: Bool = false) {
        self.row = row
        self.kind = kind
        self.hasBroughtBack = hasBroughtBack
        self.columns = columns
        self.base = base
    }

    /// Where the row of a change lies, for the functions of ``StoredRow`` that take a row by its place.
    static func rowPointer(_ change: UnsafePointer<Change>) -> UnsafePointer<Row> {
        UnsafeRawPointer(change).assumingMemoryBound(to: Row.self)
    }

    static func insert(_ row: Row) -> Change {
        Change(kind: .insert, columns: ColumnSet(), row: row, base: nil)
    }
}

@usableFromInline
enum ChangeKind: UInt8, Sendable {
    case insert
    case update
    case delete
    /// An insert of this layer that was deleted again: nothing is left to write, and older entries are hidden.
    case withdrawn
    /// An update of a row that has vanished beneath it. It shows nothing, and meets its conflict at the next save.
    case orphan
    /// An update that brings its row back though there is none beneath it, by the decision of a merge policy. A delete is
    /// cancelled where it meets one in its layer or in a commit. Once there is a row beneath, it is an update as any other.
    case restore

    /// Whether the row is there for those who read through the layer.
    var isVisible: Bool { self == .insert || self == .update || self == .restore }

    /// Whether the layer has inserted the row, be it still there or not.
    var isOfNewRow: Bool { self == .insert || self == .withdrawn }

    /// Whether single columns are set, of a row that is beneath or was.
    var isUpdate: Bool { self == .update || self == .orphan || self == .restore }
}

/// The kinds that occur among changes.
struct ChangeKinds: OptionSet, Sendable {
    let rawValue: UInt8

    init(rawValue: UInt8) { self.rawValue = rawValue }
    init(_ kind: ChangeKind) { rawValue = 1 << kind.rawValue }

    static let insert = ChangeKinds(.insert)
    static let delete = ChangeKinds(.delete)
    static let withdrawn = ChangeKinds(.withdrawn)
    static let updates: ChangeKinds = [ChangeKinds(.update), ChangeKinds(.orphan), ChangeKinds(.restore)]
}

/// The two bases of a change (H18): what was seen through everything beneath it, and what was in the store.
@usableFromInline
final class Base<Row: StoredRow>: Sendable {
    @usableFromInline let seen: Row
    /// The row in the store, which most often is the row that was seen and then is kept once.
    @usableFromInline let storedRow: Stored
    /// The store's sequence number at which `stored` was true.
    @usableFromInline let sequence: Int64
    /// What lies beneath the change now, where that is not what was seen.
    @usableFromInline let beneath: Beneath

    @usableFromInline
    enum Stored: Sendable {
        case absent
        case asSeen
        indirect case row(Row)
    }

    /// The row beneath a change.
    @usableFromInline
    enum Beneath: Sendable {
        case asSeen
        indirect case changed(Row)
        case gone
    }

    @inlinable
    init(seen: Row, storedRow: Stored, sequence: Int64, beneath: Beneath) {
        self.seen = seen
        self.storedRow = storedRow
        self.sequence = sequence
        self.beneath = beneath
    }

    convenience init(seen: Row, stored: Row?, sequence: Int64, beneath: Beneath = .asSeen) {
        self.init(seen: seen, storedRow: stored.map { .row($0) } ?? .absent, sequence: sequence, beneath: beneath)
    }

    /// Of a row that lies in the store just as it was seen.
    @inlinable
    convenience init(seenInStore seen: Row, sequence: Int64) {
        self.init(seen: seen, storedRow: .asSeen, sequence: sequence, beneath: .asSeen)
    }

    /// Nil where the row was not in the store yet.
    var stored: Row? {
        switch storedRow {
        case .absent: nil
        case .asSeen: seen
        case .row(let row): row
        }
    }

    var isStored: Bool {
        if case .absent = storedRow { false } else { true }
    }

    var isStoredAsSeen: Bool {
        if case .asSeen = storedRow { true } else { false }
    }

    var isAsSeen: Bool {
        if case .asSeen = beneath { true } else { false }
    }

    func over(_ beneath: Beneath) -> Base {
        Base(seen: seen, storedRow: storedRow, sequence: sequence, beneath: beneath)
    }
}

extension Change {
    /// This change with a newer one of the same carrier on top of it.
    func followed(by newer: Change) -> Change {
        switch (kind, newer.kind) {
        case (.insert, .update), (.insert, .orphan), (.insert, .restore):
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
        case (.withdrawn, .insert): return newer
        case (.withdrawn, _) where newer.kind.isUpdate: return newer
        case (.insert, .delete), (.insert, .withdrawn), (.withdrawn, _):
            return Change(kind: .withdrawn, columns: ColumnSet(), row: newer.lastSeen, base: nil)
        case (_, _) where newer.kind.isUpdate && (kind.isUpdate || kind == .delete):
            // The newer row may show what others have set in between, in columns that are this one's.
            var merged = newer.row
            merged._$copy(columns.subtracting(newer.columns), from: row)
            return Change(
                kind: kind == .restore ? .restore : newer.kind,
                columns: columns.union(newer.columns),
                row: merged,
                base: mergedBase(newer),
                hasBroughtBack: hasBroughtBack || newer.hasBroughtBack
            )
        case (_, .delete) where kind.isUpdate:
            var merged = newer.row
            merged._$copy(columns.subtracting(newer.columns), from: row)
            return Change(
                kind: .delete,
                columns: columns.union(newer.columns),
                row: merged,
                base: mergedBase(newer)
            )
        case (.delete, .delete):
            // What was edited before either of them counts again once they are cancelled.
            var merged = newer.row
            merged._$copy(columns.subtracting(newer.columns), from: row)
            return Change(
                kind: .delete,
                columns: columns.union(newer.columns),
                row: merged,
                base: base ?? newer.base
            )
        default:
            return newer
        }
    }

    /// The row that a delete was made of, or that it was settled over.
    var lastSeen: Row {
        guard kind == .delete, var seen = base?.seen else { return row }
        seen._$copy(columns, from: row)
        return seen
    }

    /// The base of an insert together with an edit of it: what was seen in the columns that were edited.
    private func baseOfInsert(editedBy newer: Change) -> Base<Row>? {
        guard let later = newer.base else { return base }
        if base == nil, later.stored == nil, later.isAsSeen { return later }
        var seen = later.seen
        if let base { seen._$copy(columns, from: base.seen) }
        return Base(seen: seen, stored: nil, sequence: base?.sequence ?? later.sequence)
    }

    /// Older columns keep their bases, columns that only the newer change touches bring theirs.
    private func mergedBase(_ newer: Change) -> Base<Row>? {
        guard let base, let later = newer.base else { return base ?? newer.base }
        let added = newer.columns.subtracting(columns)
        if newer.kind.isUpdate && added.isEmpty { return base }
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
            beneath: base.isAsSeen && kind != .delete ? beneathBoth(later, base) : base.beneath
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
            var orphan = self
            (orphan.kind, orphan.base) = (.orphan, base?.over(.gone))
            return orphan
        case (.restore, nil):
            if case .gone = base?.beneath { return nil }
            return Change(kind: .restore, columns: columns, row: row, base: base?.over(.gone))
        case (.update, let below?), (.orphan, let below?), (.restore, let below?):
            var merged = below
            merged._$copy(columns, from: row)
            let isConflicting = base.map { hasChanged(below, since: $0.seen) } ?? false
            let isUnmarked = base?.isAsSeen ?? true
            if kind == .update, !isConflicting, isUnmarked, merged._$differences(from: row).isEmpty { return nil }
            return Change(
                kind: .update,
                columns: columns,
                row: merged,
                base: base?.over(isConflicting ? .changed(below) : .asSeen),
                hasBroughtBack: hasBroughtBack || kind == .restore
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

    /// The same restore of a row that a delete beneath it hides. Nil where nothing is different.
    func restoring(_ hidden: Row?) -> Change? {
        guard var merged = hidden else { return nil }
        merged._$copy(columns, from: row)
        if merged._$differences(from: row).isEmpty { return nil }
        return Change(kind: kind, columns: columns, row: merged, base: base)
    }

    /// Whether a column that this change sets has another value beneath it than the one that was seen.
    private func hasChanged(_ below: Row, since seen: Row) -> Bool {
        !below._$differences(from: seen).intersection(columns).isEmpty
    }
}
