/// The rows with certain ids, one after the other, as a pinned context showed them when this iterator was created.
///
/// After other contexts have committed, no other connection can open the snapshot of a pinned context. The rows are
/// therefore read one at a time by id, on the context's own connection. When the context moves to a newer snapshot, it
/// leaves this connection to the iterator. Rows that layers have changed are read on a second connection, which keeps
/// showing the layers of the moment of creation.
///
/// Isolation: that of the context.
final class PinnedRows {
    let snapshot: ObjectContext.ReadSnapshot
    let path: [Int]
    let store: Store
    private let entity: Int
    private let overlay: Reader?
    private var ids: IndexingIterator<[Int64]>
    /// The statements for stored rows and for rows that layers have changed; nil after ``close()``.
    private var stored: Statement?
    private var pending: Statement?
    /// The statement that holds the last returned row.
    private var current: Statement?
    /// Whether layers above the snapshot have changed rows of the model.
    var hasPending: Bool { overlay != nil }

    init(
        _ ids: [Int64],
        of info: EntityInfo,
        _ source: (snapshot: ObjectContext.ReadSnapshot, path: [Int]),
        _ store: Store
    )
        throws
    {
        let (snapshot, path) = source
        let isPending = snapshot.reader.connection.overlay.parts[info.index] != nil
        let stored = try Statement(info.sql.selectByID, on: snapshot.reader.connection)
        let overlay = isPending ? try store.borrowReader() : nil
        if let overlay {
            ObjectContext.ReadSnapshot(reader: overlay, sequence: snapshot.sequence, layers: snapshot.layers)
                .showOverlay(of: path)
            do {
                pending = try Statement(Overlay.selectByID(info), on: overlay.connection)
            } catch {
                store.giveBack(overlay)
                throw error
            }
        }
        (self.snapshot, self.path, self.store, self.overlay, self.stored) = (snapshot, path, store, overlay, stored)
        self.ids = ids.makeIterator()
        entity = info.index
        _ = snapshot.reader.share()
    }

    deinit { close() }

    /// The next row, which the caller must read before the next call; nil at the end.
    func next() throws -> RowReader? {
        do {
            while let stored, let number = ids.next() {
                current?.reset()
                let isPending = hasPending && snapshot.layers.topKind(of: number, entity: entity, in: path) != nil
                let statement = isPending ? pending ?? stored : stored
                current = statement
                try statement.binder.bind(number, at: 1)
                if try statement.step() { return statement.reader }
            }
        } catch {
            close()
            throw error
        }
        close()
        return nil
    }

    /// Releases the snapshot. The iterator returns no more rows.
    func close() {
        guard stored != nil else { return }
        current?.reset()
        // A statement must not outlive the use of its connection.
        (current, stored, pending) = (nil, nil, nil)
        store.giveBack(snapshot.reader)
        if let overlay { store.giveBack(overlay) }
    }
}
