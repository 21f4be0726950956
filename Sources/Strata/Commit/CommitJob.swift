import Foundation

/// One commit on its way into the store. Used by one thread, inside of one transaction.
final class CommitJob {
    let connection: Connection
    let schema: Schema
    let layers: Layers
    let committer: Int
    /// The contexts whose layers are taken as a whole, and the segments that are.
    let frozen: [Int: Set<Int>]
    let policy: MergePolicy
    /// The number that the store has before this commit; it has the next one after it.
    let base: Int64
    let path: [Int]
    /// The segments that are written: all of the contexts that are taken as a whole, and what the committer has saved
    /// upward before (C16, H20).
    let segments: Set<Int>
    /// The segments of the parents that are not taken as a whole, as this commit has read them. What is edited since is not among them.
    let known: Set<Int>
    let names: @Sendable (Int) -> String
    let request: CommitRequest
    private let retention: HistoryRetention
    /// What those who follow the store are told.
    private var changes: ChangeSet?

    /// What is to be written, by entity.
    var taken: [Int: any AnyPart] = [:]
    /// What follows from deletes for rows in the store, by entity: ``Consequences`` of its rows.
    var consequences: [Int: AnyObject] = [:]
    /// Rows whose unique values were taken off them for a moment, by entity: ``ParkedRows``.
    var parked: [Int: AnyObject] = [:]
    var withdrawn: [Int: any AnyPart] = [:]
    /// The references to inserted rows that stored rows have absorbed, by the entity that holds the references.
    var moved: [Int: [MovedReferences]] = [:]
    var wentAlong: [Int: Set<Int64>] = [:]
    var written: [Int: any AnyPart] = [:]
    /// Rows that were to be deleted or changed and that others had deleted before, by entity.
    var missing: [Int: Set<Int64>] = [:]
    /// Rows that stay, or are back, otherwise than this commit's changes say, by entity.
    var kept: [Int: Set<Int64>] = [:]
    var adjusted: [Int: any AnyPart] = [:]
    /// Members that were there already, by entity: the rows that were to be added, and those that stand for them.
    var merged: [Int: [Int64: Int64]] = [:]
    /// Rows of which `.theirs` has given up changes that met others within the layers, by entity.
    var givenUp: [Int: Set<Int64>] = [:]
    /// Conflicts and denied deletes, gathered so that one error names them all.
    var conflicts: [StrataError.Detail] = []
    var denials: [(entity: Int, detail: StrataError.Detail)] = []

    /// Writes what rows keep outside of themselves.
    let externals: ExternalWriter

    var sequence: Int64 { base + 1 }

    init(
        connection: Connection,
        schema: Schema,
        layers: Layers,
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
        try goAlong()
        try absorbInserted()
        do {
            try checkAndWrite()
        } catch {
            // Changes that have met each other already are what has to be decided first.
            try throwConflicts()
            throw error
        }
        if hasForeignLayers || isChain || !givenUp.isEmpty {
            for entity in taking { entity.noteShadowed(self) }
        }
        try throwConflicts()
        if !isEmpty { try noteCommit() }
    }

    /// Gives the store its new number, and the history its entry.
    private func noteCommit() throws {
        let time = Date()
        // Also where no history is kept: somebody may begin to follow while this is being written.
        var done = written
        // What others have done is no change of this commit.
        for (entity, numbers) in missing { done[entity] = done[entity]?.filtered { !numbers.contains($0) } }
        let made = CommitChanges(done, schema)
        try connection.note(sequence, time, request.author, made, retention)
        changes = ChangeSet(
            token: HistoryToken(sequence, of: connection.fingerprint),
            time: time,
            author: request.author,
            changes: made
        )
    }

    private func checkAndWrite() throws {
        for entity in taking where !entity.info.incoming.isEmpty { try entity.expandDeletes(self) }
        for entity in consequences.keys { schema.entities[entity].takeConsequences(self) }
        // What is deleted as well refers to nothing any more.
        denials.removeAll { entity, detail in
            guard let part = taken[entity], let index = part.index(of: detail.number) else { return false }
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
        try followKept()
        try externals.finish()
    }

    /// Carries out the delete rules on rows that the policy has kept: what they lead to may be deleted by this very commit.
    private func followKept() throws {
        guard conflicts.isEmpty else { return }
        var hasDeleted = true
        while hasDeleted {
            hasDeleted = false
            for (entity, numbers) in kept {
                for number in numbers {
                    if try schema.entities[entity].followKept(number, self) { hasDeleted = true }
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

    /// The entities of which anything is to be written, in the order of the schema.
    private var taking: [any AnyEntity] { taken.keys.sorted().map { schema.entities[$0] } }

    /// Whether parents have changes that this commit does not take as a whole.
    private var hasForeignLayers: Bool { path.contains { frozen[$0] == nil && !layers[$0].isEmpty } }

    /// Says of a row that goes along which context has inserted it (H21).
    private func namingContext(_ detail: StrataError.Detail, _ entity: Int) -> StrataError.Detail {
        guard wentAlong[entity]?.contains(detail.number) ?? false,
            let context = foreignPath.last(where: { context in
                layers[context].contains { $0.parts[entity]?.index(of: detail.number) != nil }
            })
        else { return detail }
        return detail.saying("\(detail.message), as inserted in \(names(context)), which has not saved it")
    }

    static func deniedError(_ details: [StrataError.Detail]) -> StrataError {
        StrataError(
            .deleteDenied,
            "A delete rule forbids to delete what other objects still refer to.",
            details: details
        )
    }

    static func validationError(_ details: [StrataError.Detail]) -> StrataError {
        StrataError(.validation, "Nothing was saved: values break what the models declare.", details: details)
    }

    static func conflictError(_ details: [StrataError.Detail]) -> StrataError {
        StrataError(
            .conflict,
            "Nothing was saved: others have changed the same columns in the meantime. "
                + "Roll the objects back, or save with another merge policy.",
            details: details
        )
    }

    static func notUniqueError(_ details: [StrataError.Detail], underlying: (any Error)? = nil) -> StrataError {
        StrataError(
            .notUnique,
            "Nothing was saved: a value that must be unique is there already.",
            details: details,
            underlying: underlying
        )
    }

    static func missingReferenceError(_ details: [StrataError.Detail]) -> StrataError {
        StrataError(
            .missingReference,
            "Nothing was saved: relationships lead to objects that are not there.",
            details: details
        )
    }

    private func throwConflicts() throws {
        if !conflicts.isEmpty { throw Self.conflictError(conflicts) }
    }

    /// Adds rows that parents have inserted and that the committed rows refer to or change (H21).
    private func goAlong() throws {
        guard hasForeignLayers else { return }
        var pending = try schema.entities.flatMap { $0.neededRows(self, only: nil) } + neededByCompanions()
        while let next = pending.popLast() {
            let entity = schema.entities[next.entity]
            guard try entity.takeAlong(next.number, self) else { continue }
            pending += entity.neededRows(self, only: next.number)
        }
    }

    /// The layers that are not taken as a whole, in which a parent may have inserted what this commit needs.
    var foreignPath: [Int] { path.filter { frozen[$0] == nil } }

    /// Whether all layers of the path are taken as a whole, beside the committer's (H27).
    var isChain: Bool { frozen.count > 1 }

    var isEmpty: Bool { taken.isEmpty && withdrawn.isEmpty }

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
            adjusted: adjusted,
            merged: merged,
            withdrawn: withdrawn,
            moved: moved,
            wentAlong: wentAlong,
            changes: changes
        )
    }
}

/// What a commit has read of the layers.
struct TakenSegments {
    var path: [Int] = []
    /// Those that it writes.
    var segments: Set<Int> = []
    /// Those of the parents that it does not take as a whole; of what they insert it takes along what it needs (H21).
    var known: Set<Int> = []
}

/// What a context asks to be committed.
struct CommitRequest: Sendable {
    let committer: Int
    /// Its name, if it has one.
    let name: ContextName?
    let frozen: [Int: Set<Int>]
    let policy: MergePolicy
    /// Who commits, for the history.
    let author: String?
    /// What it must have read as it is by then; nil where that is no matter.
    let reads: ContextReadSet?
    /// The rows that have absorbed inserted ones, by entity, as the commit must leave them.
    let absorbing: [Int: any AnyPart]
    /// The names of contexts, for messages.
    let names: @Sendable (Int) -> String

    /// What the committer is called in logs.
    var label: String { HandleReference.label(name, committer) }
}

/// A commit that has taken a context's changes and not yet written them. It may be written on any thread.
struct PendingCommit: Sendable {
    let store: Store
    /// The segments that the preparation has added to the committer's layer, held in place: they go where the commit fails.
    let added: Set<Int>
    let request: CommitRequest
    /// The callbacks that run after the commit.
    let callbacks: [CommitCallbacks.Callback]
    /// An engine's work after the commit in the same transaction, and the name of its author.
    var alongside: (author: String, body: @Sendable (StoreTransaction) throws -> Void)?
    /// Whether it goes before others of this process, who wait for that.
    var isAhead = false

    /// Lets the added segments be merged with others, once it is known what came of the commit.
    func letGo() { store.layers.thaw(added) }

    /// Writes it, and lets all layers know. Blocks the thread while the disk is busy. Nil where there was nothing to write.
    func write() throws -> CommitRecord? {
        try store.telemetry.following(.commit, of: request.label, journal: store.journal) {
            do { return try write($0) } catch let error as StrataError { throw error.passed }
        } outcome: { record in
            record.map { WriteOutcome(sequence: $0.sequence, rows: RowCounts($0.rows.values)) }
        }
    }

    private func write(_ watch: WriteWatch?) throws -> CommitRecord? {
        let layers = store.layers
        defer { layers.thaw(Set(request.frozen.values.joined())) }
        var record: CommitRecord?
        /// What an engine has committed behind it.
        var followed: ChangeSet?
        var taken = TakenSegments()
        defer { layers.letGo(of: taken) }
        var externals: ExternalWriter?
        try store.write(for: request.label, isAhead: isAhead) { connection in
            watch?.hasBegun()
            let base = try connection.sequence()
            let snapshot: Layers
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
            if store.schema.followers.isEmpty && alongside == nil { return job.tables }
            let following = try store.follow(
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
            // Here, since the next commit would take what the layers do not know of for another process's.
            if !isCommitted { externals?.abandon() }
            defer {
                layers.letGo(of: taken)
                taken = TakenSegments()
            }
            if let record {
                if isCommitted { layers.settle(record) } else { layers.abandonCommit(record) }
            }
            guard let followed else { return }
            if isCommitted { store.takeIn([followed]) } else { layers.hub.withdraw() }
        }
        return record
    }
}

extension LayerStore {
    /// The layers as they are before a commit, with commits of other processes taken in, and the segments that it takes.
    ///
    /// These are held in place until ``letGo(of:)``, and nothing is merged with the parents' others, which it has read.
    func prepareCommit(
        _ request: CommitRequest,
        base: Int64,
        schema: Schema,
        connection: Connection
    ) throws -> (layers: Layers, taken: TakenSegments) {
        try takeIn(base, schema, connection, by: request.committer)
        return try state.withLock { state in
            if let reads = request.reads, state.areStale(reads) { throw PassedError(StaleReads()) }
            // A save during the commit may have moved frozen segments up, which does not change what they are.
            var segments = Set(request.frozen.values.joined())
            // What the committer itself has saved upward goes along, also what it has since a context of the chain was made ready.
            let path = state.layers.path(to: request.committer)
            var known: Set<Int> = []
            for context in path {
                for segment in state.layers[context] {
                    if request.frozen[context] == nil { known.insert(segment.id) }
                    if context != request.committer, segment.carriers.contains(request.committer) {
                        segments.insert(segment.id)
                    }
                }
            }
            state.frozen.count(segments)
            state.read.count(known)
            return (state.layers, TakenSegments(path: path, segments: segments, known: known))
        }
    }

    /// Lets go of what a commit has read.
    func letGo(of taken: TakenSegments) {
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

    /// Holds segments in place that are held already, once more.
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

    /// The next thing is COMMIT: readers that see this number in the store must not see the layers' version of it (H14).
    func announce(_ record: CommitRecord) { state.withLock { $0.inFlight = record } }

    func abandonCommit(_ record: CommitRecord) {
        state.withLock { state in
            if state.inFlight?.sequence == record.sequence { state.inFlight = nil }
        }
    }

    /// The commit is in the store.
    func settle(_ record: CommitRecord) {
        state.withLock { state in
            state.layers = state.layers.applying(record)
            for entity in record.moved.keys { state.noteAll(of: entity) }
            if !state.held.isEmpty { state.noteTakenAlong(record) }
            state.sequence = record.sequence
            state.inFlight = nil
            state.note(record)
            hub.advance(to: record.sequence, record.changes)
            // Rows that never came into the store are gone for whoever stands on these layers.
            if !record.withdrawn.isEmpty, let root = record.committer.flatMap({ state.layers.path(to: $0).first }) {
                state.note(.layer(root), record.withdrawn)
            }
        }
        tellWatchers(of: record.committer)
    }
}
