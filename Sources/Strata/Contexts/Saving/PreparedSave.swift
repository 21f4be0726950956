/// A context's changes that are ready for a save.
struct PreparedSave {
    /// The segments that the preparation has added. They are frozen, and removed if the save fails. If the save is
    /// postponed, only those with merged duplicate inserts stay.
    var added: Set<Int> = []
    /// The objects that have absorbed inserted objects with the same unique values, by entity
    /// (``UniqueConflict/update``).
    private(set) var mergeTargets: [Int: [any Model]] = [:]
    /// For each absorbing object, whether its row beneath the context's layer has changed since.
    private(set) var changes: [(ObjectContext.ReadSnapshot) throws -> Bool] = []
    /// The oldest state that a decision was based on; nil if there was no decision.
    private(set) var basis: SaveBasis?

    /// Records that a decision is based on a snapshot.
    mutating func recordBasis(_ snapshot: ObjectContext.ReadSnapshot, _ path: [Int]) {
        if basis == nil { basis = SaveBasis(snapshot, path) }
    }

    /// Records that an object absorbs an inserted one.
    mutating func recordMergeTarget(
        _ object: any Model,
        entity: Int,
        _ hasChanged: @escaping (ObjectContext.ReadSnapshot) throws -> Bool
    ) {
        mergeTargets[entity, default: []].append(object)
        changes.append(hasChanged)
    }

    /// The rows of the absorbing objects, by entity, as the commit must leave them.
    var mergeTargetRows: [Int: any AnyRowChanges] {
        mergeTargets.compactMapValues { objects in
            func open<Object: Model>(_ first: Object) -> any AnyRowChanges {
                // All objects are of the class of their entity. An object may appear twice.
                let rows = objects.compactMap { $0 as? Object }.filter { !$0._$state.isDeleted }.map(\._$row)
                return RowChanges(
                    unsorted: rows.map { Change(kind: .update, columns: ColumnSet(), row: $0, base: nil) }
                )
            }
            return objects.first.map { open($0) }
        }
    }
}

/// A context's changes that are ready for a commit by another context of its chain.
struct PreparedLayer: Sendable {
    /// The frozen segments.
    let segments: Set<Int>
    /// The callbacks of these changes.
    let callbacks: Set<Int>
    /// The rows of the absorbing objects, by entity.
    let mergeTargets: [Int: any AnyRowChanges]
}

/// The state beneath a context's layer at one moment.
struct SaveBasis: Equatable {
    private let sequence: Int64
    private let revisions: [Int?]

    init(_ snapshot: ObjectContext.ReadSnapshot, _ path: [Int]) {
        sequence = snapshot.sequence
        revisions = path.dropLast().map { snapshot.layers.revisions[$0] }
    }
}

extension ObjectContext {
    /// Whether a save may use its preparation in the newest state. Inserted objects must still have the same unique
    /// values as the same stored objects. No other row may refer to a deleted object.
    func isUpToDate(_ prepared: PreparedSave, _ snapshot: ReadSnapshot) throws -> Bool {
        guard let basis = prepared.basis, basis != SaveBasis(snapshot, path) else { return true }
        return try !prepared.changes.contains { try $0(snapshot) } && !hasUnmergedDuplicates()
            && !isAnyReferredTo(deletes(of: [id]))
    }

    /// Whether this context sees a row that refers to one of the objects that it has deleted.
    private func isAnyReferredTo(_ deletes: [(entity: Int, number: Int64)]) throws -> Bool {
        for (entity, deletes) in Dictionary(grouping: deletes, by: \.entity) {
            for reference in store.schema.entities[entity].info.incoming where reference.deleteRule != .noAction {
                let info = store.schema.entities[reference.entity].info
                var isFound = false
                try forEachRow(of: info, reference.column, deletes.map(\.number)) { _ in isFound = true }
                if isFound { return true }
            }
        }
        return false
    }
}
