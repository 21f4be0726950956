/// The result of one commit, as the layers and the live objects of all contexts need to know it.
///
/// It contains values only. It is a class because every commit passes it on.
final class CommitRecord: Sendable, ChangedRows {
    /// The store's sequence number after the commit.
    let sequence: Int64
    /// The context that committed; nil for batches, for commits of engines, and for commits of other processes, which
    /// were found in the file.
    let committer: Int?
    /// The contexts whose layers the commit took as a whole: the committer, and the other contexts of its chain. A
    /// chain is a path of contexts down to the store that commits as one.
    let included: Set<Int>
    /// The segments that the commit took, of any context.
    let segments: Set<Int>
    /// The segments of parents that the commit did not take as a whole, as it has read them. Later segments were
    /// published while the commit was being written.
    let known: Set<Int>
    /// The results, one for each entity that took part. Some may have no rows.
    let results: [EntityResult]
    /// The rows as they are in the store now, by entity. Inserted and updated rows are complete; deleted rows are
    /// deletes.
    let rows: [Int: any AnyRowChanges]
    /// The change set for observers of the store; nil for commits of other processes.
    let changes: ChangeSet?
    /// The rows that a commit without a committer has changed, by entity, including rows in no layer; nil if they are
    /// not known. Empty for a commit by a context.
    let unread: [Int: IDRanges]?

    /// Creates the record of a commit by a context.
    init(
        sequence: Int64,
        committer: Int,
        included: Set<Int>,
        segments: Set<Int>,
        known: Set<Int>,
        results: [EntityResult],
        changes: ChangeSet
    ) {
        self.sequence = sequence
        self.committer = committer
        self.included = included
        self.segments = segments
        self.known = known
        self.results = results
        var rows: [Int: any AnyRowChanges] = [:]
        for result in results { rows[result.entity] = result.rows }
        self.rows = rows
        self.changes = changes
        unread = [:]
    }

    /// Creates the record of a commit without a committer.
    ///
    /// - Parameters:
    ///   - rows: the rows that layers have changed, too.
    ///   - changes: the change set; nil for commits of other processes.
    init(
        sequence: Int64,
        rows: [Int: any AnyRowChanges],
        unread: [Int: IDRanges]? = nil,
        changes: ChangeSet? = nil
    ) {
        self.sequence = sequence
        committer = nil
        included = []
        segments = []
        known = []
        results = rows.map { EntityResult(entity: $0.key, rows: $0.value) }
        self.rows = rows
        self.changes = changes
        self.unread = unread
    }

    /// The result of one entity; nil if it did not take part.
    subscript(entity: Int) -> EntityResult? { results.first { $0.entity == entity } }

    /// The rows whose result differs from the committer's version, by entity.
    var rewritten: [Int: any AnyRowChanges] { parts { $0.rewritten } }

    /// Rows that the committer had inserted and deleted again, by entity. They never reach the store.
    var cancelledInserts: [Int: any AnyRowChanges] { parts { $0.cancelledInserts } }

    private func parts(_ part: (EntityResult) -> (any AnyRowChanges)?) -> [Int: any AnyRowChanges] {
        var parts: [Int: any AnyRowChanges] = [:]
        for result in results {
            if let part = part(result) { parts[result.entity] = part }
        }
        return parts
    }

    /// Whether the record has all changed rows. Of other commits, only the rows that layers need are read.
    var isComplete: Bool { committer != nil }

    /// The record of a batch or of an engine's commit, before the rows that layers need are read.
    convenience init(_ changes: ChangeSet, _ schema: Schema) {
        self.init(
            sequence: changes.token.sequence,
            rows: [:],
            unread: schema.numbers(changes.changes),
            changes: changes
        )
    }
}

/// The result of a commit for the rows of one entity.
struct EntityResult: Sendable {
    let entity: Int
    /// The changes that were taken: their columns and their bases; nil if there were none.
    var taken: (any AnyRowChanges)?
    /// The rows as they are in the store now; nil if none was written.
    var rows: (any AnyRowChanges)?
    /// The rows whose result differs from the committer's version.
    var rewritten: (any AnyRowChanges)?
    /// Rows that the committer had inserted and deleted again. They never reach the store.
    var cancelledInserts: (any AnyRowChanges)?
    /// Members that existed already: the rows that the commit wanted to add, and the rows that represent them.
    var merged: [Int64: Int64] = [:]
    /// The references of this entity to inserted rows that stored rows have absorbed.
    var moved: [MovedReferences] = []
    /// Rows that a parent had inserted and that the commit included as a whole.
    var includedRows: Set<Int64> = []
    /// Rows that the commit deletes or changes, and that others had already deleted.
    var deletedElsewhere: Set<Int64> = []
}

extension LayerSnapshot {
    /// The layers after a commit is in the store. The commit's segments are removed, and the remaining changes are
    /// rebased.
    func applying(_ record: CommitRecord) -> LayerSnapshot {
        var layers = self
        let path = record.committer.map { layers.path(to: $0) } ?? []
        // Also from layers to which a save has moved the segments meanwhile.
        for (context, level) in levels where level.contains(where: { record.segments.contains($0.id) }) {
            layers[context] = level.filter { !record.segments.contains($0.id) }
            if context != record.committer { layers.noteCommit(record.sequence, byOtherThan: context) }
        }
        for result in record.results where !result.merged.isEmpty {
            layers.moveMembers(result.mergedMembers(record.sequence), entity: result.entity)
        }
        for result in record.results where !result.moved.isEmpty { layers.move(result.moved, entity: result.entity) }
        for result in record.results {
            result.rows?.applyCommit(record, entity: result.entity, path: path, before: self, in: &layers)
        }
        for result in record.results {
            result.cancelledInserts?.applyCommit(record, entity: result.entity, path: path, before: self, in: &layers)
        }
        return layers
    }
}

extension RowChanges {
    /// Removes the written changes from the layers they came from, and rebases all other layers onto the rows.
    func applyCommit(
        _ record: CommitRecord,
        entity: Int,
        path: [Int],
        before: LayerSnapshot,
        in layers: inout LayerSnapshot
    ) {
        let taken = record[entity]?.taken?.typed(Row.self)
        dropOverwritten(record, entity: entity, path: path, before: before, in: &layers)
        for context in layers.levels.keys.sorted() {
            let ids = touched(in: layers, context: context, entity: entity)
            guard !ids.isEmpty else { continue }
            if record.included.contains(context) {
                updateOwnStoreOriginals(ids, taken: taken, entity: entity, context: context, in: &layers)
            } else {
                updateStoreOriginals(ids, entity: entity, context: context, in: &layers)
            }
            layers.rebase(ids, entity: entity, in: context, Row.self) { id in
                guard let change = self[id] else { return nil }
                return .some(change.kind.isVisible ? change.row : nil)
            }
        }
    }

    /// The committed rows of which a layer has changes.
    func touched(in layers: LayerSnapshot, context: Int, entity: Int) -> [Int64] {
        var result: Set<Int64> = []
        for segment in layers[context] {
            guard let part = segment.parts[entity] else { continue }
            for id in part.ids.shared(with: ids) { result.insert(id) }
        }
        return result.sorted()
    }

    /// These changes, based on rows that their own context has committed meanwhile.
    func rebased(onOwn commit: any AnyRowChanges) -> any AnyRowChanges {
        let commit = commit.typed(Row.self)
        let rebased = changes.map { change in
            guard let committed = commit[change.row._$id], committed.kind.isVisible else { return change }
            return change.rebased(onCommitted: committed, columns: committed.columns)
        }
        return RowChanges(ids: ids, changes: rebased)
    }

    /// Updates the bases of edits that were made during the commit. They lie above the rows that the commit wrote.
    private func updateOwnStoreOriginals(
        _ ids: [Int64],
        taken: RowChanges<Row>?,
        entity: Int,
        context: Int,
        in layers: inout LayerSnapshot
    ) {
        var edits: [Int: [Int64: Change<Row>?]] = [:]
        for id in ids {
            guard let committed = self[id], committed.kind.isVisible else { continue }
            let columns = taken?[id]?.columns ?? ColumnSet()
            for (_, change, position) in layers.stack(id, entity: entity, in: context, Row.self) {
                edits[position, default: [:]][id] = change.rebased(onCommitted: committed, columns: columns)
            }
        }
        layers.edit(context, entity: entity, edits)
    }
}

extension RowChanges {
    /// Updates the bases of edits that were made on top of exactly the values that are in the store now.
    ///
    /// Such edits have seen the values that a commit would compare with, whichever context has written them. Columns
    /// with other values keep their base.
    func updateStoreOriginals(_ ids: [Int64], entity: Int, context: Int, in layers: inout LayerSnapshot) {
        var edits: [Int: [Int64: Change<Row>?]] = [:]
        for id in ids {
            guard let committed = self[id], committed.kind.isVisible else { continue }
            for (_, change, position) in layers.stack(id, entity: entity, in: context, Row.self) {
                guard let base = change.base else { continue }
                if !base.isStored {
                    // The row is in the store now. The row that was seen serves as the stored row.
                    edits[position, default: [:]][id] = change.withStoreOriginal()
                    continue
                }
                let written = committed.kind == .insert ? ColumnSet(first: ColumnSet.limit) : committed.columns
                let seen = written.subtracting(committed.row._$differences(from: base.original))
                if !seen.isEmpty {
                    edits[position, default: [:]][id] = change.rebased(onCommitted: committed, columns: seen)
                }
            }
        }
        if !edits.isEmpty { layers.edit(context, entity: entity, edits) }
    }
}

extension LayerSnapshot {
    /// Updates changes that were made before their row came into the store. Other functions update the row below them.
    ///
    /// - Parameter stored: returns the row in the store; called for such changes only.
    mutating func setMissingStoreOriginals<Row: StoredRow>(
        _ ids: [Int64],
        entity: Int,
        in context: Int,
        _ type: Row.Type,
        stored: (Int64) -> Row?
    ) {
        var edits: [Int: [Int64: Change<Row>?]] = [:]
        for id in ids {
            let changes = stack(id, entity: entity, in: context, type).filter { place in
                guard let base = place.change.base else { return false }
                return place.change.kind != .insert && !base.isStored
            }
            if changes.isEmpty || stored(id) == nil { continue }
            for (_, change, position) in changes { edits[position, default: [:]][id] = change.withStoreOriginal() }
        }
        if !edits.isEmpty { edit(context, entity: entity, edits) }
    }
}

extension Change {
    /// This change, after the row that it was made from has come into the store.
    func withStoreOriginal() -> Change {
        guard let base, !base.isStored else { return self }
        var change = self
        change.base = Base(
            original: base.original,
            storeOriginal: base.original,
            sequence: base.sequence,
            parentVersion: base.parentVersion
        )
        return change
    }

    /// This change over a row that its own context has just committed.
    func rebased(onCommitted committed: Change, columns: ColumnSet) -> Change {
        guard let base else { return self }
        var stored = base.storeOriginal ?? committed.row
        stored._$copy(columns, from: committed.row)
        var change = self
        change.base = Base(
            original: base.original,
            storeOriginal: stored,
            sequence: base.sequence,
            parentVersion: base.parentVersion
        )
        return change
    }
}

extension LayerSnapshot {
    /// Rebases the changes of one layer onto the rows that are below them now.
    ///
    /// - Parameters:
    ///   - replacingEqual: whether changes take over the values of equal rows below them, too. This is necessary if the
    ///     changes come from another snapshot than the rows below. External bytes are equal if they have the same
    ///     number, but the store of one of the snapshots may lack them. Then only the row of that snapshot leads to the
    ///     bytes, because it has them in memory.
    ///   - fallback: the row in the store, for rows that no layer below has changed: `.some(nil)` if it is gone, nil if
    ///     it is unchanged.
    mutating func rebase<Row: StoredRow>(
        _ ids: [Int64],
        entity: Int,
        in context: Int,
        _ type: Row.Type,
        replacingEqual: Bool = false,
        fallback: (Int64) -> Row??
    ) {
        guard levels[context] != nil else { return }
        let beneath = Array(readPath(to: context).dropLast())
        var edits: [Int: [Int64: Change<Row>?]] = [:]
        for id in ids {
            // Nil while the row below is not known. Then the lowest change stays as it is.
            var below: Row??
            // The row that a delete of this layer hides. An undelete above the delete shows this row.
            var hidden: Row?
            if let change = top(id, entity: entity, in: beneath, type) {
                below = .some(change.kind.isVisible ? change.row : nil)
            } else if let row = fallback(id) {
                below = .some(row)
            }
            let stack = stack(id, entity: entity, in: context, type)
            for (index, (_, change, position)) in stack.enumerated() {
                let rebased = below.flatMap { below in
                    below == nil && change.kind == .undelete && hidden != nil
                        ? change.undeleting(hidden, replacingEqual: replacingEqual)
                        : change.rebased(onto: below, replacingEqual: replacingEqual)
                }
                if let rebased { edits[position, default: [:]][id] = .some(rebased) }
                let shown = rebased ?? change
                hidden = shown.kind == .delete && !stack.cancelsInsert(index) ? (below ?? shown.rowBelow) : nil
                // Includes the edits of this layer before the delete.
                if shown.kind == .delete { hidden?._$copy(shown.columns, from: shown.row) }
                below = .some(shown.kind.isVisible ? shown.row : nil)
            }
        }
        if !edits.isEmpty { edit(context, entity: entity, edits) }
    }
}
