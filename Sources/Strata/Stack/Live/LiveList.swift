/// The rows of a live query at one moment.
///
/// If only a few rows of the model have changed since the last list, the next one is not read as a whole: the query
/// returns the ids in their order, and unchanged rows are taken from the last list.
struct LiveList<Object: Model>: Sendable {
    let rows: [Object.Row]
    /// The rows that may differ from those of the last list; nil if the list was read as a whole.
    let changed: IDRanges?
    /// The number of this list among the results of its observer.
    private let number: Int

    /// Reads the list, and notes the tables that it was read from. Nil if the observed context has ended.
    ///
    /// - Parameter last: the previous list; nil for the first one.
    init?(_ query: Query<Object>, after last: LiveList?, _ observer: LayerObserver, _ store: Store) throws {
        let (source, number, events) = try store.snapshot(for: observer, after: last?.number)
        var isReaderTaken = false
        defer { if !isReaderTaken { store.giveBack(source.snapshot.reader) } }
        // Without the context, the layers of its parents are not part of the snapshot.
        guard store.layers.isOpen(observer.context) else { return nil }

        let entity = try store.schema.entity(Object.self)
        if let last, let changed = events?.changedRows(of: entity.info.index, in: source.path),
            last.isWorthRenewing(changed.count)
        {
            let (ids, tables) = try query.ids(source, store)
            let rows = try last.renewed(ids, changed) { try entity.read($0, in: source.snapshot, source.path) }
            if let rows {
                observer.note(store.schema.entities(of: tables))
                (self.rows, self.changed, self.number) = (rows, changed, number)
                return
            }
        }

        isReaderTaken = true
        let stream = try RowStream(query, source, store: store)
        observer.note(store.schema.entities(of: stream.tables))
        var rows: [Object.Row] = []
        rows.reserveCapacity(last?.rows.count ?? 0)
        while let row = try stream.next() { rows.append(try stream.row(from: row)) }
        (self.rows, self.changed, self.number) = (rows, nil, number)
    }

    /// Whether reading some rows by their ids is faster than reading the whole list.
    private func isWorthRenewing(_ count: Int) -> Bool { count <= rows.count / 4 }

    /// The rows with the given ids, most of them from this list.
    ///
    /// Nil if so many of them must be read that reading all with one statement is faster. Also nil if one of the
    /// integers is not an id: raw SQL may have inserted such a row, and sets of changed rows do not contain it.
    ///
    /// - Parameters:
    ///   - changed: the rows of this list that may be outdated.
    ///   - read: reads a row.
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
                    guard isWorthRenewing(readCount), let row = try read(id) else { return nil }
                    new.append(row)
                }
                if isOld { next += 1 }
            }
            return new
        }
    }
}

extension Query {
    /// The ids of the objects in the query's order, and the tables they were read from.
    fileprivate func ids(
        _ source: (snapshot: ObjectContext.ReadSnapshot, path: [Int]),
        _ store: Store
    ) throws -> (ids: [Int64], tables: Set<String>) {
        source.snapshot.showOverlay(of: source.path)
        let connection = source.snapshot.reader.connection
        let compiled = try compile(.ids, using: store.sources(connection))
        let statement = try connection.statement(compiled)
        defer { statement.reset() }
        try statement.bind(compiled.bindings)
        var ids: [Int64] = []
        while try statement.step() { ids.append(try statement.reader.read(Int64.self, at: 0)) }
        return (ids, compiled.tables)
    }
}

extension Schema {
    /// The entities whose rows are in these tables.
    fileprivate func entities(of tables: Set<String>) -> Set<Int> { Set(tables.compactMap { infosByTable[$0]?.index }) }
}

extension [CommitLog.Event] {
    /// The rows of an entity that may have changed for a context; nil if they are not known.
    ///
    /// - Parameter path: the context and its parents; empty for the committed state.
    fileprivate func changedRows(of entity: Int, in path: [Int]) -> IDRanges? {
        var all: [IDRanges] = []
        for event in self {
            if case .edits(let context) = event.cause, !path.contains(context) { continue }
            if case .layer(let context) = event.cause, !path.contains(context) { continue }
            guard let unread = event.unread else { return nil }
            if let part = event.rows[entity] { all.append(IDRanges(part.ids)) }
            if let ids = unread[entity] {
                // An empty set means that the rows are not known.
                if ids.isEmpty { return nil }
                all.append(ids)
            }
        }
        return .union(of: all)
    }
}
