public import Logging

extension ContextStack {
    /// Opens a store and sets up the contexts above the store.
    ///
    /// If the file does not exist, this call creates it. An existing file is opened if it is a Strata store that is not
    /// newer than this version. A store of earlier versions of these models is migrated first, in one transaction: see
    /// ``Migration``. In all other cases the file stays unchanged. With ``StoreConfiguration/isReadOnly``, this call
    /// neither creates nor migrates a file.
    ///
    /// - Parameters:
    ///   - location: where the data is kept; without it, ``StoreLocation/userData``.
    ///   - models: all models, including the destinations of relationships. With
    ///     ``StoreConfiguration/allowsUnopenedModels``, some of them.
    ///   - stack: the contexts that the stack begins with.
    ///   - configuration: the settings of the store.
    ///   - migration: the migration steps that stores of earlier versions need in addition to Strata's automatic steps.
    ///   - mergePolicy: the initial merge policy of the contexts: how they resolve changes of the same columns by
    ///     others.
    ///   - author: the author that the history records for commits of this stack; a context may have another author.
    ///   - logger: logs dropped unsaved changes, failures that no caller waits for, migrations at the level `info`, and
    ///     commits at the level `debug`.
    ///   - diagnostics: optional further reports: SQL statements, slow statements, metrics, and spans. Off by default.
    /// - Isolation: callable from anywhere; a separate queue waits for the disk.
    /// - Throws: ``StrataError`` with `invalidSchema`, `schemaMismatch`, `notUnique`, `notAStore`, `newerStore`,
    ///   `damagedStore`, `readOnly`, `cannotOpen`, `busy` or `diskFull`; `invalidArgument` for a value of
    ///   `configuration` or `migration` that is out of its bounds; `missingReference` if a migration deletes rows
    ///   that foreign keys of your own tables in a shared pool refer to; errors of a migration step;
    ///   `CancellationError` if the task is cancelled during the migration, which leaves the store as it was.
    public static func open(
        _ location: StoreLocation = .userData,
        models: [any Model.Type],
        stack: StackSetUp = .standard,
        configuration: StoreConfiguration = StoreConfiguration(),
        migration: Migration = Migration(),
        mergePolicy: MergePolicy = .error,
        author: String? = nil,
        logger: Logger = Logger(label: "strata"),
        diagnostics: Diagnostics = Diagnostics()
    ) async throws -> ContextStack {
        let cancellation = Cancellation()
        let store = try await withTaskCancellationHandler {
            try await Disk.run {
                try Store(
                    location,
                    schema: try Schema(models, isPartial: configuration.allowsUnopenedModels),
                    configuration: configuration,
                    migration: migration,
                    cancellation: cancellation,
                    telemetry: Telemetry(logger, diagnostics, path: location.path)
                )
            }
        } onCancel: {
            cancellation.cancel()
        }
        return ContextStack(setUp: stack, engine: store, mergePolicy: mergePolicy, author: author) {
            logger.log(level: $0, "\($1)")
        }
    }

    /// An id that no object has or will have, for rows that raw SQL inserts outside of Strata.
    ///
    /// - Throws: ``StrataError`` if the store cannot reserve ids; `readOnly`; `closed`.
    public func newID<Object: Model>(for model: Object.Type) throws -> ObjectID<Object> {
        try core.engine.checkOpen()
        _ = try core.engine.schema.index(of: model)
        try core.engine.checkWritable()
        return ObjectID(rawValue: try core.engine.ids.take(), fingerprint: core.engine.ids.fingerprint)
    }
}
