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

    /// A configuration; what is left out is as it is by default.
    public init(
        synchronous: Synchronous = .full,
        busyTimeout: TimeInterval = 5,
        history: HistoryRetention = .standard
    ) {
        self.synchronous = synchronous
        self.busyTimeout = busyTimeout
        self.history = history
    }
}
