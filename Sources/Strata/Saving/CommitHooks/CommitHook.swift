/// A model whose rows an engine maintains in the store.
///
/// Every commit that changes such rows, from any process, leaves the engine's rules satisfied. The engine writes its
/// consequences of the changes in the same transaction.
package protocol CommitHook: Model {
    /// Called inside the transaction of each commit and batch that has changed rows of this model, after those rows are
    /// written.
    ///
    /// The engine's writes form a separate commit after the triggering one. The transaction stores both commits or
    /// neither. An error thrown here refuses both.
    static func afterWrite(_ commit: ModelChanges<Row>, in transaction: StoreTransaction) throws

    /// Temporary triggers for rules that must hold for every statement that writes.
    ///
    /// The triggers refuse rows that the store must never contain, or write the consequences of a row along with it.
    /// They are created on the connection that writes. Each statement must succeed if its trigger already exists. The
    /// default is an empty array.
    static var guards: [String] { get }

    /// Statements that free the rows of a copied store from the processes that work on the original.
    ///
    /// A backup runs them in the copy, before any stack can open it. The default is an empty array.
    static var copyStatements: [String] { get }

    /// Rules that all rows of the engine satisfy between commits. A check of the store reports rows that break one.
    /// The default is an empty array.
    static var consistencyRules: [ConsistencyRule] { get }
}

/// The changes of one commit to the rows of one model.
package struct ModelChanges<Row: ModelRow> {
    /// The ids of the rows that were inserted, in ascending order.
    package let inserted: [Int64]
    /// The ids of the rows that were updated, in ascending order.
    package let updated: [Int64]
    /// The ids of the rows that were deleted, in ascending order.
    package let deleted: [Int64]
    /// The deleted rows as the deleting context last saw them; nil if the rows were not loaded, for example in a batch.
    package let deletedRows: [Row]?
    private let updatedColumns: [[String]: IDRanges]

    /// The ids of the rows in which the commit set a column.
    package func updated(_ column: String) -> [Int64] {
        updatedColumns.filter { $0.key.contains(column) }.values.flatMap { Array($0) }
    }

    init(_ changes: TableChanges, _ part: RowChanges<Row>?) {
        updatedColumns = changes.updated
        inserted = Array(changes.inserted)
        let deleted = Array(changes.deleted)
        self.deleted = deleted
        updated = Array(changes.updated.values.reduce(IDRanges()) { $0.union($1) })
        // This is a closure and not a key path, because each commit of a generic type would create a new key path.
        deletedRows = part.map { part in
            deleted.isEmpty ? [] : part.changes.lazy.filter { $0.kind == .delete }.map { $0.row }
        }
    }
}

extension CommitHook {
    package static var guards: [String] { [] }
    package static var copyStatements: [String] { [] }
    package static var consistencyRules: [ConsistencyRule] { [] }

    /// The same for callers that do not know the row type.
    static func afterWrite(_ changes: TableChanges, _ part: (any AnyRowChanges)?, in transaction: StoreTransaction)
        throws
    {
        try afterWrite(ModelChanges(changes, part?.typed(Row.self)), in: transaction)
    }
}
