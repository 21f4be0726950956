import Foundation
import GRDBSQLite

/// How far a commit goes before it returns.
enum Synchronous: String, Sendable {
    case normal = "NORMAL"
    case full = "FULL"
}

/// A connection by way of the C library, set up as Strata sets up its own.
final class Database {
    let pointer: OpaquePointer

    init(_ file: URL, _ synchronous: Synchronous = .normal) throws {
        var opened: OpaquePointer?
        let flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX
        guard sqlite3_open_v2(file.path, &opened, flags, nil) == SQLITE_OK, let opened else {
            sqlite3_close_v2(opened)
            throw BenchError("cannot open \(file.lastPathComponent)")
        }
        pointer = opened
        sqlite3_busy_timeout(pointer, 5_000)
        try execute("PRAGMA journal_mode=WAL; PRAGMA synchronous=\(synchronous.rawValue); PRAGMA cache_size=-64000")
    }

    deinit { sqlite3_close_v2(pointer) }

    func execute(_ sql: String) throws {
        guard sqlite3_exec(pointer, sql, nil, nil, nil) == SQLITE_OK else { throw failure(sql) }
    }

    func prepare(_ sql: String) throws -> Statement {
        var prepared: OpaquePointer?
        let flags = UInt32(SQLITE_PREPARE_PERSISTENT)
        guard sqlite3_prepare_v3(pointer, sql, -1, flags, &prepared, nil) == SQLITE_OK, let prepared else {
            throw failure(sql)
        }
        return Statement(pointer: prepared)
    }

    /// Runs the body in one transaction; an error of the body leaves it to the closing of the file.
    func transaction<Result>(_ begin: String = "BEGIN IMMEDIATE", _ body: () throws -> Result) throws -> Result {
        try execute(begin)
        let result = try body()
        try execute("COMMIT")
        return result
    }

    private func failure(_ sql: String) -> BenchError {
        BenchError("\(String(cString: sqlite3_errmsg(pointer))) in: \(sql.prefix(80))")
    }
}

/// A prepared statement with positional binding. Texts are bound where they lie, for the time of one step.
struct Statement: ~Copyable {
    let pointer: OpaquePointer

    deinit { sqlite3_finalize(pointer) }

    @inline(__always)
    func bind(_ number: Int64, at index: Int32) { sqlite3_bind_int64(pointer, index, number) }

    @inline(__always)
    func bind(_ number: Int, at index: Int32) { sqlite3_bind_int64(pointer, index, Int64(number)) }

    @inline(__always)
    func bind(_ number: Double, at index: Int32) { sqlite3_bind_double(pointer, index, number) }

    /// The bytes must stay where they are until the statement has run.
    @inline(__always)
    func bind(_ text: UnsafeBufferPointer<UInt8>, at index: Int32) {
        let bytes = UnsafeRawPointer(text.baseAddress)?.assumingMemoryBound(to: CChar.self)
        sqlite3_bind_text(pointer, index, bytes, Int32(text.count), nil)
    }

    /// Steps a statement that gives no rows, and makes it ready for the next values.
    @inline(__always)
    func run() throws {
        let code = sqlite3_step(pointer)
        sqlite3_reset(pointer)
        guard code == SQLITE_DONE else { throw BenchError("a statement ended with code \(code)") }
    }

    /// Whether there is a row; a statement that has no more is ready for the next values.
    @inline(__always)
    func step() throws -> Bool {
        let code = sqlite3_step(pointer)
        if code == SQLITE_ROW { return true }
        sqlite3_reset(pointer)
        guard code == SQLITE_DONE else { throw BenchError("a statement ended with code \(code)") }
        return false
    }

    @inline(__always)
    func reset() { sqlite3_reset(pointer) }

    @inline(__always)
    func integer(_ column: Int32) -> Int { Int(sqlite3_column_int64(pointer, column)) }

    @inline(__always)
    func real(_ column: Int32) -> Double { sqlite3_column_double(pointer, column) }

    @inline(__always)
    func text(_ column: Int32) -> String {
        let bytes = sqlite3_column_text(pointer, column)
        let count = Int(sqlite3_column_bytes(pointer, column))
        return String(decoding: UnsafeBufferPointer(start: bytes, count: count), as: UTF8.self)
    }
}
