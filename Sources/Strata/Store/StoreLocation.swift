public import Foundation
public import GRDB

/// The place where a stack keeps its data.
public struct StoreLocation: Sendable {
    enum Kind: Sendable {
        case file(URL)
        case userData
        case inMemory
        case pool(DatabasePool)
        case shared(any StoreHome, copy: URL)
    }

    let kind: Kind

    /// A SQLite file, which is created if it does not exist. Its folder must exist.
    public static func sqlite(_ url: URL) -> StoreLocation { StoreLocation(kind: .file(url)) }

    /// A SQLite file at a path, which is created if it does not exist. Its folder must exist.
    public static func sqlite(path: String) -> StoreLocation { .sqlite(URL(fileURLWithPath: path)) }

    /// A file in the user's data folder under the program's name: `$XDG_DATA_HOME` or `~/.local/share` on Linux,
    /// `Application Support` on Apple systems. The folder is created if it does not exist.
    public static let userData = StoreLocation(kind: .userData)

    /// A temporary store for tests. Each stack has a separate one, which `close()` removes. The store is in memory if
    /// the system has a folder in memory.
    public static let inMemory = StoreLocation(kind: .inMemory)

    /// The path of the file; nil for a store in memory.
    var path: String? {
        switch kind {
        case .file(let url): url.path
        case .userData: try? StoreFile.userDataURL(creatingFolder: false).path
        case .inMemory: nil
        case .pool(let pool): pool.path
        case .shared(_, let url): url.path
        }
    }

    /// A store that several machines share. Each machine works on a separate copy, and the home keeps the store.
    ///
    /// - Parameters:
    ///   - home: orders and keeps the commits of all machines. The stack closes it. If opening throws, the home can be used
    ///     for another attempt.
    ///   - url: the working copy: a SQLite file on a local disk, which is made from the home if it does not exist. If it
    ///     exists, it is brought up to the state of the home before the stack is open.
    public static func shared(_ home: any StoreHome, copy url: URL) -> StoreLocation {
        StoreLocation(kind: .shared(home, copy: url))
    }

    /// The same with the path of the working copy.
    public static func shared(_ home: any StoreHome, copy path: String) -> StoreLocation {
        .shared(home, copy: URL(fileURLWithPath: path))
    }

    /// A pool that the caller owns. The pool's tables coexist with Strata's, and its observers are notified of Strata's
    /// commits.
    ///
    /// The pool's configuration also applies to Strata's readers. The caller closes the pool, after the stack.
    public static func pool(_ pool: DatabasePool) -> StoreLocation { StoreLocation(kind: .pool(pool)) }
}

/// The settings of a store.
public struct StoreConfiguration: Sendable {
    /// The failures that a completed commit survives.
    public enum Synchronous: String, Sendable {
        /// A completed commit survives a loss of power. The default.
        case full = "FULL"
        /// A completed commit survives the end of the process. After a loss of power the last commits may be missing,
        /// but the store is intact.
        case normal = "NORMAL"
    }

    /// Whether the stack only reads. Opening then creates and changes nothing, and calls that write to the store throw
    /// `readOnly`. The default is false.
    ///
    /// Contexts may hold unsaved changes, and receive commits of other processes. The ids of their new objects are
    /// valid in this stack only. The file must exist, with the tables of these models. Otherwise, opening throws
    /// `schemaMismatch`, whose message lists the differences. The order of declarations may differ.
    ///
    /// While no process has the store open for writing, SQLite would create files beside it. Then opening throws
    /// `cannotOpen`, unless no user has the permission to write to the file. Strata takes such a file to be
    /// unchangeable and reads it without locks, so no process may write to it while this stack is open.
    public var isReadOnly: Bool
    /// Whether the store may contain models that are not among the opened ones. The default is false: opening then
    /// throws `schemaMismatch` for such a store.
    ///
    /// A tool or a service that needs some of the models opens only these. The tables of the other models stay as they
    /// are: opening creates, migrates and drops nothing, also no tables of the opened models. The store must exist, and
    /// the opened models must match its tables. Otherwise, opening throws `notAStore` or `schemaMismatch`.
    ///
    /// Relationships to models that are not opened keep their ids. To fetch, find or insert an object of such a model
    /// throws `unknownModel`. A commit or batch that deletes an object throws `unopenedModel` if objects of other
    /// models refer to it, or would be deleted with it.
    public var allowsUnopenedModels: Bool
    /// The failures that a completed commit survives. In a store with a home, these are the failures of the home: see
    /// ``StoreHome/open(_:busyTimeout:synchronous:)``.
    public var synchronous: Synchronous
    /// The time to wait, in seconds, for another process that has locked the store: 0 or more, or infinity. After this
    /// time `busy` is thrown.
    public var busyTimeout: TimeInterval
    /// The amount of history that the store keeps.
    public var history: HistoryRetention
    /// The intended number of simultaneously open reading connections, at least 1. The default is 32.
    ///
    /// A block that has read holds one connection, which is two open files, until it ends. Blocks of `background`, of
    /// `live` and of unnamed contexts take a place before they begin; above the limit they wait, in the order of calls.
    /// Nested blocks, named contexts, main, cursors and live queries never wait. Their connections count against the
    /// limit, so that fewer other blocks run.
    public var maximumReaderCount: Int
    /// The size in bytes of each reading connection's page cache, which fills as the connection reads: 0 or more. The
    /// default is 4 MiB. For readers of a caller's pool, the pool's configuration applies instead.
    public var readerCacheSize: Int
    /// The size in bytes of the writing connection's page cache: 0 or more. The default is 16 MiB. A transaction that
    /// changes more writes pages to the disk before it ends.
    public var writerCacheSize: Int
    /// Whether a read-only stack may let SQLite create the journal and its index beside the file, if no process has the
    /// store open. SQLite removes them when the last connection is closed. The stack itself writes nothing to the file.
    /// If another process opens the store meanwhile, and ends before this stack, SQLite copies the commits of that
    /// process from the journal into the file at the end, as every last connection does.
    ///
    /// If only the index is missing, as in a copy of the file and its journal, SQLite builds the index from the journal.
    /// The index then stays, and so do the commits in the journal.
    package var mayCreateJournal = false

    /// Creates a configuration. Omitted settings have their default values. If a value is out of its bounds, opening a
    /// stack throws `invalidArgument`.
    public init(
        isReadOnly: Bool = false,
        allowsUnopenedModels: Bool = false,
        synchronous: Synchronous = .full,
        busyTimeout: TimeInterval = 5,
        history: HistoryRetention = .standard,
        maximumReaderCount: Int = 32,
        readerCacheSize: Int = 4 << 20,
        writerCacheSize: Int = 16 << 20
    ) {
        self.isReadOnly = isReadOnly
        self.allowsUnopenedModels = allowsUnopenedModels
        self.synchronous = synchronous
        self.busyTimeout = busyTimeout
        self.history = history
        self.maximumReaderCount = maximumReaderCount
        self.readerCacheSize = readerCacheSize
        self.writerCacheSize = writerCacheSize
    }
}

extension StoreConfiguration {
    /// - Throws: ``StrataError`` with `invalidArgument` for a value that is out of its bounds.
    func check() throws {
        // NaN is neither negative nor zero or more.
        try StrataError.require(
            busyTimeout >= 0,
            "A `busyTimeout` of \(busyTimeout) seconds is not possible. It must be 0 or more."
        )
        try StrataError.require(
            maximumReaderCount >= 1,
            "A `maximumReaderCount` of \(maximumReaderCount) leaves no connection to read. It must be 1 or more."
        )
        for (name, size) in [("readerCacheSize", readerCacheSize), ("writerCacheSize", writerCacheSize)] {
            try StrataError.require(size >= 0, "A `\(name)` of \(size) bytes is negative. It must be 0 or more.")
        }
        try history.check()
    }
}
