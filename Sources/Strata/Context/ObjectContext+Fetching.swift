extension ObjectContext {
    /// The objects that a query finds, in its order.
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

    /// The first so many objects of a query.
    public func first<Object: Model>(_ count: Int, of query: Query<Object>) throws -> [Object] {
        try objects(query, .first(count))
    }

    /// The last object of a query.
    public func last<Object: Model>(_ query: Query<Object>) throws -> Object? {
        try objects(query, .last(1)).first
    }

    /// The last so many objects of a query, in its order.
    public func last<Object: Model>(_ count: Int, of query: Query<Object>) throws -> [Object] {
        try objects(query, .last(count))
    }

    /// How many objects a query finds.
    public func count<Object: Model>(_ query: Query<Object>) throws -> Int {
        Int(try Int64(storedValue: value(query, .count)) ?? 0)
    }

    /// How many objects of a model there are.
    public func count<Object: Model>(_ model: Object.Type) throws -> Int { try count(Object.all) }

    /// Whether a query finds anything.
    public func exists<Object: Model>(_ query: Query<Object>) throws -> Bool {
        try value(query, .exists) == .integer(1)
    }

    /// The ids of the objects that a query finds.
    public func ids<Object: Model>(_ query: Query<Object>) throws -> [ObjectID<Object>] {
        var ids: [ObjectID<Object>] = []
        try run(query, .ids) { ids.append($0.read(ObjectID<Object>.self, at: 0)) }
        return ids
    }

    /// The values of the objects that a query finds, without objects: nothing is registered.
    public func rows<Object: Model>(_ query: Query<Object>) throws -> [Object.Row] {
        var rows: [Object.Row] = []
        let entity = try store.schema.index(of: Object.self)
        try run(query, .objects) { rows.append(try row(from: $0, entity: entity)) }
        return rows
    }

    /// The values of the row that a statement stands on.
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
        defer { if hasFetchHooks { runHooksAfterFetch() } }
        let isReversed = try run(query, shape) { reader in
            objects.append(try object(from: reader, entity: entity))
        }
        if isReversed { objects.reverse() }
        if !query._$parts.prefetches.isEmpty { try prefetch(query._$parts.prefetches, of: objects) }
        return objects
    }

    /// The object of the row that a statement stands on: the one that lives here, or a new one.
    @inline(__always)
    func object<Object: Model>(from reader: RowReader, entity: Int) throws -> Object {
        let number = try reader.read(Int64.self, at: 0)
        if let object = identity[number, Object.self] {
            return unsafeDowncast(object, to: Object.self)  // its type was compared
        }
        if hasPendingBytes(entity), let object: Object = pendingObject(number, entity) { return object }
        return try make(from: reader, number, entity: entity)
    }

    /// A new object of the row in the store that a statement stands on.
    @inline(__always)
    func make<Object: Model>(from reader: RowReader, _ number: Int64, entity: Int) throws -> Object {
        prepareToRegister(Object.self, entity)
        let state = ObjectState(entity: UInt16(truncatingIfNeeded: entity), isObserved: observers != nil)
        let object = try Object._$make(reader, ObjectLink(self), state)
        identity.insert(object, number)
        if hasFetchHooks { noteFetched(object, entity: entity) }
        return object
    }

    /// Whether there are pending rows of a model that keeps bytes outside of its rows. While those are not stored, no query
    /// can say where they are.
    @inline(__always)
    private func hasPendingBytes(_ entity: Int) -> Bool {
        store.schema.keepsBytes[entity] && view?.reader.connection.overlay.parts[entity] != nil
    }

    /// The object of a row as the layers have it. Apart from ``object(from:entity:)``: what generic code asks for at the
    /// start of a function it would ask for at every row.
    @inline(never)
    func pendingObject<Object: Model>(_ number: Int64, _ entity: Int) -> Object? {
        pendingRow(number, entity, Object.Row.self).map { register(Object(_$row: $0), entity: entity) }
    }

    /// The row as the layers have it.
    private func pendingRow<Row: StoredRow>(_ number: Int64, _ entity: Int, _ type: Row.Type) -> Row? {
        view?.layers.visibleRow(number, entity: entity, in: path)
    }

    /// One value.
    func value<Object: Model>(_ query: Query<Object>, _ shape: ResultShape) throws -> StoredValue {
        var value = StoredValue.null
        try run(query, shape) { value = $0.value(at: 0) }
        return value
    }

    /// Runs a query over the store and all layers down to this context (C14), and says whether its rows come reversed.
    @discardableResult
    func run<Object: Model>(
        _ query: Query<Object>,
        _ shape: ResultShape,
        _ body: (RowReader) throws -> Void
    ) throws -> Bool {
        try run(Object.self, { try query.compile(shape, using: $0) }, body)
    }

    /// Runs what is made for the tables and views of the moment, about a model, and says whether its rows come reversed.
    @discardableResult
    func run<Object: Model>(
        _ model: Object.Type,
        _ compile: (SQLSources) throws -> CompiledQuery,
        _ body: (RowReader) throws -> Void
    ) throws -> Bool {
        _ = try store.schema.index(of: Object.self)
        return try run(compile, body)
    }

    /// Runs what is made for the tables and views of the moment, and says whether its rows come reversed.
    @discardableResult
    func run(
        _ compile: (SQLSources) throws -> CompiledQuery,
        _ body: (RowReader) throws -> Void
    ) throws -> Bool {
        publish()
        let connection = try currentView().reader.connection
        let compiled: CompiledQuery
        do {
            compiled = try compile(store.sources(connection))
        } catch {
            // What is read next is to be of one moment again.
            if !connection.isInTransaction { dropView() }
            throw error
        }
        try connection.statement(compiled).run(compiled.bindings, body)
        return compiled.isReversed
    }
}

extension Store {
    /// What stands for tables and relationships on a connection, with the layers that it shows.
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
