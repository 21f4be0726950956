/// The change that one layer makes to one row.
@usableFromInline
struct Change<Row: StoredRow>: Sendable {
    /// The whole row as this layer shows it; for a delete, the row before the delete. It is the first property, so that
    /// its address is the address of the change: see ``rowPointer(_:)``.
    @usableFromInline var row: Row
    @usableFromInline var kind: ChangeKind
    /// For an update, whether it was a ``ChangeKind/undelete`` before. A pinned context may still see the delete.
    @usableFromInline var wasUndelete: Bool
    /// The columns that an update sets, or that were edited after an insert or before a delete.
    @usableFromInline var columns: ColumnSet
    /// The version that an update or delete was made from. An insert has a base if it was edited later.
    @usableFromInline var base: Base<Row>?

    @inlinable
    init(kind: ChangeKind, columns: ColumnSet, row: Row, base: Base<Row>?, wasUndelete: Bool = false) {
        self.row = row
        self.kind = kind
        self.wasUndelete = wasUndelete
        self.columns = columns
        self.base = base
    }

    /// The address of a change's row, for the functions of ``StoredRow`` that take a row by its address.
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
    /// An insert of this layer that was deleted again. It writes nothing, and hides older entries.
    case cancelledInsert
    /// An update of a row that has vanished below it. It shows no row, and the next save resolves its conflict.
    case updateOfDeleted
    /// An update that restores its row although no row exists below, as a merge policy decided. It cancels a delete of
    /// the same row in its layer or in a commit. Once there is a row below, the change is an ordinary update.
    case undelete

    /// Whether the row exists for readers of the layer.
    var isVisible: Bool { self == .insert || self == .update || self == .undelete }

    /// Whether the layer has inserted the row, which may be deleted again.
    var isOfNewRow: Bool { self == .insert || self == .cancelledInsert }

    /// Whether the layer has deleted the row, which it may have inserted itself.
    var removesRow: Bool { self == .delete || self == .cancelledInsert }

    /// Whether the change sets single columns of a row that exists, or existed, below it.
    var isUpdate: Bool { self == .update || self == .updateOfDeleted || self == .undelete }
}

/// The kinds that occur in a set of changes.
struct ChangeKinds: OptionSet, Sendable {
    let rawValue: UInt8

    init(rawValue: UInt8) { self.rawValue = rawValue }
    init(_ kind: ChangeKind) { rawValue = 1 << kind.rawValue }

    static let insert = ChangeKinds(.insert)
    static let delete = ChangeKinds(.delete)
    static let cancelledInsert = ChangeKinds(.cancelledInsert)
    static let updates: ChangeKinds = [ChangeKinds(.update), ChangeKinds(.updateOfDeleted), ChangeKinds(.undelete)]
}

/// The two bases of a change: the row that was seen through all layers below it, and the row that was in the store. A
/// save compares with the first one, a commit with the second one.
@usableFromInline
final class Base<Row: StoredRow>: Sendable {
    @usableFromInline let original: Row
    /// The row in the store. It usually equals the row that was seen, and then is kept only once.
    @usableFromInline let storeVersion: StoreVersion
    /// The store's sequence number at which `storeOriginal` was valid.
    @usableFromInline let sequence: Int64
    /// The row below the change now, if it differs from the row that was seen.
    @usableFromInline let parentVersion: ParentVersion

    @usableFromInline
    enum StoreVersion: Sendable {
        case absent
        case sameAsOriginal
        indirect case row(Row)
    }

    /// The row below a change.
    @usableFromInline
    enum ParentVersion: Sendable {
        case sameAsOriginal
        indirect case changed(Row)
        case gone
    }

    @inlinable
    init(original: Row, storeVersion: StoreVersion, sequence: Int64, parentVersion: ParentVersion) {
        self.original = original
        self.storeVersion = storeVersion
        self.sequence = sequence
        self.parentVersion = parentVersion
    }

    convenience init(
        original: Row,
        storeOriginal: Row?,
        sequence: Int64,
        parentVersion: ParentVersion = .sameAsOriginal
    ) {
        self.init(
            original: original,
            storeVersion: storeOriginal.map { .row($0) } ?? .absent,
            sequence: sequence,
            parentVersion: parentVersion
        )
    }

    /// Creates the base for a row that is in the store exactly as it was seen.
    @inlinable
    convenience init(inStore original: Row, sequence: Int64) {
        self.init(original: original, storeVersion: .sameAsOriginal, sequence: sequence, parentVersion: .sameAsOriginal)
    }

    /// The row that was in the store; nil if the row was not stored yet.
    var storeOriginal: Row? {
        switch storeVersion {
        case .absent: nil
        case .sameAsOriginal: original
        case .row(let row): row
        }
    }

    var isStored: Bool {
        if case .absent = storeVersion { false } else { true }
    }

    var storeEqualsOriginal: Bool {
        if case .sameAsOriginal = storeVersion { true } else { false }
    }

    var parentEqualsOriginal: Bool {
        if case .sameAsOriginal = parentVersion { true } else { false }
    }

    func over(_ parentVersion: ParentVersion) -> Base {
        Base(original: original, storeVersion: storeVersion, sequence: sequence, parentVersion: parentVersion)
    }
}

extension Change {
    /// This change combined with a newer one of the same provenance.
    func followed(by newer: Change) -> Change {
        switch (kind, newer.kind) {
        case (.insert, .update), (.insert, .updateOfDeleted), (.insert, .undelete):
            // Only the columns of the newer change: its row may show changes that other contexts made in between.
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
        case (.cancelledInsert, .insert): return newer
        case (.cancelledInsert, _) where newer.kind.isUpdate: return newer
        case (.insert, .delete), (.insert, .cancelledInsert), (.cancelledInsert, _):
            return Change(kind: .cancelledInsert, columns: ColumnSet(), row: newer.lastSeen, base: nil)
        case (_, _) where newer.kind.isUpdate && (kind.isUpdate || kind == .delete):
            // The newer row may show values that other contexts have set in between, in columns of this change.
            var merged = newer.row
            merged._$copy(columns.subtracting(newer.columns), from: row)
            return Change(
                kind: kind == .undelete ? .undelete : newer.kind,
                columns: columns.union(newer.columns),
                row: merged,
                base: mergedBase(newer),
                wasUndelete: wasUndelete || newer.wasUndelete
            )
        case (_, .delete):
            // Edits before either delete count again if the deletes are cancelled.
            var merged = newer.row
            merged._$copy(columns.subtracting(newer.columns), from: row)
            return Change(
                kind: .delete,
                columns: columns.union(newer.columns),
                row: merged,
                base: kind == .delete ? base ?? newer.base : mergedBase(newer)
            )
        default:
            return newer
        }
    }

    /// The row that a delete was made from, or that it was compared with when its conflict was resolved.
    var lastSeen: Row {
        guard kind == .delete, var seen = base?.original else { return row }
        seen._$copy(columns, from: row)
        return seen
    }

    /// The base of an insert combined with an edit of it: the values that were seen in the edited columns.
    private func baseOfInsert(editedBy newer: Change) -> Base<Row>? {
        guard let later = newer.base else { return base }
        if base == nil, later.storeOriginal == nil, later.parentEqualsOriginal { return later }
        var seen = later.original
        if let base { seen._$copy(columns, from: base.original) }
        return Base(original: seen, storeOriginal: nil, sequence: base?.sequence ?? later.sequence)
    }

    /// Combines the bases of two changes. Columns of the older change keep their base. Columns that only the newer
    /// change sets bring theirs.
    private func mergedBase(_ newer: Change) -> Base<Row>? {
        guard let base, let later = newer.base else { return base ?? newer.base }
        let added = newer.columns.subtracting(columns)
        if newer.kind.isUpdate && added.isEmpty { return base }
        var seen = later.original
        seen._$copy(columns, from: base.original)
        // If one of the changes was made before the row was in the store, the row it has seen serves as the stored row.
        var stored: Row?
        if base.storeOriginal != nil || later.storeOriginal != nil {
            stored = later.storeOriginal ?? later.original
            stored?._$copy(columns, from: base.storeOriginal ?? base.original)
        }
        return Base(
            original: seen,
            storeOriginal: stored,
            sequence: min(base.sequence, later.sequence),
            parentVersion: base.parentEqualsOriginal && kind != .delete
                ? parentVersionOfBoth(later, base) : base.parentVersion
        )
    }

    /// The row below both changes, if this change has the seen row below it and the newer one has another row. In this
    /// change's own columns, the newer change's row below it shows only this change's edit. The seen values replace
    /// that edit.
    private func parentVersionOfBoth(_ later: Base<Row>, _ base: Base<Row>) -> Base<Row>.ParentVersion {
        guard case .changed(var row) = later.parentVersion else { return later.parentVersion }
        row._$copy(columns, from: base.original)
        return .changed(row)
    }

    /// This change over another row below it (nil: the row is gone). Returns nil if nothing differs.
    ///
    /// - Parameter replacingEqual: whether the result also has the values of an equal row below it, see
    ///   ``LayerSnapshot/rebase(_:entity:in:_:replacingEqual:fallback:)``.
    func rebased(onto below: Row?, replacingEqual: Bool = false) -> Change? {
        switch (kind, below) {
        case (.update, nil):
            var updateOfDeleted = self
            (updateOfDeleted.kind, updateOfDeleted.base) = (.updateOfDeleted, base?.over(.gone))
            return updateOfDeleted
        case (.undelete, nil):
            if case .gone = base?.parentVersion { return nil }
            return Change(kind: .undelete, columns: columns, row: row, base: base?.over(.gone))
        case (.update, let below?), (.updateOfDeleted, let below?), (.undelete, let below?):
            var merged = below
            merged._$copy(columns, from: row)
            let isConflicting = base.map { hasChanged(below, since: $0.original) } ?? false
            let isUnmarked = base?.parentEqualsOriginal ?? true
            if kind == .update, !replacingEqual, !isConflicting, isUnmarked,
                merged._$differences(from: row).isEmpty
            {
                return nil
            }
            return Change(
                kind: .update,
                columns: columns,
                row: merged,
                base: base?.over(isConflicting ? .changed(below) : .sameAsOriginal),
                wasUndelete: wasUndelete || kind == .undelete
            )
        case (.delete, nil):
            return Change(kind: .delete, columns: columns, row: row, base: base?.over(.gone))
        case (.delete, let below?):
            guard let base else { return nil }
            let isChanged = !below._$differences(from: base.original).isEmpty
            if !isChanged && base.parentEqualsOriginal { return nil }
            return Change(
                kind: .delete,
                columns: columns,
                row: row,
                base: base.over(isChanged ? .changed(below) : .sameAsOriginal)
            )
        default:
            return nil
        }
    }

    /// This undelete over a row that a delete below it hides. Returns nil if nothing differs.
    ///
    /// - Parameter replacingEqual: as in ``rebased(onto:replacingEqual:)``.
    func undeleting(_ hidden: Row?, replacingEqual: Bool = false) -> Change? {
        guard var merged = hidden else { return nil }
        merged._$copy(columns, from: row)
        if !replacingEqual, merged._$differences(from: row).isEmpty { return nil }
        return Change(kind: kind, columns: columns, row: merged, base: base)
    }

    /// Whether a column that this change sets has another value below it than the value that was seen.
    private func hasChanged(_ below: Row, since seen: Row) -> Bool {
        !below._$differences(from: seen).intersection(columns).isEmpty
    }
}
