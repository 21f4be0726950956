extension ObjectContext {
    /// Sets columns of all objects that a query finds, in the store, at once and without loading them.
    ///
    /// ```swift
    /// try context.batchUpdate(Article.where { $0.views > 1000 }) { $0.views.set(to: $0.views - 1000) }
    /// ```
    ///
    /// A commit of its own, of all or nothing: it works on the committed rows, not on unsaved changes of any context, and is on disk
    /// when it returns. Rows are validated, timestamps set, and everybody is told as of other commits; an object that lives in a
    /// context shows it, and an unsaved edit of the same column meets it as a conflict when it is saved. Life cycle hooks do
    /// not run. Unique values are checked row by row, so that they cannot be moved along or exchanged.
    ///
    /// - Returns: what was changed.
    /// - Throws: ``StrataError`` with `invalidQuery`, `validation`, `notUnique`, `missingReference`, and what the store reports.
    /// - Complexity: O(objects) in time; in memory, a number for each.
    @discardableResult
    public func batchUpdate<Object: Model>(
        _ query: Query<Object>,
        _ assignment: (Object.Columns) -> Assignment<Object>
    ) throws -> ObjectChanges<Object> {
        try batchUpdate(query) { [assignment($0)] }
    }

    /// Sets several columns of all objects that a query finds; otherwise as with one.
    @discardableResult
    public func batchUpdate<Object: Model>(
        _ query: Query<Object>,
        _ assignments: (Object.Columns) -> [Assignment<Object>]
    ) throws -> ObjectChanges<Object> {
        let assignments = assignments(Object.columns)
        return try batch(Object.self) { try $0.update(query, assignments, $1) }
    }

    /// Deletes all objects that a query finds, in the store, at once and without loading them, and what their delete rules say.
    ///
    /// A commit of its own, as ``batchUpdate(_:_:)-((_),(Object.Columns)->Assignment<Object>)`` is.
    ///
    /// - Returns: what was deleted of this model; what went with it is told by ``ContextStack/changes(since:)``.
    /// - Throws: ``StrataError`` with `invalidQuery`, `deleteDenied`, `validation`, and what the store reports.
    @discardableResult
    public func batchDelete<Object: Model>(_ query: Query<Object>) throws -> ObjectChanges<Object> {
        try batch(Object.self) { job, _ in try job.delete(query) }
    }

    /// Inserts rows into the store, at once and without objects, and gives them ids.
    ///
    /// ```swift
    /// try context.batchInsert(lines.lazy.map { Article(title: $0).snapshot })
    /// ```
    ///
    /// A commit of its own, as ``batchUpdate(_:_:)-((_),(Object.Columns)->Assignment<Object>)`` is. Rows are taken one by one, so that
    /// a lazy sequence of any length needs little memory; they are taken while the store is being written to, so what makes them uses
    /// neither stack nor contexts.
    ///
    /// A to-one relationship of a row is an id. Setting the relationship of an object to an inserted object inserts both, so
    /// set the id in the row instead:
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
    /// Rows that were read from another store may be handed in where they lead to none of its objects.
    ///
    /// - Throws: ``StrataError`` with `validation`, `notUnique`, `missingReference`, `foreignID` for a row that leads to an object of
    ///   another store, `misuse` for a row of an object that is inserted and not saved, here or in a parent, and for one whose bytes
    ///   outside of the row were not read there, and what the store reports.
    @discardableResult
    public func batchInsert<Row: ModelRow>(_ rows: some Sequence<Row>) throws -> ObjectChanges<Row.Object> {
        try insert(rows, upsert: nil)
    }

    /// Inserts rows, or updates the objects that have the same value in a unique column already.
    ///
    /// An object that is there keeps its id and its `createdAt`, and gets all other values of the row. A commit of its own, as
    /// ``batchInsert(_:)`` is. Of several rows with one value the last counts.
    ///
    /// - Parameter columns: the names of the unique column, or of those that are unique together.
    /// - Throws: as ``batchInsert(_:)``, and ``StrataError`` with `invalidQuery` where the columns are not unique.
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

    /// Whether a row belongs to an object that is inserted and not saved, here or in a parent. The closure that makes the rows may have
    /// inserted it just now.
    ///
    /// - Complexity: O(layers · log changes).
    private func isPending<Row: ModelRow>(_ row: Row, _ entity: Entity<Row>) -> Bool {
        guard row.id.isAssigned, row.id.fingerprint == store.ids.fingerprint else { return false }
        let (number, index) = (row.id.number, entity.info.index)
        if let object = identity[number, Row.Object.self] as? Row.Object,
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
                "Hand in rows of objects that belong to no context: `\(info.name)(…).snapshot`."
            }
        return StrataError(
            .misuse,
            "\(call) was given the row of an object that is inserted already and not saved: it would be in the store twice. "
                + "\(remedy) Roll back the objects that were inserted for rows.",
            details: [
                StrataError.Detail(model: info.name, number: row.id.number, message: "is inserted and not saved")
            ]
        )
    }

    private func batch<Object: Model>(
        _ model: Object.Type,
        _ body: (BatchJob, Entity<Object.Row>) throws -> Void
    ) throws -> ObjectChanges<Object> {
        guard !isEnded else { throw Self.endedError }
        guard !isSaving else {
            throw StrataError(.misuse, "This context is being saved already. Run the batch once the save has returned.")
        }
        try checkNoSavepoint()
        try checkCommits()
        let entity = try store.schema.entity(model)
        let changes = try store.batch(author: author, for: reference.label) { try body($0, entity) }
        if isPinned { try takeView() } else { lookAgain() }
        return changes.of(model)
    }
}
