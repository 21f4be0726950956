import CStrataSQLite

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

/// The data that a commit depends on has changed since it was read, or must be read again for another reason.
package struct StaleReads: Error {
    package init() {}
}
