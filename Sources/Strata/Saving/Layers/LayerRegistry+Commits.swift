/// The segments that a commit has read.
struct TakenSegments {
    var path: [Int] = []
    /// The segments that the commit writes.
    var segments: Set<Int> = []
    /// The segments of parents that the commit does not take as a whole. The commit includes those of their inserted
    /// rows that it needs.
    var known: Set<Int> = []
}

extension LayerRegistry {
    /// The layers before a commit, with all earlier commits applied, and the segments that the commit takes.
    ///
    /// The taken segments are held in place until ``release(_:)``. Until then, no other segments of the parents are
    /// merged either, since the commit has read them.
    ///
    /// - Returns: the layers of the committer and its parents. The result may also contain other layers.
    func prepareCommit(
        _ commit: PendingCommit,
        base: Int64,
        connection: Connection
    ) throws -> (layers: LayerSnapshot, taken: TakenSegments) {
        let schema = commit.store.schema
        try absorbCommits(before: base, schema, connection)
        return try state.withLock { state in
            if let reads = commit.reads, state.areStale(reads) { throw PassedError(StaleReads()) }
            let path = state.layers.path(to: commit.committer)
            let layers = try state.layers(of: path, schema, connection)
            // A save during the commit may have moved frozen segments upward. They are still the same segments.
            var segments = Set(commit.frozen.values.joined())
            // Includes changes that the committer has saved upward, also after a context of the chain was prepared.
            var known: Set<Int> = []
            for context in path {
                for segment in layers[context] {
                    if commit.frozen[context] == nil { known.insert(segment.id) }
                    if context != commit.committer, segment.provenance.contains(commit.committer) {
                        segments.insert(segment.id)
                    }
                }
            }
            commit.callbacks.holdSaved(by: commit.committer)
            state.frozen.count(segments)
            state.read.count(known)
            return (layers, TakenSegments(path: path, segments: segments, known: known))
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
    func freeze(_ contexts: [Int]) -> [Int: Set<Int>] { freeze(contexts) {}.segments }

    /// Holds the segments of these contexts in place, and calls a function before other contexts can change the layers.
    func freeze<Value: Sendable>(_ contexts: [Int], _ body: () -> Value) -> (segments: [Int: Set<Int>], value: Value) {
        state.withLock { state in
            var result: [Int: Set<Int>] = [:]
            for context in contexts {
                let segments = state.layers[context].map(\.id)
                result[context] = Set(segments)
                state.frozen.count(segments)
            }
            return (result, body())
        }
    }

    /// About how many changes a commit takes.
    func rowCount(of commit: PendingCommit) -> Int {
        state.withLock { state in
            state.layers.path(to: commit.committer).reduce(0) { count, context in
                let frozen = commit.frozen[context]
                return state.layers[context].reduce(count) { count, segment in
                    let isTaken = frozen?.contains(segment.id) ?? segment.provenance.contains(commit.committer)
                    return isTaken ? count + segment.count : count
                }
            }
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

    // MARK: The running transaction

    /// Notes commits that are written, but are not in the store before COMMIT. From then on, readers that see their
    /// numbers in the store do not use the layers from before the commits.
    func announce(_ commits: [CommitRecord]) { state.withLock { $0.inFlight += commits } }

    /// Forgets the announced commits, because nothing was committed.
    func withdraw() { state.withLock { $0.inFlight = [] } }

    /// Applies the announced commits, which are in the store now, to the layers.
    ///
    /// Called before the next transaction of this process begins. Otherwise that transaction would treat these commits
    /// as commits of another process.
    ///
    /// - Parameter connection: the connection that has written the commits.
    /// - Returns: an error if rows of layers could not be read again. Later commits still detect conflicts with them.
    func applyAnnounced(_ schema: Schema, _ connection: Connection) -> (any Error)? {
        let committer = state.withLock { $0.inFlight.count == 1 ? $0.inFlight[0].committer : nil }
        return update(by: committer) { state in
            let records = state.inFlight
            let base = state.sequence
            state.inFlight = []
            for record in records { state.apply(record) }
            do {
                try state.rereadRows(of: records, since: base, schema, connection)
                return nil
            } catch {
                return error
            }
        }
    }
}

extension LayerRegistry.State {
    /// Whether commits, or changes of its parents' layers, have changed any table that a context has read, since it
    /// read that table. This includes the commits of the running transaction.
    func areStale(_ reads: ContextReadSet) -> Bool {
        if log.areStale(reads) { return true }
        return inFlight.contains { commit in
            guard commit.sequence > reads.cursor.sequence else { return false }
            if commit.concerns(reads.entities) { return true }
            // A commit can also remove rows from the parents' layers, or redirect references there, without writing a
            // row of the same entity. The log does not contain these changes of the layers yet.
            return !reads.parents.isEmpty && commit.results.contains { reads.entities.contains($0.entity) }
        }
    }

    /// The layers of some contexts after the commits of the running transaction.
    ///
    /// - Parameters:
    ///   - path: the path to a context, whose layers are needed.
    ///   - connection: the connection that has written the commits.
    func layers(
        of path: [Int],
        _ schema: Schema,
        _ connection: Connection
    ) throws -> LayerSnapshot {
        if inFlight.isEmpty { return layers }
        let own = layers.only(path)
        guard inFlight.contains(where: own.isAffected) else { return own }
        // What remains of a parent's changes also depends on the layers of the committers above it.
        let others = inFlight.compactMap(\.committer).flatMap { layers.path(to: $0) }
        return try afterInFlight(layers.only(path + others), schema, connection)
    }

    /// Some layers after the commits of the running transaction.
    ///
    /// - Parameter connection: a connection that sees the commits.
    func afterInFlight(
        _ layers: LayerSnapshot,
        _ schema: Schema,
        _ connection: Connection
    ) throws -> LayerSnapshot {
        let layers = inFlight.reduce(layers) { $0.applying($1) }
        guard let last = inFlight.last?.sequence, inFlight.contains(where: { !$0.isComplete }) else { return layers }
        let rows = try layers.rows(among: inFlight.unread, since: sequence, schema, connection)
        return rows.isEmpty ? layers : layers.applying(CommitRecord(sequence: last, rows: rows))
    }

    /// Applies a commit that is in the store.
    fileprivate mutating func apply(_ record: CommitRecord) {
        noteMergedMembers(of: record)
        layers = layers.applying(record)
        for result in record.results where !result.moved.isEmpty { recordEvents(ofAll: result.entity) }
        log.record(record)
        // Rows that never reached the store are gone for all contexts that read these layers.
        let cancelledInserts = record.cancelledInserts
        if !cancelledInserts.isEmpty, let root = record.committer.flatMap({ layers.path(to: $0).first }) {
            log.record(.layer(root), cancelledInserts)
        }
    }

    /// Reads the rows that commits without a committer have changed and that layers have changed, too.
    fileprivate mutating func rereadRows(
        of records: [CommitRecord],
        since base: Int64,
        _ schema: Schema,
        _ connection: Connection
    ) throws {
        guard records.contains(where: { !$0.isComplete && layers.isAffected(by: $0) }) else { return }
        try connection.statement(.beginReading).runBound()
        defer { _ = try? connection.statement(.commit).runBound() }
        // Another process may have committed meanwhile. The layers must contain all of these commits, or none.
        let newest = try connection.sequence()
        var state = self
        let rows = try layers.rows(among: records.unread, since: base, schema, connection)
        state.layers = layers.applying(CommitRecord(sequence: sequence, rows: rows))
        if newest > sequence { try state.absorb(through: newest, schema: schema, connection: connection) }
        self = state
    }
}

extension LayerSnapshot {
    /// Whether a commit may change these layers, apart from those of its committer.
    fileprivate func isAffected(by commit: CommitRecord) -> Bool {
        if commit.results.contains(where: { !$0.moved.isEmpty || !$0.merged.isEmpty }) { return true }
        return levels.values.joined().contains { segment in
            commit.segments.contains(segment.id)
                || segment.parts.contains { entity, part in
                    guard commit.isComplete else { return commit.unread.map { $0[entity] != nil } ?? true }
                    guard let result = commit[entity] else { return false }
                    return [result.rows, result.cancelledInserts].contains { rows in
                        rows.map { !part.ids.shared(with: $0.ids).isEmpty } ?? false
                    }
                }
        }
    }
}

extension [CommitRecord] {
    /// The rows that the commits without a committer have changed, by entity; nil if they are not known.
    fileprivate var unread: [Int: IDRanges]? {
        var result: [Int: IDRanges] = [:]
        for commit in self where !commit.isComplete {
            guard let unread = commit.unread else { return nil }
            // No ids mean that any row may have changed.
            result.merge(unread) { $0.isEmpty || $1.isEmpty ? IDRanges() : $0.union($1) }
        }
        return result
    }
}
