import CStrataSQLite

/// What a context reads of the store, kept for a commit that is to hold only as long as all of that is as it was read.
///
/// Isolation: that of its context.
final class ReadRecord {
    private var entities: Set<Int> = []
    private var since: Int64?
    private(set) var isStale = false

    func note(_ statement: Statement) { if !statement.entities.isEmpty { entities.formUnion(statement.entities) } }

    /// The context reads another snapshot from now on. Where nothing has changed in between of what it has read, all of it is as in this one.
    ///
    /// - Parameter cursor: the last event of the layers before the snapshot that it has read until now.
    func begin(_ pair: LayerStore.Pair, after cursor: Int, _ layers: LayerStore) {
        defer { since = pair.sequence }
        guard let reads = reads(cursor), pair.sequence != reads.since else { return }
        // A commit in flight is no event yet.
        isStale = isStale || pair.inFlight != nil || layers.state.withLock { $0.areStale(reads) }
    }

    /// What was read so far; nil where that is nothing.
    ///
    /// - Parameter cursor: the last event of the layers that the context has seen.
    func reads(_ cursor: Int) -> ContextReadSet? {
        since.map { ContextReadSet(entities: entities, since: $0, cursor: cursor, isStale: isStale) }
    }
}

/// The tables that a context has read, each as a whole.
struct ContextReadSet: Sendable {
    let entities: Set<Int>
    /// The number of the last commit that its reads have seen.
    let since: Int64
    /// The last event of the layers that the context has seen.
    let cursor: Int
    /// Whether some of it was something else already by then.
    let isStale: Bool
}

/// What was read has changed before the commit that stands on it, or is to be read once more for another reason.
package struct StaleReads: Error {
    package init() {}
}

extension LayerStore.State {
    /// Whether commits have changed any table that a context has read, since it has.
    ///
    /// Complexity: O(commits since).
    func areStale(_ reads: ContextReadSet) -> Bool {
        if reads.isStale { return true }
        guard sequence != reads.since, !reads.entities.isEmpty else { return false }
        guard let events = events(after: reads.cursor) else { return true }
        return events.contains { event in
            guard case .commit(let number, _, _) = event.cause, number > reads.since else { return false }
            guard let unread = event.unread else { return true }
            return reads.entities.contains { event.parts[$0] != nil || unread[$0] != nil }
        }
    }
}

/// Which entities the statements of a connection read, by what SQLite says of them while they are prepared.
///
/// See "Compile-Time Authorization Callbacks" in https://www.sqlite.org/c3ref/set_authorizer.html. Whatever reads a table, written by hand
/// or not, is known by that.
final class ReadTables {
    private let entities: [String: Int]
    private var found: Set<Int> = []

    init(_ all: [any AnyEntity]) {
        var entities: [String: Int] = [:]
        for info in all.map(\.info) {
            for table in [info.table, SearchSQL.table(of: info.table)] + SearchSQL.shadows(of: info.table) {
                entities[table.lowercased()] = info.index
            }
        }
        self.entities = entities
    }

    /// Listens to a connection until that is closed. This has to live as long.
    func register(on connection: OpaquePointer) {
        sqlite3_set_authorizer(
            connection,
            { tables, action, table, _, _, _ in
                if action == SQLITE_READ, let tables, let table {
                    Unmanaged<ReadTables>.fromOpaque(tables).takeUnretainedValue().note(String(cString: table))
                }
                return SQLITE_OK
            },
            Unmanaged.passUnretained(self).toOpaque()
        )
    }

    /// Where no column of a table is read, it is called as the statement calls it.
    private func note(_ table: String) { if let entity = entities[table.lowercased()] { found.insert(entity) } }

    /// Gives what was read since this was last asked.
    func take() -> Set<Int> {
        defer { found = [] }
        return found
    }
}
