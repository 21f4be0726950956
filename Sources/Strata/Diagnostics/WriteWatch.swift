/// Measures one write into the store. Used by one thread.
final class WriteWatch {
    private let start = ContinuousClock.now
    private var begin: ContinuousClock.Instant?

    /// The writer is free, and the transaction has begun.
    func hasBegun() { begin = .now }

    /// Until now.
    var duration: Duration { start.duration(to: .now) }
    /// Until the writer was free.
    var waiting: Duration { begin.map(start.duration(to:)) ?? .zero }
}

/// What writes into a store.
enum WriteKind: String, CaseIterable {
    case commit
    case batch

    var plural: String { self == .commit ? "commits" : "batches" }
}

/// What a write has come to.
struct WriteOutcome {
    let sequence: Int64
    let rows: RowCounts
}

/// How many rows were written, each in its way.
struct RowCounts {
    private(set) var inserted = 0
    private(set) var updated = 0
    private(set) var deleted = 0

    var total: Int { inserted + updated + deleted }

    /// - Parameter parts: rows as a commit has written them.
    init(_ parts: some Sequence<any AnyPart>) {
        for part in parts {
            for index in part.numbers.indices {
                switch part.kind(at: index) {
                case .insert: inserted += 1
                case .delete: deleted += 1
                case .update, .orphan, .restore: updated += 1
                case .withdrawn: break
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
