import GRDB
import Synchronization

extension StoreWriter {
    /// Runs work on the writer's connection, outside of a transaction and between those of others.
    func maintain<Value>(_ body: (Connection) throws -> Value) throws -> Value {
        guard !isOnLeadingThread else { throw Self.nestedError }
        return try database.writeWithoutTransaction { _ in
            guard !isClosed.load(ordering: .relaxed) else { throw Store.closedError }
            return try connection.use(body)
        }
    }

    /// Writes the whole file again without its free pages. From then on, SQLite can return free pages in portions.
    ///
    /// Other connections read meanwhile and do not write.
    func vacuum(_ cancellation: Cancellation) throws {
        try maintain { connection in
            // The mode of the file changes with the next VACUUM.
            try connection.execute("PRAGMA auto_vacuum = INCREMENTAL")
            func rewrite() throws { try cancellation.interrupting(connection) { try connection.execute("VACUUM") } }
            if let turn {
                try turn.use { try $0.begin { try rewrite() } }
            } else {
                try rewrite()
            }
        }
    }

    /// Copies the journal into the file, if no reader is in the way. The file then gets its new size.
    func copyJournal() throws {
        guard let checkpoints else { return }
        try maintain { _ in checkpoints.use { $0.copyAll() } }
    }
}
