import Foundation

/// One commit that is being written to the store. Used by one thread, inside one transaction.
///
/// It runs the five phases of a commit for all entities, and has what they share. ``EntityCommit`` has the rows.
final class CommitJob {
    let commit: PendingCommit
    let connection: Connection
    let schema: Schema
    let layers: LayerSnapshot
    /// The store's sequence number before this commit. The commit has the next number.
    let base: Int64
    /// The contexts from the store up to the committer.
    let path: [Int]
    /// The contexts whose layers are not taken as a whole. These parents may have inserted rows that this commit needs.
    let foreignPath: [Int]
    /// The segments to write: all segments of the contexts that are taken as a whole, and the changes that the
    /// committer has saved upward before.
    let segments: Set<Int>
    /// The segments of parents that are not taken as a whole, as this commit has read them. Later edits are not among
    /// them.
    let known: Set<Int>
    /// Writes the bytes that rows keep outside of themselves.
    let externals: ExternalWriter

    /// The parts of the commit, by the index of their entity.
    private var parts: [(any AnyEntityCommit)?]
    /// The existing parts, in the order of the schema.
    private(set) var activeParts: [any AnyEntityCommit] = []

    /// Conflicts, denied deletes and invalid rows, collected so that one error names all of them.
    var conflicts: [StrataError.Detail] = []
    var denials: [(entity: Int, detail: StrataError.Detail)] = []
    var failures: [StrataError.Detail] = []
    /// Whether the merge policy has discarded or rewritten changes in conflicts within the layers.
    var hasConflictLosses = false

    var policy: MergePolicy { commit.policy }
    var sequence: Int64 { base + 1 }

    init(_ commit: PendingCommit, connection: Connection, layers: LayerSnapshot, taken: TakenSegments, base: Int64) {
        self.commit = commit
        self.connection = connection
        self.layers = layers
        self.base = base
        schema = commit.store.schema
        path = taken.path
        foreignPath = taken.path.filter { commit.frozen[$0] == nil }
        segments = taken.segments
        known = taken.known
        externals = ExternalWriter(connection)
        parts = Array(repeating: nil, count: commit.store.schema.entities.count)
    }

    /// Runs all phases. Nothing is written before the rows are known to be valid.
    ///
    /// - Returns: nil if there was nothing to write.
    func run() throws -> CommitRecord? {
        defer {
            parts.removeAll()
            activeParts.removeAll()
        }
        try gather()
        do {
            try expandDeletes()
            try check()
            try write()
        } catch {
            // Conflicts between the changes themselves must be decided first.
            try throwConflicts()
            throw error
        }
        try throwConflicts()
        return try publish()
    }

    // MARK: Phases

    /// Gathers the changes by entity, with the rows of parents that they need.
    private func gather() throws {
        for entity in touched { part(of: entity).gather() }
        try includeDependencies()
        try mergeDuplicateInserts()
    }

    /// Applies the delete rules to rows in the store. Refuses deletes that concern models which the stack does not
    /// open.
    private func expandDeletes() throws {
        // The rules may add parts, which have no deletes to expand.
        for part in activeParts { try part.expandDeletes() }
        for part in activeParts { part.applyConsequences() }
        // A row that is deleted, too, does not refer to anything any more.
        denials.removeAll { entity, detail in
            guard let part = taken(entity), let index = part.index(of: detail.id) else { return false }
            return part.kind(at: index) == .delete
        }
        if !denials.isEmpty { throw Self.deniedError(denials.map(\.detail)) }
        if let unopened = commit.store.unopened {
            for part in activeParts {
                guard let rows = part.takenRows, rows.kinds.contains(.delete) else { continue }
                let deleted = rows.ids.indices.filter { rows.kind(at: $0) == .delete }.map { rows.ids[$0] }
                try unopened.checkDelete(of: deleted, part.info, on: connection)
            }
        }
    }

    /// Validates the rows, then checks their references. If the rows of any entity are invalid, references do not
    /// matter.
    private func check() throws {
        for part in activeParts { part.validate() }
        guard failures.isEmpty else { throw Self.validationError(failures) }
        for part in activeParts { try part.checkReferences() }
    }

    /// Writes the rows.
    private func write() throws {
        for part in activeParts { try part.write() }
        try applyDeleteRulesToRetained()
        try externals.finish()
    }

    /// Writes the store's new number and the commit's history entry. Returns the result; nil if nothing was written.
    private func publish() throws -> CommitRecord? {
        let results = activeParts.map { $0.publish() }
        guard results.contains(where: { $0.taken != nil || $0.cancelledInserts != nil }) else { return nil }
        let time = Date()
        // Also if no history is kept: an observer may begin to follow while the commit is being written.
        var changes = CommitChanges()
        for result in results {
            // Deletes by others are not changes of this commit.
            let rows =
                result.deletedElsewhere.isEmpty
                ? result.rows : result.rows?.filtered { !result.deletedElsewhere.contains($0) }
            if let rows { changes.add(rows, of: schema.entities[result.entity], schema) }
        }
        try connection.recordCommit(sequence, time, commit.author, changes, commit.store.retention)
        let changeSet = ChangeSet(
            token: HistoryToken(sequence, of: connection.fingerprint),
            time: time,
            author: commit.author,
            changes: changes
        )
        return CommitRecord(
            sequence: sequence,
            committer: commit.committer,
            included: Set(commit.frozen.keys),
            segments: segments,
            known: known,
            results: results,
            changes: changeSet
        )
    }

    private func throwConflicts() throws {
        if !conflicts.isEmpty { throw Self.conflictError(conflicts) }
    }

    // MARK: Parts

    /// The part of the commit for an entity, created at first use.
    func part(of entity: Int) -> any AnyEntityCommit {
        if let part = parts[entity] { return part }
        schema.entities[entity].addPart(to: self)
        // `addPart` has added it.
        return parts[entity]!
    }

    func hasPart(of entity: Int) -> Bool { parts[entity] != nil }

    func add(_ part: any AnyEntityCommit) {
        let index = part.info.index
        parts[index] = part
        let place = activeParts.firstIndex { $0.info.index > index } ?? activeParts.endIndex
        activeParts.insert(part, at: place)
    }

    /// The changes to write of an entity; nil if there are none.
    func taken(_ entity: Int) -> (any AnyRowChanges)? { parts[entity]?.takenRows }

    /// The entities that the segments have changes of, in the order of the schema.
    private var touched: [Int] {
        var indexes: Set<Int> = []
        for context in path {
            for segment in layers[context] where segments.contains(segment.id) { indexes.formUnion(segment.parts.keys) }
        }
        return indexes.sorted()
    }

    // MARK: Parents

    /// Whether all layers of the path are taken as a whole, in addition to the committer's.
    var isChain: Bool { commit.frozen.count > 1 }

    /// Whether parents have changes that this commit does not take as a whole.
    private var hasForeignLayers: Bool { foreignPath.contains { !layers[$0].isEmpty } }

    /// Whether the committer may show other rows after the commit than those that it has written.
    var mayShowOtherRows: Bool { hasForeignLayers || isChain || hasConflictLosses }

    /// Includes rows that parents have inserted and that the committed rows refer to or change.
    private func includeDependencies() throws {
        guard hasForeignLayers else { return }
        var pending = try activeParts.flatMap { $0.neededRows(only: nil) } + neededByOwnedModels()
        while let next = pending.popLast() {
            let part = part(of: next.entity)
            guard try part.include(next.number) else { continue }
            pending += part.neededRows(only: next.number)
        }
    }
}
