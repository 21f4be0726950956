/// The result of one commit, as the layers and the live objects of all contexts need to know it.
///
/// It contains values only. It is a class because every commit passes it on.
final class CommitRecord: Sendable {
    /// The store's sequence number after the commit.
    let sequence: Int64
    /// The context that committed; nil for commits of other processes, which were found in the file.
    let committer: Int?
    /// The contexts whose layers the commit took as a whole: the committer, and the other contexts of its chain. A
    /// chain is a path of contexts down to the store that commits as one.
    let included: Set<Int>
    /// The segments that the commit took, of any context.
    let segments: Set<Int>
    /// The segments of parents that the commit did not take as a whole, as it has read them. Later segments were
    /// published while the commit was being written.
    let known: Set<Int>
    /// The changes that were taken, by entity: their columns and their bases.
    let taken: [Int: any AnyPart]
    /// The rows as they are in the store now, by entity. Inserted and updated rows are complete; deleted rows are
    /// deletes.
    let rows: [Int: any AnyPart]
    /// The rows whose result differs from the committer's version, by entity.
    let adjusted: [Int: any AnyPart]
    /// Members that existed already, by entity: the rows that the commit wanted to add, and the rows that represent
    /// them.
    let merged: [Int: [Int64: Int64]]
    /// Rows that the committer had inserted and deleted again. They never reach the store.
    let withdrawn: [Int: any AnyPart]
    /// The references to inserted rows that stored rows have absorbed, by the entity that holds the references.
    let moved: [Int: [MovedReferences]]
    /// Rows that a parent had inserted and that the commit included as a whole, by entity.
    let wentAlong: [Int: Set<Int64>]
    /// The change set for observers of the store; nil for commits of other processes.
    let changes: ChangeSet?
    /// For a commit of another process, the rows that it has changed, by entity, including rows in no layer; nil if
    /// they are not known.
    let unread: [Int: NumberRuns]?

    init(
        sequence: Int64,
        committer: Int?,
        included: Set<Int> = [],
        segments: Set<Int> = [],
        known: Set<Int> = [],
        taken: [Int: any AnyPart] = [:],
        rows: [Int: any AnyPart],
        adjusted: [Int: any AnyPart] = [:],
        merged: [Int: [Int64: Int64]] = [:],
        withdrawn: [Int: any AnyPart] = [:],
        moved: [Int: [MovedReferences]] = [:],
        wentAlong: [Int: Set<Int64>] = [:],
        changes: ChangeSet? = nil,
        unread: [Int: NumberRuns]? = nil
    ) {
        self.sequence = sequence
        self.committer = committer
        self.included = included
        self.segments = segments
        self.known = known
        self.taken = taken
        self.rows = rows
        self.adjusted = adjusted
        self.merged = merged
        self.withdrawn = withdrawn
        self.moved = moved
        self.wentAlong = wentAlong
        self.changes = changes
        self.unread = unread
    }

    /// Whether the record has all changed rows. For commits of other processes, only the rows that layers need were
    /// read.
    var isComplete: Bool { committer != nil }
}

extension Layers {
    /// The layers after a commit is in the store. The commit's segments are removed, and the remaining changes are
    /// rebased.
    func applying(_ record: CommitRecord) -> Layers {
        var result = self
        let path = record.committer.map { result.path(to: $0) } ?? []
        // Also from layers to which a savepoint has returned the segments meanwhile.
        for (context, level) in levels where level.contains(where: { record.segments.contains($0.id) }) {
            result[context] = level.filter { !record.segments.contains($0.id) }
        }
        for (entity, numbers) in record.merged {
            guard let rows = record.rows[entity]?.typed(JoinRow.self) else { continue }
            result.move(numbers, onto: rows, entity: entity, sequence: record.sequence)
        }
        for (entity, references) in record.moved { result.move(references, entity: entity) }
        for (entity, rows) in record.rows {
            rows.settle(record, entity: entity, path: path, before: self, in: &result)
        }
        for (entity, rows) in record.withdrawn {
            rows.settle(record, entity: entity, path: path, before: self, in: &result)
        }
        return result
    }
}

extension Layers {
    /// Redirects changes of members that existed already to the rows that represent them.
    fileprivate mutating func move(
        _ numbers: [Int64: Int64],
        onto rows: Part<JoinRow>,
        entity: Int,
        sequence: Int64
    ) {
        for (context, level) in levels {
            guard
                level.contains(where: { segment in numbers.keys.contains { segment.parts[entity]?.index(of: $0) != nil }
                })
            else { continue }
            self[context] = level.map { segment in
                guard let part = segment.parts[entity]?.typed(JoinRow.self) else { return segment }
                let changes = part.changes.map { change in
                    guard let number = numbers[change.row._$number], let row = rows[number]?.row else { return change }
                    return change.moved(onto: row, sequence: sequence)
                }
                var moved = segment
                moved.parts[entity] = Part(unsorted: changes)
                return moved
            }
        }
    }
}

extension Change<JoinRow> {
    /// This change, applied to another row that is in the store and represents the same member.
    fileprivate func moved(onto row: JoinRow, sequence: Int64) -> Change {
        let base = Base(seenInStore: row, sequence: sequence)
        if kind == .delete || kind == .withdrawn {
            return Change(kind: .delete, columns: ColumnSet(), row: row, base: base)
        }
        var changed = row
        changed._$copy(columns, from: self.row)
        return Change(kind: .update, columns: columns, row: changed, base: base)
    }
}

extension Part {
    /// Removes the written changes from the layers they came from, and rebases all other layers onto the rows.
    func settle(_ record: CommitRecord, entity: Int, path: [Int], before: Layers, in layers: inout Layers) {
        let taken = record.taken[entity]?.typed(Row.self)
        leaveBehind(record, entity: entity, path: path, before: before, in: &layers)
        for context in layers.levels.keys.sorted() {
            let numbers = touched(in: layers, context: context, entity: entity)
            guard !numbers.isEmpty else { continue }
            if record.included.contains(context) {
                settleOwn(numbers, taken: taken, entity: entity, context: context, in: &layers)
            } else {
                settleSeen(numbers, entity: entity, context: context, in: &layers)
            }
            layers.rebase(numbers, entity: entity, in: context, Row.self) { number in
                guard let change = self[number] else { return nil }
                return .some(change.kind.isVisible ? change.row : nil)
            }
        }
    }

    /// The committed rows of which a layer has changes.
    func touched(in layers: Layers, context: Int, entity: Int) -> [Int64] {
        var result: Set<Int64> = []
        for segment in layers[context] {
            guard let part = segment.parts[entity] else { continue }
            for number in part.numbers.shared(with: numbers) { result.insert(number) }
        }
        return result.sorted()
    }

    /// These changes, based on rows that their own context has committed meanwhile.
    func settled(onOwn commit: any AnyPart) -> any AnyPart {
        let commit = commit.typed(Row.self)
        let settled = changes.map { change in
            guard let committed = commit[change.row._$number], committed.kind.isVisible else { return change }
            return change.settled(on: committed, columns: committed.columns)
        }
        return Part(numbers: numbers, changes: settled)
    }

    /// Updates the bases of edits that were made during the commit. They lie above the rows that the commit wrote.
    private func settleOwn(
        _ numbers: [Int64],
        taken: Part<Row>?,
        entity: Int,
        context: Int,
        in layers: inout Layers
    ) {
        var edits: [Int: [Int64: Change<Row>?]] = [:]
        for number in numbers {
            guard let committed = self[number], committed.kind.isVisible else { continue }
            let columns = taken?[number]?.columns ?? ColumnSet()
            for (_, change, position) in layers.stack(number, entity: entity, in: context, Row.self) {
                edits[position, default: [:]][number] = change.settled(on: committed, columns: columns)
            }
        }
        layers.edit(context, entity: entity, edits)
    }
}

extension Part {
    /// Updates the bases of edits that were made on top of exactly the values that are in the store now.
    ///
    /// Such edits have seen the values that a commit would compare with, whichever context has written them. Columns
    /// with other values keep their base.
    func settleSeen(_ numbers: [Int64], entity: Int, context: Int, in layers: inout Layers) {
        var edits: [Int: [Int64: Change<Row>?]] = [:]
        for number in numbers {
            guard let committed = self[number], committed.kind.isVisible else { continue }
            for (_, change, position) in layers.stack(number, entity: entity, in: context, Row.self) {
                guard let base = change.base else { continue }
                if !base.isStored {
                    // The row is in the store now. The row that was seen serves as the stored row.
                    edits[position, default: [:]][number] = change.stored()
                    continue
                }
                let written = committed.kind == .insert ? ColumnSet(first: ColumnSet.limit) : committed.columns
                let seen = written.subtracting(committed.row._$differences(from: base.seen))
                if !seen.isEmpty {
                    edits[position, default: [:]][number] = change.settled(on: committed, columns: seen)
                }
            }
        }
        if !edits.isEmpty { layers.edit(context, entity: entity, edits) }
    }
}

extension Layers {
    /// Updates changes that were made before their row came into the store. Other functions update the row below them.
    ///
    /// - Parameter stored: returns the row in the store; called for such changes only.
    mutating func settleStored<Row: StoredRow>(
        _ numbers: [Int64],
        entity: Int,
        in context: Int,
        _ type: Row.Type,
        stored: (Int64) -> Row?
    ) {
        var edits: [Int: [Int64: Change<Row>?]] = [:]
        for number in numbers {
            let changes = stack(number, entity: entity, in: context, type).filter { place in
                guard let base = place.change.base else { return false }
                return place.change.kind != .insert && !base.isStored
            }
            if changes.isEmpty || stored(number) == nil { continue }
            for (_, change, position) in changes { edits[position, default: [:]][number] = change.stored() }
        }
        if !edits.isEmpty { edit(context, entity: entity, edits) }
    }
}

extension Change {
    /// This change, after the row that it was made from has come into the store.
    func stored() -> Change {
        guard let base, !base.isStored else { return self }
        var change = self
        change.base = Base(seen: base.seen, stored: base.seen, sequence: base.sequence, beneath: base.beneath)
        return change
    }

    /// This change over a row that its own context has just committed.
    func settled(on committed: Change, columns: ColumnSet) -> Change {
        guard let base else { return self }
        var stored = base.stored ?? committed.row
        stored._$copy(columns, from: committed.row)
        var change = self
        change.base = Base(seen: base.seen, stored: stored, sequence: base.sequence, beneath: base.beneath)
        return change
    }
}

extension Layers {
    /// Rebases the changes of one layer onto the rows that are below them now.
    ///
    /// - Parameter fallback: the row in the store, for rows that no layer below has changed: `.some(nil)` if it is
    ///   gone, nil if it is unchanged.
    mutating func rebase<Row: StoredRow>(
        _ numbers: [Int64],
        entity: Int,
        in context: Int,
        _ type: Row.Type,
        fallback: (Int64) -> Row??
    ) {
        guard levels[context] != nil else { return }
        let beneath = Array(readPath(to: context).dropLast())
        var edits: [Int: [Int64: Change<Row>?]] = [:]
        for number in numbers {
            // Nil while the row below is not known. Then the lowest change stays as it is.
            var below: Row??
            // The row that a delete of this layer hides. A restore above the delete brings this row back.
            var hidden: Row?
            if let change = top(number, entity: entity, in: beneath, type) {
                below = .some(change.kind.isVisible ? change.row : nil)
            } else if let row = fallback(number) {
                below = .some(row)
            }
            let stack = stack(number, entity: entity, in: context, type)
            for (index, (_, change, position)) in stack.enumerated() {
                let rebased = below.flatMap { below in
                    below == nil && change.kind == .restore && hidden != nil
                        ? change.restoring(hidden) : change.rebased(onto: below)
                }
                if let rebased { edits[position, default: [:]][number] = .some(rebased) }
                let shown = rebased ?? change
                hidden = shown.kind == .delete && !stack.withdrawsInsert(index) ? (below ?? shown.beneathRow) : nil
                // Includes the edits of this layer before the delete.
                if shown.kind == .delete { hidden?._$copy(shown.columns, from: shown.row) }
                below = .some(shown.kind.isVisible ? shown.row : nil)
            }
        }
        if !edits.isEmpty { edit(context, entity: entity, edits) }
    }
}
