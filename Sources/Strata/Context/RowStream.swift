/// The rows of a query as they were at one moment, one after the other, on a connection of its own.
///
/// The connection keeps its snapshot for as long as this runs, and goes back with the last row, by ``close()``, or when
/// this is let go.
///
/// Isolation: that of whoever made it.
final class RowStream {
    private let store: Store
    private let entity: Int
    private let path: [Int]
    private let view: ObjectContext.View
    /// Nil at the end.
    private var statement: Statement?
    /// The rows of a pinned context whose snapshot is not the newest one.
    private let pinned: PinnedRows?
    /// Whether there were changes of the model's rows above the snapshot.
    let hasPending: Bool
    /// The tables that the rows are made of; those of a pinned context do not follow what is done to these.
    let tables: Set<String>
    /// The commit that the snapshot shows.
    var sequence: Int64 { view.sequence }

    /// - Parameter source: a snapshot with the layers that belong to it, whose reader is this one's from now on, and the
    ///   contexts whose layers are to be seen.
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

    /// The row that comes next, to be read before the one after it is asked for; nil at the end.
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

    /// The values of the row that was given last.
    @inline(__always)
    func row<Row: StoredRow>(from reader: RowReader) throws -> Row {
        if hasPending, store.schema.keepsBytes[entity], let row: Row = pendingRow(try reader.read(Int64.self, at: 0)) {
            return row
        }
        return try Row(_$from: reader)
    }

    /// While bytes outside of a row are not stored, no query can say where they are.
    @inline(never)
    private func pendingRow<Row: StoredRow>(_ number: Int64) -> Row? {
        view.layers.visibleRow(number, entity: entity, in: path)
    }

    /// Lets go of the snapshot. There are no more rows.
    func close() {
        pinned?.close()
        guard let statement else { return }
        self.statement = nil
        statement.reset()
        store.giveBack(view.reader)
    }
}

extension Store {
    /// What a context shows by now, on a reader of its own, with the contexts whose layers it sees.
    ///
    /// - Parameters:
    ///   - context: nil for what is committed.
    ///   - observer: who has events kept from then on, if anybody.
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
