/// Measures one write into the store. Used by one thread.
final class WriteWatch {
    private let start = ContinuousClock.now
    private var begin: ContinuousClock.Instant?

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

    var plural: String { self == .commit ? "commits" : "batches" }
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
