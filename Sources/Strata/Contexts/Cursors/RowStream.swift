/// The rows of a query at one moment, one after the other, on a separate connection.
///
/// The connection keeps its snapshot while the stream runs. It is returned after the last row, by ``close()``, or when
/// the stream is released.
///
/// Isolation: that of the stream's creator.
final class RowStream {
    private let store: Store
    private let entity: Int
    private let path: [Int]
    private let snapshot: ObjectContext.ReadSnapshot
    /// Nil at the end.
    private var statement: Statement?
    /// The rows of a pinned context whose snapshot is not the newest one.
    private let pinned: PinnedRows?
    /// Whether layers above the snapshot had changed rows of the model.
    let hasPending: Bool
    /// The tables from which the rows are read. Empty for a pinned context, whose rows do not reflect later changes to
    /// their tables.
    let tables: Set<String>
    /// The commit that the snapshot shows.
    var sequence: Int64 { snapshot.sequence }

    /// - Parameter source: a snapshot with its matching layers, and the contexts whose layers are shown. The stream
    ///   takes over the snapshot's reader.
    init<Object: Model>(
        _ query: Query<Object>,
        _ source: (snapshot: ObjectContext.ReadSnapshot, path: [Int]),
        store: Store
    ) throws {
        let (snapshot, path) = source
        self.store = store
        self.path = path
        self.snapshot = snapshot
        pinned = nil
        do {
            entity = try store.schema.index(of: Object.self)
            snapshot.showOverlay(of: path)
            let connection = snapshot.reader.connection
            hasPending = connection.overlay.parts[entity] != nil
            try snapshot.reader.beginStreaming()
            let compiled = try query.compile(.objects, using: store.sources(connection))
            let statement = try connection.statement(compiled)
            try statement.bind(compiled.bindings)
            tables = compiled.tables
            self.statement = statement
        } catch {
            store.giveBack(snapshot.reader)
            throw error
        }
    }

    /// - Parameter rows: rows of this entity.
    init(_ rows: PinnedRows, of entity: Int) {
        (store, snapshot, path, pinned, self.entity) = (rows.store, rows.snapshot, rows.path, rows, entity)
        hasPending = rows.hasPending
        tables = []
    }

    deinit { close() }

    /// The next row, which the caller must read before the next call; nil at the end.
    func next() throws -> RowReader? {
        guard let statement else { return try pinned?.next() }
        do {
            if try statement.step() { return statement.reader }
        } catch {
            close()
            throw error
        }
        close()
        return nil
    }

    /// The values of the last returned row.
    @inline(__always)
    func row<Row: StoredRow>(from reader: RowReader) throws -> Row {
        if hasPending, store.schema.keepsBytes[entity], let row: Row = pendingRow(try reader.read(Int64.self, at: 0)) {
            return row
        }
        return try Row(_$from: reader)
    }

    /// The row as the layers have it. Until externally stored bytes of a row are written, a query cannot return their
    /// location.
    @inline(never)
    private func pendingRow<Row: StoredRow>(_ number: Int64) -> Row? {
        snapshot.layers.visibleRow(number, entity: entity, in: path)
    }

    /// Releases the snapshot. The stream returns no more rows.
    func close() {
        pinned?.close()
        guard let statement else { return }
        self.statement = nil
        statement.reset()
        store.giveBack(snapshot.reader)
    }
}

extension Store {
    /// The current state of a context on a separate reader, with the contexts whose layers it sees.
    ///
    /// - Parameter context: nil for the committed state.
    func snapshot(of context: Int?) throws -> (snapshot: ObjectContext.ReadSnapshot, path: [Int]) {
        let found = try snapshot(of: context, for: nil, after: nil)
        return (found.snapshot, found.path)
    }

    /// The current state of a context, as ``snapshot(of:)`` returns it, with its position in the log.
    ///
    /// - Parameters:
    ///   - observer: for which events are kept from now on.
    ///   - last: see ``LayerRegistry/acquireSnapshot(for:of:after:only:schema:)``.
    func snapshot(
        of context: Int?,
        for observer: LayerObserver?,
        after last: Int?
    ) throws -> (snapshot: ObjectContext.ReadSnapshot, path: [Int], matched: LayerRegistry.MatchedLayers) {
        let reader = try borrowReader()
        do {
            let matched = try layers.acquireSnapshot(for: reader, of: observer?.id, after: last, schema: schema)
            let path = context.map { matched.layers.readPath(to: $0) } ?? []
            return (
                ObjectContext.ReadSnapshot(reader: reader, sequence: matched.sequence, layers: matched.layers), path,
                matched
            )
        } catch {
            giveBack(reader)
            throw error
        }
    }
}
