/// A model whose rows have a life of their own in the store, by an engine that keeps their books.
///
/// Whatever commits changes of such objects, in whichever process, the engine's rules hold as soon as the commit is there: what
/// follows from the changes is written in the same transaction.
package protocol CommitFollower: Model {
    /// Called inside the transaction of each commit and batch that has changed rows of this model, after they are written.
    ///
    /// What it writes is a commit of its own, behind the other one: both are in the store, or none. What it throws refuses both.
    static func follow(_ commit: FollowedCommit<Row>, in transaction: StoreTransaction) throws

    /// Temporary triggers for what must hold whichever statement writes: they refuse what must never be in the store, or take along what
    /// goes with a row. They are made, by statements that may find them there already, on the connection that writes. None by default.
    static var guards: [String] { get }
}

/// What a commit has done to the rows of one model.
package struct FollowedCommit<Row: ModelRow> {
    /// The ids of the rows that were inserted, in ascending order.
    package let inserted: [Int64]
    /// The ids of the rows that were updated, in ascending order.
    package let updated: [Int64]
    /// The ids of the rows that were deleted, in ascending order.
    package let deleted: [Int64]
    /// The deleted rows as they were last seen by who has deleted them; nil where they were not loaded, as by a batch.
    package let deletedRows: [Row]?
    private let updatedColumns: [[String]: NumberRuns]

    /// The ids of the rows of which a column was set.
    package func updated(_ column: String) -> [Int64] {
        updatedColumns.filter { $0.key.contains(column) }.values.flatMap { Array($0) }
    }

    init(_ changes: TableChanges, _ part: Part<Row>?) {
        updatedColumns = changes.updated
        inserted = Array(changes.inserted)
        let deleted = Array(changes.deleted)
        self.deleted = deleted
        updated = Array(changes.updated.values.reduce(NumberRuns()) { $0.union($1) })
        // No key path: it would be made anew for each commit of a generic type.
        deletedRows = part.map { part in
            deleted.isEmpty ? [] : part.changes.lazy.filter { $0.kind == .delete }.map { $0.row }
        }
    }
}

extension CommitFollower {
    package static var guards: [String] { [] }

    /// The same for whoever does not know the type.
    static func follow(_ changes: TableChanges, _ part: (any AnyPart)?, in transaction: StoreTransaction) throws {
        try follow(FollowedCommit(changes, part?.typed(Row.self)), in: transaction)
    }
}
