extension CommitLog {
    /// One entry of the log, and a reason to refresh some live objects.
    struct Event: Sendable, ChangedRows {
        enum Cause: Sendable {
            /// This context has edited objects, and already shows the edits.
            case edits(Int)
            /// The layer of this context has changed in another way: a child has saved into it, or changes were moved
            /// up, removed or rebased.
            case layer(Int)
            /// The store has reached this number by a commit of one context, which took the layers of some contexts as
            /// a whole. The context is nil for commits of other processes, which were found in the file.
            case commit(Int64, by: Int?, taking: Set<Int>)
        }

        let number: Int
        let cause: Cause
        /// The affected rows, by entity.
        private(set) var rows: [Int: any AnyRowChanges]
        /// For a commit, the rows whose result differs from the committing context's version.
        private(set) var rewritten: [Int: any AnyRowChanges] = [:]
        private(set) var rowCount: Int
        /// False if rows other than these are affected, too.
        private(set) var isComplete = true
        /// Affected rows that are not among `rows`; nil if they are not known, so that live objects must check
        /// themselves.
        private(set) var unread: [Int: IDRanges]? = [:]

        init(number: Int, _ cause: Cause, _ rows: [Int: any AnyRowChanges]) {
            self.number = number
            self.cause = cause
            self.rows = rows
            rowCount = rows.values.reduce(0) { $0 + $1.ids.count }
        }

        init(number: Int, commit record: CommitRecord) {
            // A change that the commit has dropped is not among its rows, but contexts have shown it.
            let rows = record.rows.merging(record.rewritten) { known, part in
                part.ids.contains { known.index(of: $0) == nil } ? part.replacing(by: known) : known
            }
            self.init(
                number: number,
                .commit(record.sequence, by: record.committer, taking: record.included),
                rows
            )
            rewritten = record.rewritten
            isComplete = record.isComplete
            unread = record.unread
        }

        /// Releases the rows, but keeps the event.
        mutating func forgetRows() {
            (rows, rewritten, rowCount, isComplete, unread) = ([:], [:], 0, false, nil)
        }
    }
}

extension CommitLog.Event {
    /// The rows that a context must refresh. From its own commit, these are only rows whose result differs.
    ///
    /// - Parameter seesSaved: whether the context sees changes that it has saved upward; otherwise the commit is new to
    ///   it.
    func parts(for context: Int, seesSaved: Bool) -> [Int: any AnyRowChanges] {
        if case .commit(_, context, _) = cause, seesSaved { rewritten } else { rows }
    }

    var isCommit: Bool {
        if case .commit = cause { true } else { false }
    }

    /// Whether a reader can see what the event has changed.
    ///
    /// - Parameter path: the reader's context and its parents; empty for the committed state.
    func isVisible(in path: [Int]) -> Bool {
        switch cause {
        case .edits(let context), .layer(let context): path.contains(context)
        case .commit: true
        }
    }

    /// Whether changes of some of these rows were removed from a layer, or put there by another context.
    func hasChangedLayer(of parts: [Int: any AnyRowChanges]) -> Bool {
        guard case .layer = cause else { return false }
        return parts.contains { entity, part in
            rows[entity].map { !part.ids.shared(with: $0.ids).isEmpty } ?? false
        }
    }

    /// Whether this is a commit that took the whole layer of a context.
    func isTaking(_ context: Int) -> Bool {
        if case .commit(_, _, let taken) = cause { taken.contains(context) } else { false }
    }
}
