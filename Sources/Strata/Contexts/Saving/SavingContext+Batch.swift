extension SavingContext {
    /// Sets columns of all objects that a query finds, directly in the store and without loading the objects.
    ///
    /// ```swift
    /// try context.batchUpdate(Article.where { $0.views > 1000 }) { $0.views.set(to: $0.views - 1000) }
    /// ```
    ///
    /// A batch is a separate, atomic commit. It changes committed rows, ignores unsaved changes of all contexts, and is
    /// on disk when the call returns.
    ///
    /// The batch validates rows, sets timestamps, and notifies observers like any other commit. Objects that live in a
    /// context show the new values. An unsaved edit of the same column is a conflict when it is saved. Life cycle hooks
    /// do not run. Unique values are checked row by row, so a batch can neither shift nor swap them.
    ///
    /// - Returns: the changes of this model.
    /// - Throws: ``StrataError`` with `invalidQuery`, `validation`, `notUnique`, `missingReference`, and errors of the
    ///   store.
    /// - Complexity: O(objects) in time; one number per object in memory.
    @discardableResult
    public func batchUpdate<Object: Model>(
        _ query: Query<Object>,
        _ assignment: (Object.Columns) -> Assignment<Object>
    ) throws -> ObjectChanges<Object> {
        try batchUpdate(query) { [assignment($0)] }
    }

    /// Sets several columns of all objects that a query finds; otherwise like the variant for one column.
    @discardableResult
    public func batchUpdate<Object: Model>(
        _ query: Query<Object>,
        _ assignments: (Object.Columns) -> [Assignment<Object>]
    ) throws -> ObjectChanges<Object> {
        let assignments = assignments(Object.columns)
        return try batch(Object.self) { try $0.update(query, assignments, $1) }
    }

    /// Deletes all objects that a query finds, directly in the store and without loading them, and applies their delete
    /// rules.
    ///
    /// A batch delete is a separate commit, like ``batchUpdate(_:_:)-(_,(Object.Columns)->Assignment<Object>)``.
    ///
    /// - Returns: the deleted objects of this model. ``ContextStack/changes(since:)`` also reports the objects that
    ///   delete rules deleted or changed.
    /// - Throws: ``StrataError`` with `invalidQuery`, `deleteDenied`, `validation`; `unopenedModel` if the deletes
    ///   would concern objects of models that the stack does not open; errors of the store.
    @discardableResult
    public func batchDelete<Object: Model>(_ query: Query<Object>) throws -> ObjectChanges<Object> {
        try batch(Object.self) { [store] job, _ in try job.delete(query, unopened: store.unopened) }
    }

    /// Inserts rows directly into the store, without objects, and assigns ids to them.
    ///
    /// ```swift
    /// try context.batchInsert(lines.lazy.map { Article(title: $0).snapshot })
    /// ```
    ///
    /// A batch insert is a separate commit, like ``batchUpdate(_:_:)-(_,(Object.Columns)->Assignment<Object>)``. It
    /// takes the rows one by one, so a lazy sequence of any length needs little memory. It takes them while it writes
    /// to the store. The code that produces the rows must therefore use neither the stack nor its contexts.
    ///
    /// In a row, a to-one relationship is an id. Do not set the relationship of an object to an inserted object,
    /// because that inserts both objects. Set the id in the row instead:
    ///
    /// ```swift
    /// let id = author.id
    /// try context.batchInsert(lines.lazy.map { line in
    ///     var row = Article(title: line).snapshot
    ///     row.author = id
    ///     return row
    /// })
    /// ```
    ///
    /// Rows from another store are accepted if they do not refer to objects of the other store.
    ///
    /// - Throws: ``StrataError`` with `validation`, `notUnique` or `missingReference`; `idOfOtherStore` for a row that
    ///   refers to an object of another store; `invalidState` for a row of an object that is inserted and not saved, in
    ///   this context or a parent, and for a row of another store whose external bytes were not read there; errors of
    ///   the store.
    @discardableResult
    public func batchInsert<Row: ModelRow>(_ rows: some Sequence<Row>) throws -> ObjectChanges<Row.Object> {
        try insert(rows, upsert: nil)
    }

    /// Inserts rows, or updates the objects that already have the same value in a unique column.
    ///
    /// An existing object keeps its id and its `createdAt`, and gets all other values of the row. A batch upsert is a
    /// separate commit, like ``batchInsert(_:)``. If several rows have the same unique value, the last one wins.
    ///
    /// A model with an attribute that is stored outside the row (`.externalStorage`) is refused. Change its objects in
    /// a context, or use ``ContextStack/importJSONLines(from:matching:progress:)``.
    ///
    /// - Parameters:
    ///   - rows: the rows to insert, or to update existing objects with.
    ///   - columns: the name of the unique column, or the names of the columns that are unique together.
    /// - Throws: the errors of ``batchInsert(_:)``, and ``StrataError`` with `invalidQuery` if the columns are not
    ///   unique, or if the model has an attribute that is stored outside the row.
    @discardableResult
    public func batchUpsert<Row: ModelRow>(
        _ rows: some Sequence<Row>,
        by columns: String...
    ) throws -> ObjectChanges<Row.Object> {
        try insert(rows, upsert: columns)
    }

    private func insert<Row: ModelRow>(
        _ rows: some Sequence<Row>,
        upsert columns: [String]?
    ) throws -> ObjectChanges<Row.Object> {
        try batch(Row.Object.self) { job, entity in
            try job.insert(rows, entity, upsert: columns) { row in
                if isPending(row, entity) {
                    throw Self.pendingError(row, entity.info, columns == nil ? "batchInsert" : "batchUpsert")
                }
            }
        }
    }

    /// Whether a row belongs to an object that is inserted and not saved, in this context or a parent. The closure that
    /// produces the rows may have just inserted the object.
    ///
    /// - Complexity: O(layers · log changes).
    private func isPending<Row: ModelRow>(_ row: Row, _ entity: Entity<Row>) -> Bool {
        guard row.id.isAssigned, row.id.fingerprint == store.ids.fingerprint else { return false }
        let (number, index) = (row.id.rawValue, entity.info.index)
        if let object = live.identity[number, Row.Object.self] as? Row.Object,
            tracker(Row.Object.self, index).hasInserted(object)
        {
            return true
        }
        let layers = store.layers.state.withLock { $0.layers }
        return layers.path(to: id).contains { context in
            layers.hasInserted(number, entity: index, in: context)
        }
    }

    private static func pendingError<Row: ModelRow>(_ row: Row, _ info: EntityInfo, _ call: String) -> StrataError {
        let related = info.outgoing.first { (try? row._$value(at: $0.column)) ?? .null != .null }
        let remedy =
            if let name = related.map({ info.columns[$0.column].name }) {
                "Setting \(name) to an inserted object has inserted it too. Set the id in the row instead: "
                    + "`var row = \(info.name)(…).snapshot; row.\(name) = \(name).id`."
            } else {
                "Pass rows of objects that do not belong to a context: `\(info.name)(…).snapshot`."
            }
        return StrataError(
            .invalidState,
            "\(call) received the row of an object that is already inserted and not saved, which would store it "
                + "twice. \(remedy) Roll back the objects that were inserted for rows.",
            details: [
                StrataError.Detail(model: info.name, id: row.id.rawValue, message: "is inserted and not saved")
            ]
        )
    }

    private func batch<Object: Model>(
        _ model: Object.Type,
        _ body: (BatchJob, Entity<Object.Row>) throws -> Void
    ) throws -> ObjectChanges<Object> {
        let entity = try store.schema.entity(model)
        return try runBatch { try body($0, entity) }.of(model)
    }

    /// Changes the committed objects that a query finds by an engine's statements, as a batch of this context does: in
    /// a separate commit, without their unsaved changes. Hooks do not run for this commit.
    ///
    /// - Parameter body: the engine's writes. It receives the ids of the objects, in ascending order.
    /// - Throws: the errors of ``batchUpdate(_:_:)-(_,(Object.Columns)->Assignment<Object>)``; errors thrown by `body`,
    ///   after which nothing is changed.
    /// - Complexity: O(objects), and one id per object in memory, besides the work of `body`.
    package func engineBatch<Object: Model>(
        over query: Query<Object>,
        _ body: (StoreTransaction, _ ids: [Int64]) throws -> Void
    ) throws {
        _ = try runBatch(runsHooks: false) { job in
            let info = try job.gather(query)
            let transaction = StoreTransaction(job)
            let ids = Array(try job.gatheredIDs(of: info.index))
            try store.passing { try body(transaction, ids) }
            transaction.finish()
        }
    }

    /// Runs a batch, and refreshes the context with its changes.
    ///
    /// - Parameter runsHooks: whether engines write their derived changes in the same transaction, after the batch.
    func runBatch(runsHooks: Bool = true, _ body: (BatchJob) throws -> Void) throws -> ChangeSet {
        guard !isEnded else { throw Self.endedError }
        guard !saving.isRunning else {
            throw StrataError(
                .invalidState,
                "This context is being saved already. Run the batch after the save has returned."
            )
        }
        try checkNoSavepoint()
        try checkCommits()
        let changes = try store.batch(author: author, for: reference.label, runsHooks: runsHooks, body)
        if reading.isPinned { try acquireSnapshot() } else { lookAgain() }
        return changes
    }
}
