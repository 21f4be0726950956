import Tracing

/// Measures one write into the store. Used by one thread.
final class WriteWatch {
    /// The trace of the caller; nil if the write makes no span.
    let trace: ServiceContext?
    private let start = ContinuousClock.now
    private var begin: ContinuousClock.Instant?

    init(trace: ServiceContext? = nil) { self.trace = trace }

    /// Records that the writer is free and the transaction has begun.
    func hasBegun() { begin = .now }

    /// The time from the start until now.
    var duration: Duration { start.duration(to: .now) }
    /// The time from the start until the writer was free.
    var waiting: Duration { begin.map(start.duration(to:)) ?? .zero }
}

/// A kind of write into a store.
enum WriteKind: String, CaseIterable {
    case commit
    case batch
}

/// The outcome of a write.
struct WriteOutcome {
    let sequence: Int64
    let rows: RowCounts
}

/// The number of inserted, updated and deleted rows.
struct RowCounts {
    private(set) var inserted = 0
    private(set) var updated = 0
    private(set) var deleted = 0

    var total: Int { inserted + updated + deleted }

    /// - Parameter parts: the row changes that a commit has written.
    init(_ parts: some Sequence<any AnyRowChanges>) {
        for part in parts {
            for index in part.ids.indices {
                switch part.kind(at: index) {
                case .insert: inserted += 1
                case .delete: deleted += 1
                case .update, .updateOfDeleted, .undelete: updated += 1
                case .cancelledInsert: break
                }
            }
        }
    }

    init(_ changes: CommitChanges) {
        for table in changes.tables.values {
            inserted += table.inserted.count
            deleted += table.deleted.count
            updated += table.updated.values.reduce(0) { $0 + $1.count }
        }
    }
}
