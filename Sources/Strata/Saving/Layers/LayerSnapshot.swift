/// The published layers of all contexts of a stack, as one value.
struct LayerSnapshot: Sendable {
    /// The segments of each context's layer, oldest first. Contexts without changes have no entry.
    private(set) var levels: [Int: [ChangeSegment]] = [:]
    /// The existing contexts.
    private(set) var contexts: Set<Int> = []
    /// The parent of each context, except root.
    private(set) var parents: [Int: Int] = [:]
    /// The number of children of each context that has children.
    private var childCounts: [Int: Int] = [:]
    /// The id of the next published segment.
    private var nextSegment = 1
    /// The floors of each context with open savepoints, outermost first.
    private(set) var floors: [Int: [Floor]] = [:]
    /// Counts the changes of each layer, so that callers can see whether it is still the same.
    private(set) var revisions: [Int: Int] = [:]
    /// The number of the last commit by another context that removed changes from each layer. The removed changes, or
    /// values that replace them, are in the store.
    private(set) var commitsByOthers: [Int: Int64] = [:]

    subscript(context: Int) -> [ChangeSegment] {
        get { levels[context] ?? [] }
        set {
            levels[context] = newValue.isEmpty ? nil : newValue
            revisions[context, default: 0] += 1
        }
    }

    mutating func add(context: Int, parent: Int?, committedOnly isCommittedOnly: Bool) {
        contexts.insert(context)
        parents[context] = parent
        if let parent { childCounts[parent, default: 0] += 1 }
        if isCommittedOnly { committedOnly.insert(context) }
    }

    mutating func remove(context: Int) {
        contexts.remove(context)
        levels[context] = nil
        if let parent = parents.removeValue(forKey: context), let count = childCounts[parent] {
            childCounts[parent] = count > 1 ? count - 1 : nil
        }
        revisions[context] = nil
        commitsByOthers[context] = nil
        floors[context] = nil
        committedOnly.remove(context)
    }

    /// Notes that a commit by another context has removed changes from a context's layer.
    mutating func noteCommit(_ sequence: Int64, byOtherThan context: Int) { commitsByOthers[context] = sequence }

    /// The contexts through which `context` sees the store, from the one above the store to itself.
    func path(to context: Int) -> [Int] {
        var path = [context]
        while let parent = parents[path[path.count - 1]] { path.append(parent) }
        path.reverse()
        return path
    }

    /// Contexts that read the committed state, without their parents' layers.
    private(set) var committedOnly: Set<Int> = []

    /// The contexts whose layers `context` sees above the store, itself last.
    func readPath(to context: Int) -> [Int] {
        var path = [context]
        while let last = path.last, !committedOnly.contains(last), let parent = parents[last] { path.append(parent) }
        path.reverse()
        return path
    }

    /// A copy that contains only the layers of the given contexts.
    func only(_ contexts: [Int]) -> LayerSnapshot {
        var result = self
        let contexts = Set(contexts)
        result.levels = levels.filter { contexts.contains($0.key) }
        return result
    }

    /// The contexts that see the store through `context`, parents before children.
    func descendants(of context: Int) -> [Int] {
        guard childCounts[context] != nil else { return [] }
        // Ids ascend in the order of creation, and a parent is older than its children.
        var found: Set<Int> = [context]
        var result: [Int] = []
        for (child, parent) in parents.sorted(by: { $0.key < $1.key })
        where found.contains(parent) && !committedOnly.contains(child) {
            found.insert(child)
            result.append(child)
        }
        return result
    }

    /// Puts changes on top of a context's layer, and merges segments that can be merged now.
    ///
    /// - Parameters:
    ///   - frozen: segments that a commit is taking and that must not change.
    ///   - id: the existing id of the segment, if a commit is taking it.
    mutating func push(
        _ parts: [Int: any AnyRowChanges],
        provenance: Provenance,
        to context: Int,
        frozen: Set<Int>,
        keeping id: Int? = nil
    ) {
        var level = self[context]
        level.append(ChangeSegment(id: id ?? nextSegment, provenance: provenance, parts: parts))
        nextSegment += 1
        merge(&level, of: context, frozen)
        self[context] = level
    }

    /// Keeps the segments of a context's layer apart from later ones, until ``removeFloor(of:frozen:)``.
    mutating func addFloor(to context: Int) {
        floors[context, default: []].append(Floor(first: nextSegment, barrier: nextSegment))
    }

    /// Reserves the id of a segment that may later lie in a context's layer below all open savepoints. Until they end,
    /// the existing segments are kept apart from later ones too.
    mutating func reserveSegment(in context: Int) -> Int {
        let id = nextSegment
        nextSegment += 1
        if let open = floors[context] { floors[context] = open.map { Floor(first: $0.first, barrier: nextSegment) } }
        return id
    }

    /// Removes the floor that was added last, and merges the segments above it.
    ///
    /// Each of them is compared with the segment below it, and not only the topmost one. Otherwise a small segment on
    /// top would keep a larger one apart from the segments below the floor, and each savepoint of a loop would leave
    /// some segments.
    mutating func removeFloor(of context: Int, frozen: Set<Int>) {
        guard var open = floors[context], let floor = open.popLast() else { return }
        floors[context] = open.isEmpty ? nil : open
        let segments = self[context]
        guard let first = segments.firstIndex(where: { $0.id >= floor.first }) else { return }
        var level = Array(segments[..<first])
        for segment in segments[first...] {
            level.append(segment)
            merge(&level, of: context, frozen)
        }
        if level.count != segments.count { self[context] = level }
    }

    /// Merges segments on top of a context's layer that were held in place until now.
    mutating func mergeTop(of context: Int, frozen: Set<Int>) {
        var level = self[context]
        let count = level.count
        merge(&level, of: context, frozen)
        if level.count != count { self[context] = level }
    }

    private mutating func merge(_ level: inout [ChangeSegment], of context: Int, _ frozen: Set<Int>) {
        let barrier = floors[context]?.last?.barrier ?? 0
        while level.count > 1 {
            let newer = level[level.count - 1]
            let older = level[level.count - 2]
            guard older.provenance == newer.provenance, !newer.hasGapBelow, older.id >= barrier,
                !frozen.contains(older.id), !frozen.contains(newer.id),
                older.count < 2 * newer.count
            else { break }
            var merged = ChangeSegment(
                id: nextSegment,
                provenance: newer.provenance,
                parts: older.parts,
                hasGapBelow: older.hasGapBelow
            )
            nextSegment += 1
            merged.parts.merge(newer.parts) { $0.followed(by: $1) }
            level.removeLast(2)
            level.append(merged)
        }
    }

    /// The topmost change of a row in the given levels, of which the last one is on top.
    func top<Row: StoredRow>(_ id: Int64, entity: Int, in path: [Int], _ type: Row.Type) -> Change<Row>? {
        topPlace(of: id, entity: entity, in: path).map { $0.part.typed(Row.self).changes[$0.index] }
    }

    /// The row as the given levels show it; nil if they have not changed it, or have deleted it.
    func visibleRow<Row: StoredRow>(_ id: Int64, entity: Int, in path: [Int]) -> Row? {
        guard let change = top(id, entity: entity, in: path, Row.self), change.kind.isVisible else { return nil }
        return change.row
    }

    /// The kind of a row's topmost change in the given levels.
    func topKind(of id: Int64, entity: Int, in path: [Int]) -> ChangeKind? {
        topPlace(of: id, entity: entity, in: path).map { $0.part.kind(at: $0.index) }
    }

    /// A value of a row's topmost change in the given levels; nil if the levels do not change the row.
    func value(of id: Int64, entity: Int, _ column: Int, in path: [Int]) throws -> StoredValue? {
        try topPlace(of: id, entity: entity, in: path).map { try $0.part.value(at: $0.index, column: column) }
    }

    private func topPlace(of id: Int64, entity: Int, in path: [Int]) -> (part: any AnyRowChanges, index: Int)? {
        for context in path.reversed() {
            guard let level = levels[context] else { continue }
            for segment in level.reversed() {
                if let part = segment.parts[entity], let index = part.index(of: id) { return (part, index) }
            }
        }
        return nil
    }

    /// Whether one of the given levels has a change of this kind for a row.
    func contains(_ kind: ChangeKind, of id: Int64, entity: Int, in path: [Int]) -> Bool {
        path.contains { context in
            levels[context]?.contains { segment in
                guard let part = segment.parts[entity], let index = part.index(of: id) else { return false }
                return part.kind(at: index) == kind
            } ?? false
        }
    }

    /// Whether one level inserts a row that is visible to readers of the level.
    func hasInserted(_ id: Int64, entity: Int, in context: Int) -> Bool {
        contains(.insert, of: id, entity: entity, in: [context])
            && topKind(of: id, entity: entity, in: [context])?.isVisible ?? false
    }

    /// All changes of a row in one level, oldest first, with their provenance.
    func stack<Row: StoredRow>(
        _ id: Int64,
        entity: Int,
        in context: Int,
        _ type: Row.Type
    ) -> [StackEntry<Row>] {
        var result: [StackEntry<Row>] = []
        for (position, segment) in self[context].enumerated() {
            if let part = segment.parts[entity], let index = part.index(of: id) {
                result.append((segment.provenance, part.typed(Row.self).changes[index], position))
            }
        }
        return result
    }

    /// The parts of one entity in the given levels, oldest first.
    func parts(of entity: Int, in path: [Int]) -> [any AnyRowChanges] {
        path.flatMap { context in self[context].compactMap { $0.parts[entity] } }
    }

    /// Replaces changes of single rows (nil removes a change), by position of the segment and id of the row.
    mutating func edit<Row: StoredRow>(
        _ context: Int,
        entity: Int,
        _ edits: [Int: [Int64: Change<Row>?]]
    ) {
        var level = self[context]
        level.edit(entity: entity, edits)
        self[context] = level.filter { !$0.parts.isEmpty }
    }
}

extension [ChangeSegment] {
    /// Replaces changes of single rows (nil removes a change), by position of the segment and id of the row. Empty
    /// segments stay, so that positions stay valid.
    mutating func edit<Row: StoredRow>(entity: Int, _ edits: [Int: [Int64: Change<Row>?]]) {
        for (position, rows) in edits {
            guard let part = self[position].parts[entity]?.typed(Row.self) else { continue }
            var ids: [Int64] = []
            var changes: [Change<Row>] = []
            ids.reserveCapacity(part.count)
            changes.reserveCapacity(part.count)
            for (id, change) in zip(part.ids, part.changes) {
                if let edited = rows[id] {
                    guard let edited else { continue }
                    ids.append(id)
                    changes.append(edited)
                } else {
                    ids.append(id)
                    changes.append(change)
                }
            }
            self[position].parts[entity] = ids.isEmpty ? nil : RowChanges(ids: ids, changes: changes)
        }
    }
}

/// The lower end of an open savepoint in a layer.
struct Floor: Sendable {
    /// The id of the first segment that the savepoint may contain.
    let first: Int
    /// The id below which segments are not merged until the savepoint ends. It is above `first` if deletes may return
    /// to segments of the savepoint.
    let barrier: Int
}

/// One of the changes of a row in a level, with the position of its segment.
typealias StackEntry<Row: StoredRow> = (provenance: Provenance, change: Change<Row>, segment: Int)

extension Array {
    /// Whether the delete at `index` cancels an insert with the same provenance. The two may lie in separate segments,
    /// or already be merged into a cancelled insert. So a restore of the row ignores such a delete in both cases.
    func cancelsInsert<Row: StoredRow>(_ index: Int) -> Bool where Element == StackEntry<Row> {
        self[..<index].contains { $0.change.kind == .insert && $0.provenance == self[index].provenance }
    }
}
