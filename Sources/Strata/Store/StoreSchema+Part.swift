/// The check of a store by a stack that opens only some of its models.
extension StoreSchema {
    /// Checks that the store has the tables of the opened models. Reads only.
    ///
    /// Tables of other models, and the description that the store records, do not matter. So a stack that opens all
    /// models and a stack that opens some of them accept the same store.
    ///
    /// - Throws: ``StrataError`` with `notAStore`, `newerStore`, `damagedStore`, or `schemaMismatch`.
    static func checkPart(
        _ schema: Schema,
        _ migration: Migration,
        _ state: StoreState,
        on connection: Connection
    ) throws {
        guard state.isStore else { throw noStoreForPart }
        guard let record = state.record, record.format >= StoreFile.formatVersion else {
            throw partMismatch([earlierFormat], isEarlier: true)
        }
        try checkFormat(record)
        // A program that opens some models may not know the migration of the others.
        if migration.version > 0 || !migration.steps.isEmpty { try checkVersion(record, migration) }
        let steps = migration.steps.map(\.name).filter { !record.steps.contains($0) }
        guard steps.isEmpty else { throw partMismatch(steps.map(notRun), isEarlier: true) }
        let old = try SchemaDescription(parsing: record.description)
        if !isUnchanged(state.entries.own(old), record) { try StoreDifference(state, old, on: connection).check() }
        let differences = schema.description.differences(fromPartOf: old)
        guard differences.isEmpty else { throw partMismatch(differences, isEarlier: false) }
    }

    static var noStoreForPart: StrataError {
        StrataError(
            .notAStore,
            "There is no store yet, and a stack with `allowsUnopenedModels` does not create one. Open it with all "
                + "models first."
        )
    }
}
