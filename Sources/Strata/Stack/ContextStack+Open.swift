public import Logging

extension ContextStack {
    /// Opens a store and sets up the contexts above it.
    ///
    /// A file that does not exist is made. One that is there is opened if it is Strata's and no newer than this version. If
    /// it was made for earlier versions of these models, it is migrated first, in one transaction: see ``Migration``.
    /// Otherwise it is left as it is.
    ///
    /// - Parameters:
    ///   - location: where the data is kept; without it, ``StoreLocation/userData``.
    ///   - models: all models, those that relationships lead to among them.
    ///   - stack: which contexts the stack begins with.
    ///   - migration: what stores of earlier versions need beyond what Strata does by itself.
    ///   - mergePolicy: what contexts begin with: what they do when others have changed the same columns.
    ///   - author: who the history names for commits of this stack; a context may have another one.
    ///   - logger: told of unsaved changes that are dropped, and of failures that nobody waits for; of migrations at the level
    ///     `info`, and of commits at the level `debug`.
    ///   - diagnostics: what is told beyond that: statements of SQL, slow ones, and metrics. Nothing by default.
    /// - Isolation: callable from anywhere; the disk is waited for on a queue of its own.
    /// - Throws: ``StrataError`` with `invalidSchema`, `schemaMismatch`, `notUnique`, `notAStore`, `newerStore`,
    ///   `damagedStore`, `readOnly`, `cannotOpen`, `busy` or `diskFull`; `missingReference` where a migration takes from rows of
    ///   yours in a pool what their foreign keys lead to; what a step of the migration throws;
    ///   `CancellationError` when the task is cancelled while the store is migrated, which then is as it was.
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
                    schema: try Schema(models),
                    configuration: configuration,
                    migration: migration,
                    cancellation: cancellation,
                    telemetry: Telemetry(logger, diagnostics)
                )
            }
        } onCancel: {
            cancellation.cancel()
        }
        return ContextStack(setUp: stack, engine: store, mergePolicy: mergePolicy, author: author) {
            logger.log(level: $0, "\($1)")
        }
    }

    /// An id that no object has or will have, for rows that raw SQL inserts beside Strata.
    ///
    /// - Throws: ``StrataError`` where the store cannot reserve ids; `closed`.
    public func newID<Object: Model>(for model: Object.Type) throws -> ObjectID<Object> {
        try core.engine.checkOpen()
        _ = try core.engine.schema.index(of: model)
        return ObjectID(number: try core.engine.ids.take(), fingerprint: core.engine.ids.fingerprint)
    }
}
