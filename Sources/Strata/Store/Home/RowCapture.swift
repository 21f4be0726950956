import CStrataSQLite
import Foundation

/// Collects the rows that transactions of a connection change, with SQLite's session extension.
///
/// Only tables of models, their external bytes and the history are collected. Strata's other tables describe the file
/// itself, and full-text indexes follow from the rows.
///
/// Isolation: used inside the database's writer.
final class RowCapture {
    private let connection: OpaquePointer
    private let tables: Set<UTF8Text>
    private var session: OpaquePointer?

    init(of tables: some Sequence<String>, on connection: Connection) {
        self.connection = connection.pointer
        self.tables = Set(tables.map { UTF8Text($0) })
    }

    deinit { stop() }

    /// Begins to collect. Called in a transaction, before its first write.
    func start() throws {
        stop()
        try check(sqlite3session_create(connection, "main", &session))
        sqlite3session_table_filter(
            session,
            { context, name in
                guard let context, let name else { return 0 }
                let capture = Unmanaged<RowCapture>.fromOpaque(context).takeUnretainedValue()
                return capture.tables.contains(UTF8Text(String(cString: name))) ? 1 : 0
            },
            Unmanaged.passUnretained(self).toOpaque()
        )
        // A name of nil means all tables that the filter accepts, each from its first change on.
        try check(sqlite3session_attach(session, nil))
    }

    /// Ends the collection, and returns the changes since its start. Called in the same transaction, after its last
    /// write.
    ///
    /// Complexity: reads each changed row once.
    func finish() throws -> HomeChanges {
        defer { stop() }
        var (count, bytes): (Int32, UnsafeMutableRawPointer?) = (0, nil)
        try check(sqlite3session_changeset(session, &count, &bytes))
        defer { sqlite3_free(bytes) }
        return HomeChanges(bytes: bytes.map { Data(bytes: $0, count: Int(count)) } ?? Data())
    }

    /// Ends the collection.
    func stop() {
        if let session { sqlite3session_delete(session) }
        session = nil
    }

    private func check(_ code: Int32) throws {
        if code != SQLITE_OK { throw StrataError(sqlite: code, connection: nil) }
    }
}

extension Connection {
    /// Writes the rows of tables anew in which an earlier migration has added a column with a default.
    ///
    /// SQLite stores the default with the table, and not in the rows from before. To the session extension, they seem to
    /// have NULL there (found with SQLite 3.40.1), so other nodes would take the rows for different ones. Each row has its
    /// version, whose default is as old as the table.
    ///
    /// Complexity: O(rows of these tables).
    func storeDefaults(in tables: [HomeTable]) throws {
        for table in tables {
            let found = try value(
                "SELECT \"name\" FROM pragma_table_info(?) "
                    + "WHERE \"dflt_value\" <> 'NULL' AND \"name\" <> '_version' LIMIT 1",
                [.text(table.name)]
            )
            guard case .text(let name) = found else { continue }
            let column = name.quotedIdentifier
            try execute("UPDATE \(table.name.quotedIdentifier) SET \(column) = \(column)")
        }
    }
}
