/// The rows with some ids, one after the other, as a pinned context has shown them when this was made.
///
/// Once others have committed, no other connection can stand on the snapshot of such a context. So the rows are read on the
/// context's own, one at a time and by their ids, and the context leaves that to this when it moves on. What layers have changed is read
/// on a second connection, which goes on showing the layers of that moment.
///
/// Isolation: that of the context.
final class PinnedRows {
    let view: ObjectContext.View
    let path: [Int]
    let store: Store
    private let entity: Int
    private let overlay: Reader?
    private var numbers: IndexingIterator<[Int64]>
    /// Of what is stored, and of what layers have changed; nil once this is closed.
    private var stored: Statement?
    private var pending: Statement?
    /// What the row that was given last stands on.
    private var current: Statement?
    /// Whether there are changes of the model's rows above the snapshot.
    var hasPending: Bool { overlay != nil }

    init(_ numbers: [Int64], of info: EntityInfo, _ source: (view: ObjectContext.View, path: [Int]), _ store: Store)
        throws
    {
        let (view, path) = source
        let isPending = view.reader.connection.overlay.parts[info.index] != nil
        let stored = try Statement(info.sql.selectByID, on: view.reader.connection)
        let overlay = isPending ? try store.borrowReader() : nil
        if let overlay {
            ObjectContext.View(reader: overlay, sequence: view.sequence, layers: view.layers).showOverlay(of: path)
            do {
                pending = try Statement(Overlay.selectByID(info), on: overlay.connection)
            } catch {
                store.giveBack(overlay)
                throw error
            }
        }
        (self.view, self.path, self.store, self.overlay, self.stored) = (view, path, store, overlay, stored)
        self.numbers = numbers.makeIterator()
        entity = info.index
        _ = view.reader.share()
    }

    deinit { close() }

    /// The row that comes next, to be read before the one after it is asked for; nil at the end.
    func next() throws -> RowReader? {
        do {
            while let stored, let number = numbers.next() {
                current?.reset()
                let isPending = hasPending && view.layers.topKind(of: number, entity: entity, in: path) != nil
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

    /// Lets go of the snapshot. There are no more rows.
    func close() {
        guard stored != nil else { return }
        current?.reset()
        // A statement does not outlive the use of its connection.
        (current, stored, pending) = (nil, nil, nil)
        store.giveBack(view.reader)
        if let overlay { store.giveBack(overlay) }
    }
}
