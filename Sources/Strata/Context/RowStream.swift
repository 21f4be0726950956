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
    private let view: ObjectContext.View
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
    var sequence: Int64 { view.sequence }

    /// - Parameter source: a snapshot with its matching layers, and the contexts whose layers are shown. The stream
    ///   takes over the snapshot's reader.
    init<Object: Model>(
        _ query: Query<Object>,
        _ source: (view: ObjectContext.View, path: [Int]),
        store: Store
    ) throws {
        let (view, path) = source
        self.store = store
        self.path = path
        self.view = view
        pinned = nil
        do {
            entity = try store.schema.index(of: Object.self)
            view.showOverlay(of: path)
            let connection = view.reader.connection
            hasPending = connection.overlay.parts[entity] != nil
            try view.reader.beginStreaming()
            let compiled = try query.compile(.objects, using: store.sources(connection))
            let statement = try connection.statement(compiled)
            try statement.bind(compiled.bindings)
            tables = compiled.tables
            self.statement = statement
        } catch {
            store.giveBack(view.reader)
            throw error
        }
    }

    /// - Parameter rows: rows of this entity.
    init(_ rows: PinnedRows, of entity: Int) {
        (store, view, path, pinned, self.entity) = (rows.store, rows.view, rows.path, rows, entity)
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
        view.layers.visibleRow(number, entity: entity, in: path)
    }

    /// Releases the snapshot. The stream returns no more rows.
    func close() {
        pinned?.close()
        guard let statement else { return }
        self.statement = nil
        statement.reset()
        store.giveBack(view.reader)
    }
}

extension Store {
    /// The current state of a context on a separate reader, with the contexts whose layers it sees.
    ///
    /// - Parameters:
    ///   - context: nil for the committed state.
    ///   - observer: the observer for which events are kept from now on; nil if events need not be kept.
    func snapshot(
        of context: Int?,
        as observer: LayerObserver? = nil
    ) throws -> (view: ObjectContext.View, path: [Int]) {
        let reader = try borrowReader()
        do {
            let pair = try layers.pair(for: reader, of: observer?.id, schema: schema)
            observer?.note(pair.lastEvent)
            let path = context.map { pair.layers.readPath(to: $0) } ?? []
            return (ObjectContext.View(reader: reader, sequence: pair.sequence, layers: pair.layers), path)
        } catch {
            giveBack(reader)
            throw error
        }
    }
}
