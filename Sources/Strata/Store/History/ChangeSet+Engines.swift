extension ChangeSet {
    /// Whether the commit has inserted, updated or deleted this object.
    ///
    /// - Complexity: O(log changed rows) for each different set of changed columns.
    package func contains<Object: Model>(_ id: ObjectID<Object>) -> Bool {
        guard let changes = changes.tables[Object._$schema.table] else { return false }
        let number = id.rawValue
        return changes.inserted.contains(number) || changes.deleted.contains(number)
            || changes.updated.values.contains { $0.contains(number) }
    }
}

/// The rows of one table that a commit has changed.
package struct ChangedTable: Sendable {
    /// The name of the table.
    package let name: String
    package let inserted: IDRanges
    package let deleted: IDRanges
    /// The updated rows, by the names of the columns that were set.
    package let updated: [(columns: [String], ids: IDRanges)]
}

extension ChangedTable {
    /// The updated rows, without those that the commit has also inserted or deleted. A row that was updated in several
    /// sets of columns counts once.
    ///
    /// - Complexity: O(ranges × log ranges).
    package var updatedRows: IDRanges {
        IDRanges.union(of: updated.map { $0.ids }).subtracting(inserted).subtracting(deleted)
    }
}

extension ChangeSet {
    /// The changed rows of all tables, in alphabetical order, for readers that do not have the models.
    package var changedTables: [ChangedTable] { changes.changedTables }
}

extension CommitChanges {
    /// The changed rows of all tables, in alphabetical order.
    var changedTables: [ChangedTable] {
        tables.sorted { $0.key.precedesByBytes($1.key) }.map { name, changes in
            ChangedTable(
                name: name,
                inserted: changes.inserted,
                deleted: changes.deleted,
                updated: changes.updated.map { (columns: $0.key.sortedByBytes(), ids: $0.value) }.sorted {
                    $0.columns.lexicographicallyPrecedes($1.columns)
                }
            )
        }
    }
}
