/// The rows of a live query at one moment.
///
/// If only a few rows of the model have changed since the last list, the next one is not read as a whole: the query
/// returns the ids in their order, and unchanged rows are taken from the last list.
///
/// A change that another program makes with raw SQL is not in the log. It appears when the row changes again, or when a
/// list is read as a whole.
struct LiveList<Object: Model>: Sendable {
    let rows: [Object.Row]
    /// The rows that may differ from those of the last list; nil if the list was read as a whole.
    let changed: IDRanges?
    /// The number of this list among the results of its observer.
    private let number: Int
    /// The contexts whose layers the list shows.
    private let path: [Int]

    /// Reads the list, and notes the tables that it was read from. Nil if the observed context has ended.
    ///
    /// - Parameter last: the previous list; nil for the first one.
    init?(_ query: Query<Object>, after last: LiveList?, _ observer: LayerObserver, _ store: Store) throws {
        let lastEvent = last.flatMap { observer.cursor(of: $0.number) }?.event
        let (snapshot, path, matched) = try store.snapshot(of: observer.context, for: observer, after: lastEvent)
        var isReaderTaken = false
        defer { if !isReaderTaken { store.giveBack(snapshot.reader) } }
        // Without the context, the layers of its parents are not part of the snapshot.
        guard store.layers.isOpen(observer.context) else { return nil }

        let list: (rows: [Object.Row], entities: Set<Int>)
        let changed = try last?.changedRows(matched, path, store.schema)
        if let last, let changed, let renewed = try last.renewed(query, changed, snapshot, store) {
            (list, self.changed) = (renewed, changed)
        } else {
            isReaderTaken = true
            let stream = try RowStream(query, (snapshot, path), store: store)
            var rows: [Object.Row] = []
            rows.reserveCapacity(last?.rows.count ?? 0)
            while let row = try stream.next() { rows.append(try stream.row(from: row)) }
            (list, self.changed) = ((rows, store.schema.entities(of: stream.tables)), nil)
        }
        number = observer.noteResult(at: matched.cursor, of: list.entities)
        (rows, self.path) = (list.rows, path)
    }
}

extension LiveList {
    /// The greatest number of rows that are read by their ids. For more rows, reading the whole list is faster.
    private var limit: Int { rows.count / 4 }

    /// The rows that may have changed between this list and a snapshot. Nil if they are not known, or if there are too
    /// many.
    private func changedRows(
        _ matched: LayerRegistry.MatchedLayers,
        _ path: [Int],
        _ schema: Schema
    ) throws -> IDRanges? {
        // The log may have more events for a commit in flight than the commit itself.
        guard let events = matched.events, matched.inFlight.isEmpty, path == self.path else { return nil }
        return events.changedRows(of: try schema.index(of: Object.self), in: path, limit: limit)
    }

    /// The list at a snapshot. Nil if it must be read as a whole.
    ///
    /// - Parameter changed: the rows of this list that may be outdated.
    private func renewed(
        _ query: Query<Object>,
        _ changed: IDRanges,
        _ snapshot: ObjectContext.ReadSnapshot,
        _ store: Store
    ) throws -> (rows: [Object.Row], entities: Set<Int>)? {
        snapshot.showOverlay(of: path)
        let connection = snapshot.reader.connection
        let compiled = try query.compile(.ids, using: store.sources(connection))
        var ids: [Int64] = []
        try connection.statement(compiled).run(compiled.bindings) { ids.append(try $0.read(Int64.self, at: 0)) }

        let entity = try store.schema.entity(Object.self)
        let index = entity.info.index
        let isDecoded = connection.overlay.parts[index] != nil && !store.schema.keepsBytes[index]
        let rows = try renewed(ids, changed) { id in
            // As in a list that is read as a whole, the values of a pending row are decoded.
            if isDecoded, snapshot.layers.topKind(of: id, entity: index, in: path) != nil {
                var row: Object.Row?
                try connection.statement(Overlay.selectByID(entity.info)).run([.integer(id)]) {
                    row = try Object.Row(_$from: $0)
                }
                return row
            }
            return try entity.read(id, in: snapshot, path)
        }
        return rows.map { ($0, store.schema.entities(of: compiled.tables)) }
    }

    /// The rows with the given ids, most of them from this list.
    ///
    /// Nil if more than ``limit`` of them must be read. Also nil if one of the integers is not an id: raw SQL may have
    /// inserted such a row, and sets of changed rows do not contain it.
    ///
    /// - Parameter read: reads a row.
    /// - Complexity: O(ids + rows).
    private func renewed(
        _ ids: [Int64],
        _ changed: IDRanges,
        _ read: (Int64) throws -> Object.Row?
    ) rethrows -> [Object.Row]? {
        // Rows in a buffer are copied once. Those in an array would be copied for each comparison.
        try rows.withUnsafeBufferPointer { old -> [Object.Row]? in
            var new: [Object.Row] = []
            new.reserveCapacity(ids.count)
            var (readCount, next) = (0, 0)
            // Most rows follow each other as before, so that their places need not be looked up.
            var places: [Int64: Int]?
            for id in ids {
                guard ObjectIDRawValues.all.contains(id) else { return nil }
                if next == old.count || old[next]._$id != id {
                    let known = places ?? Dictionary(old.indices.map { (old[$0]._$id, $0) }) { first, _ in first }
                    places = known
                    if let place = known[id] { next = place }
                }
                let isOld = next < old.count && old[next]._$id == id
                if isOld, !changed.contains(id) {
                    new.append(old[next])
                } else {
                    readCount += 1
                    guard readCount <= limit, let row = try read(id) else { return nil }
                    new.append(row)
                }
                if isOld { next += 1 }
            }
            return new
        }
    }
}

extension Schema {
    /// The entities whose rows are in these tables.
    fileprivate func entities(of tables: some Sequence<String>) -> Set<Int> {
        Set(tables.compactMap { infosByTable[$0]?.index })
    }
}

extension [CommitLog.Event] {
    /// The rows of an entity that may have changed for a context. Nil if they are not known, or if there are more than
    /// a limit.
    ///
    /// - Parameter path: the context and its parents; empty for the committed state.
    fileprivate func changedRows(of entity: Int, in path: [Int], limit: Int) -> IDRanges? {
        var all = IDRanges()
        for event in self where event.isVisible(in: path) {
            guard let unread = event.unread else { return nil }
            if let part = event.rows[entity] {
                if part.ids.count > limit { return nil }
                all = all.union(IDRanges(part.ids))
            }
            if let ids = unread[entity] {
                // An empty set means that the rows are not known.
                if ids.isEmpty { return nil }
                all = all.union(ids)
            }
            if all.count > limit { return nil }
        }
        return all
    }
}
