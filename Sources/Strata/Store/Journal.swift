import Foundation
import GRDB
import Synchronization

/// The file beside the store in which commits lie until they are copied into it (SQLite's write-ahead log).
///
/// SQLite begins it anew by itself, but only where nobody reads a state that is not copied yet. Whoever takes one snapshot after the
/// other, as a pinned context does that merges, always reads such a state: each commit copies no more than the snapshot before it
/// allows for. So the journal is copied between two snapshots, once it is large.
///
/// Isolation: any.
final class Journal: Sendable {
    /// It stands beside the file itself, not beside a link to it.
    let path: String
    private let storePath: String
    private let configuration: Configuration
    /// A connection of its own: the writer may be busy for long. Opened when it is first needed.
    private let connection = Mutex<(queue: DatabaseQueue?, isClosed: Bool)>((nil, false))

    /// How large it may stay, in bytes: twice the thousand pages from which on SQLite copies it at every commit.
    static let limit = 8 << 20

    init(of storePath: String, _ configuration: Configuration) {
        path = URL(fileURLWithPath: storePath).resolvingSymlinksInPath().path + "-wal"
        self.storePath = storePath
        self.configuration = configuration
    }

    /// How large it is, in bytes; 0 where there is none.
    var size: Int {
        var info = stat()
        return stat(path, &info) == 0 ? Int(info.st_size) : 0
    }

    /// Copies it into the store, as far as readers allow for, if it is large. Nobody is waited for.
    ///
    /// Complexity: O(1) while it is small.
    func copyIfLarge() {
        guard size > Self.limit else { return }
        connection.withLock { connection in
            guard !connection.isClosed else { return }
            // Where it cannot be copied it stays as it is, and the next commit meets the reason.
            if connection.queue == nil {
                connection.queue = try? DatabaseQueue(path: storePath, configuration: configuration)
            }
            _ = try? connection.queue?.inDatabase { try $0.checkpoint(.passive) }
        }
    }

    func close() {
        connection.withLock { connection in
            try? connection.queue?.close()
            connection = (nil, true)
        }
    }
}
