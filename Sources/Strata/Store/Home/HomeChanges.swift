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
        try bytes.withUnsafeBytes { bytes in
            var reader = ChangesetReader(bytes)
            while let row = try reader.next() { try body(row.table, row.change) }
        }
    }
}
