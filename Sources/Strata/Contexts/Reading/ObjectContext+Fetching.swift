extension ObjectContext {
    /// The objects that a query finds, in the query's order.
    ///
    /// - Throws: ``StrataError`` with `invalidQuery`, or if the store cannot be read.
    public func fetch<Object: Model>(_ query: Query<Object>) throws -> [Object] {
        try objects(query, .objects)
    }

    /// All objects of a model, in the order of their ids: see ``IDColumn/ascending``.
    public func fetch<Object: Model>(_ model: Object.Type) throws -> [Object] { try fetch(Object.all) }

    /// The first object of a query.
    public func first<Object: Model>(_ query: Query<Object>) throws -> Object? {
        try objects(query, .first(1)).first
    }

    /// The first `count` objects of a query.
    public func first<Object: Model>(_ count: Int, of query: Query<Object>) throws -> [Object] {
        try objects(query, .first(count))
    }

    /// The last object of a query.
    public func last<Object: Model>(_ query: Query<Object>) throws -> Object? {
        try objects(query, .last(1)).first
    }

    /// The last `count` objects of a query, in the query's order.
    public func last<Object: Model>(_ count: Int, of query: Query<Object>) throws -> [Object] {
        try objects(query, .last(count))
    }

    /// The number of objects that a query finds.
    public func count<Object: Model>(_ query: Query<Object>) throws -> Int {
        Int(try Int64(storedValue: value(query, .count)) ?? 0)
    }

    /// The number of objects of a model.
    public func count<Object: Model>(_ model: Object.Type) throws -> Int { try count(Object.all) }

    /// Whether a query finds at least one object.
    public func exists<Object: Model>(_ query: Query<Object>) throws -> Bool {
        try value(query, .exists) == .integer(1)
    }

    /// The ids of the objects that a query finds.
    public func ids<Object: Model>(_ query: Query<Object>) throws -> [ObjectID<Object>] {
        var ids: [ObjectID<Object>] = []
        try run(query, .ids) { ids.append($0.read(ObjectID<Object>.self, at: 0)) }
        return ids
    }

    /// The values of the objects that a query finds. No objects are created or registered.
    public func rows<Object: Model>(_ query: Query<Object>) throws -> [Object.Row] {
        var rows: [Object.Row] = []
        let entity = try store.schema.index(of: Object.self)
        try run(query, .objects) { rows.append(try row(from: $0, entity: entity)) }
        return rows
    }

    /// The values of the current row of a statement.
    @inline(__always)
    func row<Row: StoredRow>(from reader: RowReader, entity: Int) throws -> Row {
        if hasPendingBytes(entity), let pending = pendingRow(try reader.read(Int64.self, at: 0), entity, Row.self) {
            return pending
        }
        return try Row(_$from: reader)
    }

    private func objects<Object: Model>(_ query: Query<Object>, _ shape: ResultShape) throws -> [Object] {
        let entity = try store.schema.index(of: Object.self)
        var objects: [Object] = []
        defer { if hookQueue.hasFetchHooks { runHooksAfterFetch() } }
        let isReversed = try run(query, shape) { reader in
            objects.append(try object(from: reader, entity: entity))
        }
        if isReversed { objects.reverse() }
        if !query._$parts.prefetches.isEmpty { try prefetch(query._$parts.prefetches, of: objects) }
        return objects
    }

    /// The object of the current row of a statement: the live object if there is one, otherwise a new object.
    @inline(__always)
    func object<Object: Model>(from reader: RowReader, entity: Int) throws -> Object {
        let number = try reader.read(Int64.self, at: 0)
        if let object = live.identity[number, Object.self] {
            return unsafeDowncast(object, to: Object.self)  // the look-up compares the type
        }
        if hasPendingBytes(entity), let object: Object = pendingObject(number, entity) { return object }
        return try make(from: reader, number, entity: entity)
    }

    /// Creates an object from the current row of a statement, which is a row in the store.
    @inline(__always)
    func make<Object: Model>(from reader: RowReader, _ number: Int64, entity: Int) throws -> Object {
        prepareToRegister(Object.self, entity)
        let state = ObjectState(entity: UInt16(truncatingIfNeeded: entity), isObserved: observers != nil)
        let object = try Object._$make(reader, ObjectLink(self), state)
        live.identity.insert(object, number)
        if hookQueue.hasFetchHooks { noteFetched(object, entity: entity) }
        return object
    }

    /// Whether there are pending rows of a model that stores bytes outside its rows. Until these bytes are stored, a
    /// query cannot return their location.
    @inline(__always)
    private func hasPendingBytes(_ entity: Int) -> Bool {
        store.schema.keepsBytes[entity] && reading.snapshot?.reader.connection.overlay.parts[entity] != nil
    }

    /// The object of a row as the layers show it. Separate from ``object(from:entity:)``, because generic code looks up
    /// type metadata at the start of a function. In the larger function, the look-up would happen for every row.
    @inline(never)
    func pendingObject<Object: Model>(_ number: Int64, _ entity: Int) -> Object? {
        pendingRow(number, entity, Object.Row.self).map { register(Object(_$row: $0), entity: entity) }
    }

    /// The row as the layers show it.
    private func pendingRow<Row: StoredRow>(_ number: Int64, _ entity: Int, _ type: Row.Type) -> Row? {
        reading.snapshot?.layers.visibleRow(number, entity: entity, in: path)
    }

    /// The single value that a query returns.
    func value<Object: Model>(_ query: Query<Object>, _ shape: ResultShape) throws -> StoredValue {
        var value = StoredValue.null
        try run(query, shape) { value = $0.value(at: 0) }
        return value
    }

    /// Runs a query over the store and all layers down to this context. Returns whether the rows come in reverse order.
    @discardableResult
    func run<Object: Model>(
        _ query: Query<Object>,
        _ shape: ResultShape,
        _ body: (RowReader) throws -> Void
    ) throws -> Bool {
        _ = try store.schema.index(of: Object.self)
        return try run({ try query.compile(shape, using: $0) }, body)
    }

    /// Runs a query that `compile` creates for the current tables and views. Returns whether the rows come in reverse
    /// order.
    @discardableResult
    func run(
        _ compile: (SQLSources) throws -> CompiledQuery,
        _ body: (RowReader) throws -> Void
    ) throws -> Bool {
        let (connection, compiled) = try prepare(compile)
        try connection.statement(compiled).run(compiled.bindings, body)
        return compiled.isReversed
    }

    /// What `compile` creates for the current tables and views, with the connection that runs it.
    @inline(__always)
    func prepare<Compiled>(
        _ compile: (SQLSources) throws -> Compiled
    ) throws -> (connection: Connection, compiled: Compiled) {
        publish()
        let connection = try currentSnapshot().reader.connection
        do {
            return try (connection, compile(store.sources(connection)))
        } catch {
            // Without a snapshot, the following reads again see one consistent state.
            if !connection.isInTransaction { releaseSnapshot() }
            throw error
        }
    }
}

extension Store {
    /// The SQL sources of tables and relationships on a connection, including the layers that the connection shows.
    func sources(_ connection: Connection) -> SQLSources {
        let overlay = connection.overlay
        return SQLSources(
            source: { [schema] table in
                let info: EntityInfo?
                switch table {
                case .model(let model): info = schema.info(named: model.name)
                case .join(let name): info = schema.info(ofTable: name)
                }
                guard let info else { return "\"\"" }
                return overlay.parts[info.index] == nil ? info.sql.table : Overlay.source(info)
            },
            hasPendingRows: { [schema] model in
                schema.info(named: model.name).map { overlay.parts[$0.index] != nil } ?? false
            },
            resolver: schema.resolver,
            search: { [schema] in try connection.searchSource($0, schema) },
            identity: identity
        )
    }
}

extension Schema {
    func info(named name: String) -> EntityInfo? { infosByName[name] }
    func info(ofTable table: String) -> EntityInfo? { infosByTable[table] }
}
