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
    /// The layers before a commit, with commits of other processes applied, and the segments that the commit takes.
    ///
    /// The taken segments are held in place until ``release(_:)``. Until then, no other segments of the parents are
    /// merged either, since the commit has read them.
    func prepareCommit(
        _ commit: PendingCommit,
        base: Int64,
        connection: Connection
    ) throws -> (layers: LayerSnapshot, taken: TakenSegments) {
        try absorbCommits(before: base, commit.store.schema, connection)
        return try state.withLock { state in
            if let reads = commit.reads, state.log.areStale(reads) { throw PassedError(StaleReads()) }
            // A save during the commit may have moved frozen segments upward. They are still the same segments.
            var segments = Set(commit.frozen.values.joined())
            // Includes changes that the committer has saved upward, also after a context of the chain was prepared.
            let path = state.layers.path(to: commit.committer)
            var known: Set<Int> = []
            for context in path {
                for segment in state.layers[context] {
                    if commit.frozen[context] == nil { known.insert(segment.id) }
                    if context != commit.committer, segment.provenance.contains(commit.committer) {
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

    /// Notes the commits of a transaction immediately before COMMIT. Readers that see their numbers in the store must
    /// not use the layers from before the commits.
    ///
    /// - Parameters:
    ///   - record: the commit of a context, which ``applyCommit(_:)`` applies; nil without such a commit.
    ///   - changes: the change sets of the other commits, in order. The layers find these commits in the file, and take
    ///     their change sets from here instead of the history. If a reader finds them first, it leaves the calls of the
    ///     listeners to the writer, which ends the announcement with ``endAnnouncement()`` or ``withdraw()``.
    func announce(_ record: CommitRecord?, _ changes: [ChangeSet] = []) {
        state.withLock { state in
            state.inFlight = record
            state.log.changeSets.announced += changes
            state.log.subscribers.areCallsLeftToWriter = !changes.isEmpty
        }
    }

    /// Calls the listeners for the announced commits, which are applied now. Called before the next transaction begins.
    func endAnnouncement() { update(by: nil) { $0.log.subscribers.areCallsLeftToWriter = false } }

    /// Forgets the announced commits, because nothing was committed.
    func withdraw() {
        update(by: nil) { state in
            state.inFlight = nil
            state.log.changeSets.announced.removeAll()
            state.log.subscribers.areCallsLeftToWriter = false
        }
    }

    /// Applies a commit that is in the store to the layers.
    func applyCommit(_ record: CommitRecord) {
        update(by: record.committer) { state in
            state.layers = state.layers.applying(record)
            for result in record.results where !result.moved.isEmpty { state.recordEvents(ofAll: result.entity) }
            state.inFlight = nil
            state.log.record(record)
            // Rows that never reached the store are gone for all contexts that read these layers.
            let cancelledInserts = record.cancelledInserts
            if !cancelledInserts.isEmpty, let root = record.committer.flatMap({ state.layers.path(to: $0).first }) {
                state.log.record(.layer(root), cancelledInserts)
            }
        }
    }
}
