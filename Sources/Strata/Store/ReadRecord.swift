import CStrataSQLite

/// The reads of a context. A commit can require that everything the context has read is still unchanged.
///
/// Isolation: that of its context.
final class ReadRecord {
    private var entities: Set<Int> = []
    private var since: Int64?
    private(set) var isStale = false

    func note(_ statement: Statement) { if !statement.entities.isEmpty { entities.formUnion(statement.entities) } }

    /// Notes that the context reads another snapshot from now on. If the data it has read is unchanged between the two
    /// snapshots, its earlier reads are also valid in the new one.
    ///
    /// - Parameter cursor: the last event of the layers before the snapshot that the context has read until now.
    func begin(_ matched: LayerRegistry.MatchedLayers, after cursor: Int, _ layers: LayerRegistry) {
        defer { since = matched.sequence }
        guard let reads = reads(cursor), matched.sequence != reads.since else { return }
        // A commit in flight has not produced an event yet.
        isStale = isStale || matched.inFlight != nil || layers.state.withLock { $0.areStale(reads) }
    }

    /// The reads so far; nil if the context has read nothing.
    ///
    /// - Parameter cursor: the last event of the layers that the context has seen.
    func reads(_ cursor: Int) -> ContextReadSet? {
        since.map { ContextReadSet(entities: entities, since: $0, cursor: cursor, isStale: isStale) }
    }
}

/// The tables that a context has read. Each table counts as a whole.
struct ContextReadSet: Sendable {
    let entities: Set<Int>
    /// The number of the last commit that its reads have seen.
    let since: Int64
    /// The last event of the layers that the context has seen.
    let cursor: Int
    /// Whether some of the data had already changed at that time.
    let isStale: Bool
}

/// The data that a commit depends on has changed since it was read, or must be read again for another reason.
package struct StaleReads: Error {
    package init() {}
}

extension LayerRegistry.State {
    /// Whether commits have changed any table that a context has read, since it read that table.
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

/// Records which entities the statements of a connection read. SQLite reports them while it prepares the statements.
///
/// See "Compile-Time Authorization Callbacks" in https://www.sqlite.org/c3ref/set_authorizer.html. SQLite reports every
/// read of a table, also in a statement that was written by hand.
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

    /// Listens to a connection until the connection is closed. This object must live as long as the connection.
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

    /// If a statement reads no column of a table, SQLite passes the table's name in the statement's spelling. Names are
    /// therefore compared in lowercase.
    private func note(_ table: String) { if let entity = entities[table.lowercased()] { found.insert(entity) } }

    /// Returns the entities that were read since the last call.
    func take() -> Set<Int> {
        defer { found = [] }
        return found
    }
}
