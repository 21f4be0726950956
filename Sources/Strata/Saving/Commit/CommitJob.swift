import Foundation

/// One commit that is being written to the store. Used by one thread, inside one transaction.
final class CommitJob {
    let connection: Connection
    let schema: Schema
    let layers: LayerSnapshot
    let committer: Int
    /// The contexts whose layers are taken as a whole, and the segments of these layers. They are the committer, and
    /// the other contexts of its chain. A chain is a path of contexts down to the store that commits as one.
    let frozen: [Int: Set<Int>]
    let policy: MergePolicy
    /// The store's sequence number before this commit. The commit has the next number.
    let base: Int64
    let path: [Int]
    /// The segments to write: all segments of the contexts that are taken as a whole, and the changes that the
    /// committer has saved upward before.
    let segments: Set<Int>
    /// The segments of parents that are not taken as a whole, as this commit has read them. Later edits are not among
    /// them.
    let known: Set<Int>
    let names: @Sendable (Int) -> String
    let request: CommitRequest
    private let retention: HistoryRetention
    /// The change set for observers of the store.
    private var changes: ChangeSet?

    /// The changes to write, by entity.
    var taken: [Int: any AnyRowChanges] = [:]
    /// The consequences of deletes for rows in the store, by entity: ``Consequences`` of its rows.
    var consequences: [Int: AnyObject] = [:]
    /// Rows whose unique values were replaced temporarily, by entity: ``VacatedRows``.
    var vacated: [Int: AnyObject] = [:]
    var cancelledInserts: [Int: any AnyRowChanges] = [:]
    /// The references to inserted rows that stored rows have absorbed, by the entity that holds the references.
    var moved: [Int: [MovedReferences]] = [:]
    var includedRows: [Int: Set<Int64>] = [:]
    var written: [Int: any AnyRowChanges] = [:]
    /// Rows that this commit deletes or changes but others had already deleted, by entity.
    var deletedElsewhere: [Int: Set<Int64>] = [:]
    /// Rows that stay, or are restored, in a state that differs from this commit's changes, by entity.
    var retained: [Int: Set<Int64>] = [:]
    var rewritten: [Int: any AnyRewrittenRows] = [:]
    /// Members that existed already, by entity: the rows that this commit wants to add, and the rows that represent
    /// them.
    var merged: [Int: [Int64: Int64]] = [:]
    /// Rows whose changes the merge policy has discarded or rewritten in conflicts within the layers, by entity.
    var conflictLosses: [Int: Set<Int64>] = [:]
    /// Conflicts and denied deletes, collected so that one error names all of them.
    var conflicts: [StrataError.Detail] = []
    var denials: [(entity: Int, detail: StrataError.Detail)] = []

    /// Writes the bytes that rows keep outside of themselves.
    let externals: ExternalWriter

    var sequence: Int64 { base + 1 }

    init(
        connection: Connection,
        schema: Schema,
        layers: LayerSnapshot,
        segments: Set<Int>,
        known: Set<Int>,
        request: CommitRequest,
        retention: HistoryRetention,
        base: Int64
    ) {
        self.known = known
        self.request = request
        self.retention = retention
        self.segments = segments
        self.connection = connection
        externals = ExternalWriter(connection)
        self.schema = schema
        self.layers = layers
        committer = request.committer
        frozen = request.frozen
        policy = request.policy
        names = request.names
        self.base = base
        path = layers.path(to: request.committer)
    }

    /// Runs all steps. Nothing is written before the rows are known to be valid.
    func run() throws {
        for entity in touched { taken[entity.info.index] = entity.gather(self) }
        try includeDependencies()
        try mergeDuplicateInserts()
        do {
            try checkAndWrite()
        } catch {
            // Conflicts between the changes themselves must be decided first.
            try throwConflicts()
            throw error
        }
        if hasForeignLayers || isChain || !conflictLosses.isEmpty {
            for entity in taking { entity.recordConflictLosses(self) }
        }
        try throwConflicts()
        if !isEmpty { try recordCommit() }
    }

    /// Writes the store's new number and the commit's history entry.
    private func recordCommit() throws {
        let time = Date()
        // Also if no history is kept: an observer may begin to follow while the commit is being written.
        var done = written
        // Deletes by others are not changes of this commit.
        for (entity, ids) in deletedElsewhere { done[entity] = done[entity]?.filtered { !ids.contains($0) } }
        let made = CommitChanges(done, schema)
        try connection.recordCommit(sequence, time, request.author, made, retention)
        changes = ChangeSet(
            token: HistoryToken(sequence, of: connection.fingerprint),
            time: time,
            author: request.author,
            changes: made
        )
    }

    private func checkAndWrite() throws {
        for entity in taking where !entity.info.incoming.isEmpty { try entity.expandDeletes(self) }
        for entity in consequences.keys { schema.entities[entity].applyConsequences(self) }
        // A row that is deleted, too, does not refer to anything any more.
        denials.removeAll { entity, detail in
            guard let part = taken[entity], let index = part.index(of: detail.id) else { return false }
            return part.kind(at: index) == .delete
        }
        if !denials.isEmpty { throw Self.deniedError(denials.map(\.detail)) }
        var failures: [StrataError.Detail] = []
        let entities = taking
        for entity in entities {
            var found: [StrataError.Detail] = []
            entity.validate(taken[entity.info.index].map { [$0] } ?? [], &found)
            failures += found.map { namingContext($0, entity.info.index) }
        }
        guard failures.isEmpty else { throw Self.validationError(failures) }
        for entity in entities where !entity.info.outgoing.isEmpty { try entity.checkReferences(self) }
        for entity in entities { try entity.write(self) }
        try applyDeleteRulesToRetained()
        try externals.finish()
    }

    /// Applies the delete rules to rows that the policy has kept. This commit may delete the objects to which they
    /// refer.
    private func applyDeleteRulesToRetained() throws {
        guard conflicts.isEmpty else { return }
        var hasDeleted = true
        while hasDeleted {
            hasDeleted = false
            for (entity, ids) in retained {
                for id in ids {
                    if try schema.entities[entity].applyDeleteRules(toRetained: id, self) { hasDeleted = true }
                }
            }
        }
        if !denials.isEmpty { throw Self.deniedError(denials.map(\.detail)) }
    }

    /// The entities that the segments have changes of, in the order of the schema.
    private var touched: [any AnyEntity] {
        var indexes: Set<Int> = []
        for context in path {
            for segment in layers[context] where segments.contains(segment.id) { indexes.formUnion(segment.parts.keys) }
        }
        return indexes.sorted().map { schema.entities[$0] }
    }

    /// The entities with changes to write, in the order of the schema.
    private var taking: [any AnyEntity] { taken.keys.sorted().map { schema.entities[$0] } }

    /// Whether parents have changes that this commit does not take as a whole.
    private var hasForeignLayers: Bool { path.contains { frozen[$0] == nil && !layers[$0].isEmpty } }

    /// Adds the name of the inserting context to the message about a row that this commit includes.
    private func namingContext(_ detail: StrataError.Detail, _ entity: Int) -> StrataError.Detail {
        guard includedRows[entity]?.contains(detail.id) ?? false,
            let context = foreignPath.last(where: { context in
                layers[context].contains { $0.parts[entity]?.index(of: detail.id) != nil }
            })
        else { return detail }
        return detail.saying("\(detail.message); the row was inserted in \(names(context)), which has not saved it")
    }

    static func deniedError(_ details: [StrataError.Detail]) -> StrataError {
        StrataError(
            .deleteDenied,
            "A delete rule forbids deleting objects that other objects still refer to.",
            details: details
        )
    }

    static func validationError(_ details: [StrataError.Detail]) -> StrataError {
        StrataError(.validation, "Nothing was saved: values violate the rules of the models.", details: details)
    }

    static func conflictError(_ details: [StrataError.Detail]) -> StrataError {
        StrataError(
            .conflict,
            "Nothing was saved: another context or process has changed the same columns in the meantime. Roll the "
                + "objects back, or save with another merge policy.",
            details: details
        )
    }

    static func notUniqueError(_ details: [StrataError.Detail], underlying: (any Error)? = nil) -> StrataError {
        StrataError(
            .notUnique,
            "Nothing was saved: a value that must be unique already exists.",
            details: details,
            underlying: underlying
        )
    }

    static func missingReferenceError(_ details: [StrataError.Detail]) -> StrataError {
        StrataError(
            .missingReference,
            "Nothing was saved: relationships refer to objects that do not exist.",
            details: details
        )
    }

    private func throwConflicts() throws {
        if !conflicts.isEmpty { throw Self.conflictError(conflicts) }
    }

    /// Includes rows that parents have inserted and that the committed rows refer to or change.
    private func includeDependencies() throws {
        guard hasForeignLayers else { return }
        var pending = try schema.entities.flatMap { $0.neededRows(self, only: nil) } + neededByOwnedModels()
        while let next = pending.popLast() {
            let entity = schema.entities[next.entity]
            guard try entity.include(next.number, self) else { continue }
            pending += entity.neededRows(self, only: next.number)
        }
    }

    /// The contexts whose layers are not taken as a whole. These parents may have inserted rows that this commit needs.
    var foreignPath: [Int] { path.filter { frozen[$0] == nil } }

    /// Whether all layers of the path are taken as a whole, in addition to the committer's.
    var isChain: Bool { frozen.count > 1 }

    var isEmpty: Bool { taken.isEmpty && cancelledInserts.isEmpty }

    var tables: [String] { written.keys.map { schema.entities[$0].info.table } }

    var record: CommitRecord {
        CommitRecord(
            sequence: sequence,
            committer: committer,
            included: Set(frozen.keys),
            segments: segments,
            known: known,
            taken: taken,
            rows: written,
            rewritten: rewritten.mapValues(\.part),
            merged: merged,
            cancelledInserts: cancelledInserts,
            moved: moved,
            includedRows: includedRows,
            changes: changes
        )
    }
}

/// The segments that a commit has read.
struct TakenSegments {
    var path: [Int] = []
    /// The segments that the commit writes.
    var segments: Set<Int> = []
    /// The segments of parents that the commit does not take as a whole. It includes the inserted rows of them that it
    /// needs.
    var known: Set<Int> = []
}

/// A context's request for a commit.
struct CommitRequest: Sendable {
    let committer: Int
    /// The context's name, if it has one.
    let name: ContextName?
    let frozen: [Int: Set<Int>]
    let policy: MergePolicy
    /// The author of the commit, for the history.
    let author: String?
    /// The reads that must still be valid when the commit is written; nil if this does not matter.
    let reads: ContextReadSet?
    /// The rows that have absorbed inserted rows, by entity, in the state in which the commit must leave them.
    let mergeTargets: [Int: any AnyRowChanges]
    /// The names of contexts, for messages.
    let names: @Sendable (Int) -> String

    /// The committer's name in logs.
    var label: String { ContextName.label(name, committer) }
}

/// A commit that has taken a context's changes but not written them yet. It may be written on any thread.
struct PendingCommit: Sendable {
    let store: Store
    /// The segments that the preparation has added to the committer's layer. They are held in place, and removed if the
    /// commit fails.
    let added: Set<Int>
    let request: CommitRequest
    /// The callbacks that run after the commit.
    let callbacks: [CommitCallbacks.Callback]
    /// An engine's work after the commit in the same transaction, and the name of the author of this work.
    var alongside: (author: String, body: @Sendable (StoreTransaction) throws -> Void)?
    /// Whether the commit goes ahead of other writers of this process, which wait for it.
    var isAhead = false

    /// Allows the added segments to be merged with others, after the outcome of the commit is known.
    func release() { store.layers.thaw(added) }

    /// Writes the commit, and applies it to all layers. Blocks the thread while the disk is busy.
    ///
    /// - Returns: nil if there were no changes to write.
    func write() throws -> CommitRecord? {
        try store.telemetry.measuring(.commit, of: request.label, journal: store.journal) {
            do { return try write($0) } catch let error as StrataError { throw error.passed }
        } outcome: { record in
            record.map { WriteOutcome(sequence: $0.sequence, rows: RowCounts($0.rows.values)) }
        }
    }

    private func write(_ watch: WriteWatch?) throws -> CommitRecord? {
        let layers = store.layers
        defer { layers.thaw(Set(request.frozen.values.joined())) }
        var record: CommitRecord?
        /// The change set of an engine's commit after this one.
        var followed: ChangeSet?
        var taken = TakenSegments()
        defer { layers.release(taken) }
        var externals: ExternalWriter?
        try store.write(for: request.label, isAhead: isAhead) { connection in
            watch?.hasBegun()
            let base = try connection.sequence()
            let snapshot: LayerSnapshot
            (snapshot, taken) = try layers.prepareCommit(
                request,
                base: base,
                schema: store.schema,
                connection: connection
            )
            let job = CommitJob(
                connection: connection,
                schema: store.schema,
                layers: snapshot,
                segments: taken.segments,
                known: taken.known,
                request: request,
                retention: store.retention,
                base: base
            )
            externals = job.externals
            try job.run()
            if !job.isEmpty { record = job.record }
            if store.schema.commitHooks.isEmpty && alongside == nil { return job.tables }
            let following = try store.runCommitHooks(
                record?.sequence ?? base,
                record?.changes?.changes ?? CommitChanges(),
                job.written,
                alongside?.author ?? request.author,
                on: connection,
                alongside: alongside?.body
            )
            guard let (commit, tables) = following else { return job.tables }
            followed = commit
            return job.tables + tables
        } beforeCommit: {
            if let record { layers.announce(record) }
        } afterCommit: { isCommitted in
            // Done before the next transaction, which would take commits that the layers do not know for another
            // process's.
            if !isCommitted { externals?.abandon() }
            defer {
                layers.release(taken)
                taken = TakenSegments()
            }
            if let record {
                if isCommitted { layers.applyCommit(record) } else { layers.abandonCommit(record) }
            }
            guard let followed else { return }
            if isCommitted { store.absorb([followed]) } else { layers.hub.withdraw() }
        }
        return record
    }
}

extension LayerRegistry {
    /// The layers before a commit, with commits of other processes applied, and the segments that the commit takes.
    ///
    /// The taken segments are held in place until ``release(_:)``. Until then, no other segments of the parents are
    /// merged either, since the commit has read them.
    func prepareCommit(
        _ request: CommitRequest,
        base: Int64,
        schema: Schema,
        connection: Connection
    ) throws -> (layers: LayerSnapshot, taken: TakenSegments) {
        try absorbCommits(before: base, schema, connection, by: request.committer)
        return try state.withLock { state in
            if let reads = request.reads, state.areStale(reads) { throw PassedError(StaleReads()) }
            // A save during the commit may have moved frozen segments upward. They are still the same segments.
            var segments = Set(request.frozen.values.joined())
            // Includes changes that the committer has saved upward, also after a context of the chain was prepared.
            let path = state.layers.path(to: request.committer)
            var known: Set<Int> = []
            for context in path {
                for segment in state.layers[context] {
                    if request.frozen[context] == nil { known.insert(segment.id) }
                    if context != request.committer, segment.provenance.contains(request.committer) {
                        segments.insert(segment.id)
                    }
                }
            }
            state.frozen.count(segments)
            state.read.count(known)
            return (state.layers, TakenSegments(path: path, segments: segments, known: known))
        }
    }

    /// Releases the segments that a commit has read.
    func release(_ taken: TakenSegments) {
        thaw(taken.segments)
        guard !taken.known.isEmpty else { return }
        state.withLock { state in
            state.read.uncount(taken.known)
            let fixed = state.fixed
            for context in taken.path { state.layers.mergeTop(of: context, frozen: fixed) }
        }
    }

    /// Holds the segments of these contexts in place while a commit takes them.
    func freeze(_ contexts: [Int]) -> [Int: Set<Int>] {
        state.withLock { state in
            var result: [Int: Set<Int>] = [:]
            for context in contexts {
                let segments = state.layers[context].map(\.id)
                result[context] = Set(segments)
                state.frozen.count(segments)
            }
            return result
        }
    }

    /// Holds segments in place once more that are already held.
    func freezeAgain(_ segments: [Int: Set<Int>]) -> [Int: Set<Int>] {
        if segments.isEmpty { return segments }
        state.withLock { state in
            state.frozen.count(segments.values.joined())
        }
        return segments
    }

    func thaw(_ segments: Set<Int>) {
        guard !segments.isEmpty else { return }
        state.withLock { $0.frozen.uncount(segments) }
    }

    /// Notes a commit immediately before COMMIT. Readers that see its number in the store must not use the layers from
    /// before the commit.
    func announce(_ record: CommitRecord) { state.withLock { $0.inFlight = record } }

    func abandonCommit(_ record: CommitRecord) {
        state.withLock { state in
            if state.inFlight?.sequence == record.sequence { state.inFlight = nil }
        }
    }

    /// Applies a commit that is in the store to the layers.
    func applyCommit(_ record: CommitRecord) {
        state.withLock { state in
            state.layers = state.layers.applying(record)
            for entity in record.moved.keys { state.recordEvents(ofAll: entity) }
            if !state.held.isEmpty { state.recordIncludedRows(record) }
            state.sequence = record.sequence
            state.inFlight = nil
            state.recordEvent(record)
            hub.advance(to: record.sequence, record.changes)
            // Rows that never reached the store are gone for all contexts that read these layers.
            if !record.cancelledInserts.isEmpty,
                let root = record.committer.flatMap({ state.layers.path(to: $0).first })
            {
                state.recordEvent(.layer(root), record.cancelledInserts)
            }
        }
        notifyWatchers(of: record.committer)
    }
}
