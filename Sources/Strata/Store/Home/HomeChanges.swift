import CStrataSQLite
public import Foundation

/// The rows that a transaction of a shared store has changed: each row once, with its values before and after.
///
/// The bytes have the [format of the changesets](https://www.sqlite.org/session/changesetformat.html) of SQLite's
/// session extension. A home keeps the bytes for the other nodes, and reads the rows to keep its own tables up to date.
public struct HomeChanges: Sendable, Hashable {
    /// A change of a row.
    public enum Change: Sendable, Hashable {
        /// The values of all columns of a new row.
        case insert([StoredValue])
        /// The values of a row's columns before and after the change; nil for a column that is unchanged. The id, which
        /// is the first column and never changes, has its value in `before` only.
        case update(before: [StoredValue?], after: [StoredValue?])
        /// The values of all columns of a deleted row.
        case delete([StoredValue])
    }

    /// The changeset.
    public let bytes: Data

    /// Takes the bytes of a changeset, for instance those that a home has kept.
    public init(bytes: Data) { self.bytes = bytes }

    /// Whether no row has changed.
    public var isEmpty: Bool { bytes.isEmpty }

    /// Calls a function for each changed row. The rows of one table come one after another.
    ///
    /// Complexity: linear in the number of bytes.
    ///
    /// - Parameter body: receives the name of the table and the change.
    /// - Throws: `damagedStore` if the bytes are no changeset, after calls for the rows before the damage. Errors of
    ///   `body`.
    public func forEach(_ body: (_ table: String, _ change: Change) throws -> Void) throws {
        guard let count = Int32(exactly: bytes.count) else { throw Self.damaged(SQLITE_TOOBIG) }
        try bytes.withUnsafeBytes { bytes in
            var iterator: OpaquePointer?
            // SQLite does not write into the bytes.
            let start = UnsafeMutableRawPointer(mutating: bytes.baseAddress)
            let code = sqlite3changeset_start(&iterator, count, start)
            guard code == SQLITE_OK else { throw Self.damaged(code) }
            // The code that ends the steps is also the result of the release.
            defer { sqlite3changeset_finalize(iterator) }
            while true {
                switch sqlite3changeset_next(iterator) {
                case SQLITE_ROW:
                    let row = try Self.row(at: iterator)
                    try body(row.table, row.change)
                case SQLITE_DONE: return
                case let code: throw Self.damaged(code)
                }
            }
        }
    }

    private static func row(at iterator: OpaquePointer?) throws -> (table: String, change: Change) {
        var (name, columns, operation): (UnsafePointer<CChar>?, Int32, Int32) = (nil, 0, 0)
        let code = sqlite3changeset_op(iterator, &name, &columns, &operation, nil)
        guard code == SQLITE_OK, let name else { throw damaged(code) }
        let table = String(cString: name)
        switch operation {
        case SQLITE_INSERT:
            return (table, .insert(try values(iterator, columns, sqlite3changeset_new).map { $0 ?? .null }))
        case SQLITE_DELETE:
            return (table, .delete(try values(iterator, columns, sqlite3changeset_old).map { $0 ?? .null }))
        default:
            let before = try values(iterator, columns, sqlite3changeset_old)
            let after = try values(iterator, columns, sqlite3changeset_new)
            return (table, .update(before: before, after: after))
        }
    }

    private typealias Getter = (OpaquePointer?, Int32, UnsafeMutablePointer<OpaquePointer?>?) -> Int32

    private static func values(_ iterator: OpaquePointer?, _ count: Int32, _ get: Getter) throws -> [StoredValue?] {
        try (0..<count).map { column in
            var value: OpaquePointer?
            let code = get(iterator, column, &value)
            guard code == SQLITE_OK else { throw damaged(code) }
            return value.map { RowReader.value($0) }
        }
    }

    private static func damaged(_ code: Int32) -> StrataError {
        StrataError(
            .damagedStore,
            "The changes of a transaction of the store's home are damaged: \(String(cString: sqlite3_errstr(code)))."
        )
    }
}
