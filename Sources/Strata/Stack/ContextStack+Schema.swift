extension ContextStack {
    /// A description of a store with these models, as text.
    ///
    /// The text has a paragraph for each model and a line for each column, always in the same order. If you keep the
    /// text in a file with the source code, code reviews show how a change of the models affects stores.
    ///
    /// - Throws: ``StrataError`` with `invalidSchema`.
    public static func schemaText(of models: [any Model.Type]) throws -> String { try Schema(models).text }

    /// The description that the last migration recorded in a store.
    ///
    /// Nil if the store does not exist, or if it was created before descriptions were recorded.
    ///
    /// - Throws: ``StrataError`` with `cannotOpen`, `notAStore`, `newerStore`, `damagedStore`.
    public static func schemaText(in location: StoreLocation) async throws -> String? {
        try await StoreInspection.read(location) { try StoreState(on: $0).record?.description } ?? nil
    }
}
