import Synchronization

/// Reports whether another process, or another stack on the same file, has committed.
///
/// Isolation: any. A dedicated connection runs `PRAGMA data_version`, which costs about two microseconds and changes
/// only with commits of other connections. The sequence is read only if the version has changed.
final class ForeignCommits: Sendable {
    private struct State {
        var reader: Reader?
        var version: Int64?
        var sequence: Int64 = 0
        var isClosed = false
    }

    private let state = Mutex(State())
    private let readers: ReaderPool

    init(readers: ReaderPool) { self.readers = readers }

    /// The number of the newest commit that was in the store when this function was called.
    func newestSequence() throws -> Int64 {
        try state.withLock { state in
            guard !state.isClosed else { throw Store.closedError }
            let reader = try state.reader ?? borrow()
            state.reader = reader
            let version = try reader.connection.integer("PRAGMA data_version")
            guard version != state.version else { return state.sequence }
            state.sequence = try reader.begin()
            try reader.end()
            state.version = version
            return state.sequence
        }
    }

    private func borrow() throws -> Reader {
        let reader = try readers.borrow()
        // The query runs with every read and returns no user data, so it is not traced.
        reader.connection.stopTracing()
        return reader
    }

    func close() {
        state.withLock { state in
            state.isClosed = true
            if let reader = state.reader { readers.giveBack(reader) }
            state.reader = nil
        }
    }
}
