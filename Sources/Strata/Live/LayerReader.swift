/// Answers queries as a context would, without entering it: by a snapshot of the store and the published layers above it.
struct LayerReader {
    private let store: Store
    private let connection: Connection
    private let layers: Layers
    private let path: [Int]
    private let observer: LayerObserver
    private let lastEvent: Int

    /// Runs `body` on a snapshot of its own. Blocks the thread while the disk is busy.
    static func read<Result>(
        _ store: Store,
        of context: Int?,
        as observer: LayerObserver,
        _ body: (LayerReader) throws -> Result
    ) throws -> Result {
        let reader = try store.borrowReader()
        defer { store.giveBack(reader) }
        do {
            let pair = try store.layers.pair(for: reader, of: observer.id, schema: store.schema)
            let path = context.map { pair.layers.readPath(to: $0) } ?? []
            reader.connection.overlay.show(pair.layers, path)
            return try body(
                LayerReader(
                    store: store,
                    connection: reader.connection,
                    layers: pair.layers,
                    path: path,
                    observer: observer,
                    lastEvent: pair.lastEvent
                )
            )
        } catch {
            throw StrataError(grdb: error)
        }
    }

    /// The values of the objects that a query finds.
    func rows<Object: Model>(_ query: Query<Object>) throws -> [Object.Row] {
        let entity = try store.schema.index(of: Object.self)
        let compiled = try query.compile(
            .objects,
            using: store.schema.sources(connection.overlay, fingerprint: store.ids.fingerprint)
        )
        let keepsBytes = store.schema.keepsBytes[entity] && connection.overlay.parts[entity] != nil
        var rows: [Object.Row] = []
        try connection.statement(compiled.sql).run(compiled.bindings) { row in
            if keepsBytes,
                let change = layers.top(try row.read(Int64.self, at: 0), entity: entity, in: path, Object.Row.self)
            {
                rows.append(change.row)
            } else {
                rows.append(try Object.Row(_$from: row))
            }
        }
        observer.note(Set(compiled.tables.compactMap { store.schema.infosByTable[$0]?.index }), through: lastEvent)
        return rows
    }
}
