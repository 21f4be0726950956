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
