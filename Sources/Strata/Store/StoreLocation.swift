public import Foundation
public import GRDB

/// Where a stack keeps its data.
public struct StoreLocation: Sendable {
    enum Kind: Sendable {
        case file(URL)
        case userData
        case inMemory
        case pool(DatabasePool)
    }

    let kind: Kind

    /// A SQLite file, which is made if there is none. Its folder must exist.
    public static func sqlite(_ url: URL) -> StoreLocation { StoreLocation(kind: .file(url)) }

    /// A SQLite file at a path, which is made if there is none. Its folder must exist.
    public static func sqlite(path: String) -> StoreLocation { .sqlite(URL(fileURLWithPath: path)) }

    /// A file in the user's data folder under the program's name: `$XDG_DATA_HOME` or `~/.local/share` on Linux,
    /// `Application Support` on Apple systems. The folder is made if there is none.
    public static let userData = StoreLocation(kind: .userData)

    /// For tests: a store of its own for each stack, in memory where the system has a folder for that, gone at `close()`.
    public static let inMemory = StoreLocation(kind: .inMemory)

    /// The file; nil for a store in memory.
    var path: String? {
        switch kind {
        case .file(let url): url.path
        case .userData: try? StoreFile.userDataURL().path
        case .inMemory: nil
        case .pool(let pool): pool.path
        }
    }

    /// A pool of your own, whose tables stand beside Strata's and whose observers hear of Strata's commits.
    ///
    /// The pool's configuration is used for Strata's readers too. You close it yourself, after the stack.
    public static func pool(_ pool: DatabasePool) -> StoreLocation { StoreLocation(kind: .pool(pool)) }
}

/// How a store is run.
public struct StoreConfiguration: Sendable {
    /// What a commit that has returned is safe from.
    public enum Synchronous: String, Sendable {
        /// Also a loss of power. The default.
        case full = "FULL"
        /// The end of the process and of the program, not always a loss of power: then the last commits may be missing,
        /// and the store is whole all the same.
        case normal = "NORMAL"
    }

    /// What a commit that has returned is safe from.
    public var synchronous: Synchronous
    /// How long to wait, in seconds, for another process that holds the store. After that `busy` is thrown.
    public var busyTimeout: TimeInterval
    /// How much of its history the store keeps.
    public var history: HistoryRetention
    /// How many connections that read are meant to be open at one time, at least 1. The default is 32.
    ///
    /// A block that has read holds one, two open files, until it ends. Blocks of `background` and of unnamed contexts take a place
    /// before they begin; beyond the limit they wait, in the order of calls. Blocks within blocks, named contexts, main, cursors and
    /// live queries never wait: they are counted, so that fewer others are let in.
    public var maximumReaderCount: Int
    /// How many bytes of pages a connection that reads keeps in memory, as it reads them. The default is 4 MiB. The readers of a pool of
    /// your own are as its configuration says.
    public var readerCacheSize: Int
    /// How many bytes of pages the connection that writes keeps in memory. The default is 16 MiB. A transaction that changes more writes
    /// pages to the disk before it ends.
    public var writerCacheSize: Int

    /// A configuration; what is left out is as it is by default.
    public init(
        synchronous: Synchronous = .full,
        busyTimeout: TimeInterval = 5,
        history: HistoryRetention = .standard,
        maximumReaderCount: Int = 32,
        readerCacheSize: Int = 4 << 20,
        writerCacheSize: Int = 16 << 20
    ) {
        self.synchronous = synchronous
        self.busyTimeout = busyTimeout
        self.history = history
        self.maximumReaderCount = maximumReaderCount
        self.readerCacheSize = readerCacheSize
        self.writerCacheSize = writerCacheSize
    }
}
