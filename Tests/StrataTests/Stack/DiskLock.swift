import CStrataSQLite
import Foundation
import Testing

/// Simulates a slow or failing disk: a separate connection that keeps every other writer of a file waiting.
final class DiskLock {
    private let connection: OpaquePointer

    /// Takes the write lock.
    init(_ file: URL) throws {
        var pointer: OpaquePointer?
        try #require(sqlite3_open(file.path, &pointer) == SQLITE_OK)
        connection = try #require(pointer)
        sqlite3_busy_timeout(connection, 5_000)
        try run("BEGIN IMMEDIATE")
    }

    deinit { sqlite3_close_v2(connection) }

    func run(_ sql: String) throws {
        try #require(sqlite3_exec(connection, sql, nil, nil, nil) == SQLITE_OK, "\(sql)")
    }

    /// Releases the lock.
    func release() throws { try run("ROLLBACK") }
}
