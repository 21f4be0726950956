/// Reads the rows of one iterator, on a queue of its own.
actor RowSource<Object: Model> {
    private enum Phase {
        case beginning
        case running(RowStream)
        case ended
    }

    private let executor = ContextExecutor(label: "strata.rows")
    private let query: Query<Object>
    private let handle: ContextHandle
    private var phase = Phase.beginning

    init(_ query: Query<Object>, _ handle: ContextHandle) {
        self.query = query
        self.handle = handle
    }

    nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }

    /// The rows that come next; none at the end.
    func next() throws -> [Object.Row] {
        do {
            guard let stream = try stream() else { return [] }
            var rows: [Object.Row] = []
            while rows.count < Self.portion, let row = try stream.next() { rows.append(try stream.row(from: row)) }
            if rows.isEmpty { phase = .ended }
            return rows
        } catch {
            phase = .ended
            throw error
        }
    }

    /// How many rows are read at a time: a hop to the queue costs as much as some ten of them.
    private static var portion: Int { 256 }

    /// What is read from; nil at the end.
    private func stream() throws -> RowStream? {
        let store = handle.core.engine
        switch phase {
        case .ended: return nil
        case .running(let stream):
            try store.checkOpen()
            return stream
        case .beginning:
            guard !handle.owner.isRetired else { throw ObjectContext.endedError }
            let stream = try RowStream(query, store.snapshot(of: handle.id), store: store)
            phase = .running(stream)
            return stream
        }
    }
}
