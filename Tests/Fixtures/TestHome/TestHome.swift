import CTestHome
import FileHome
import Foundation
import PostgresCluster
import Strata
import StrataPostgres
import Synchronization

/// The homes that the stores of tests get, if the environment has `STRATA_TEST_HOME`.
///
/// - `file`: each store has a ``FileHome`` beside its file.
/// - `postgres`: each store has a schema in a server that this process starts, or whose connection string is in
///   `STRATA_TEST_POSTGRES`. Child processes get the variable from ``environment``.
///
/// Every process that links this module opens the same file with the same home. A file that existed before its home
/// stays as it is. A file whose path ends with `.home` is beside each store: the home, or a mark of it.
///
/// Isolation: any.
public enum TestHome {
    fileprivate enum Kind: String {
        case file, postgres
    }

    /// Nil without the variable. Other values end the process, because the tests would pass without a home.
    fileprivate static let kind: Kind? = {
        guard let text = getenv("STRATA_TEST_HOME") else { return nil }
        guard let kind = Kind(rawValue: String(cString: text)) else {
            fatalError("STRATA_TEST_HOME is '\(String(cString: text))'. Set it to `file` or `postgres`.")
        }
        return kind
    }()

    private static let addressName = "STRATA_TEST_POSTGRES"

    /// A server for stores of several tests and processes. Their schemas come and go.
    private static let cluster = Result {
        try PostgresCluster(settings: ["max_connections = 500", "autovacuum = on"])
    }

    private static let address = Result {
        try ProcessInfo.processInfo.environment[addressName] ?? cluster.get().address
    }

    /// The variables that a child process needs beside those of this process, so that it finds the same homes.
    public static var environment: [String: String] {
        guard kind == .postgres, let address = try? address.get() else { return [:] }
        return [addressName: address]
    }

    /// The home of a store that this process opens; nil if the file has none.
    fileprivate static func home(of url: URL) throws -> (any StoreHome)? {
        let folder = url.deletingLastPathComponent().resolvingSymlinksInPath()
        let file = folder.appending(path: url.lastPathComponent).resolvingSymlinksInPath()
        // The home itself, or a mark that the store has one.
        let mark = file.path + ".home"
        let files = FileManager.default
        let isNew = !files.fileExists(atPath: file.path)
        guard files.isWritableFile(atPath: folder.path), isNew || files.fileExists(atPath: mark) else { return nil }
        removeAbandonedHomes()
        openings.withLock { $0.add(file) }
        switch kind {
        case nil: return nil
        case .file: return keep(FileHome(URL(filePath: mark)))
        case .postgres:
            guard files.createFile(atPath: mark, contents: Data()) else {
                throw CocoaError(.fileWriteUnknown, userInfo: [NSFilePathErrorKey: mark])
            }
            return keep(try PostgresHome(try address.get(), store: schemaName(of: file)))
        }
    }

    /// The homes that were opened last.
    private static let homes = Mutex<[any StoreHome]>([])
    /// A server with this number of nodes needs some hundred connections. No test uses as many stores at once.
    private static let homeLimit = 100

    /// Closes the home that was opened long ago, if there is one. Engines that a test has not closed keep their store and
    /// its connections until the process ends.
    private static func keep(_ home: any StoreHome) -> any StoreHome {
        let oldest = homes.withLock { homes in
            homes.append(home)
            return homes.count > homeLimit ? homes.removeFirst() : nil
        }
        oldest?.close()
        return home
    }

    /// The name of a store's schema. It is the same in all processes.
    private static func schemaName(of file: URL) -> String {
        // FNV-1a of 64 bits.
        var hash: UInt64 = 0xcbf2_9ce4_8422_2325
        for byte in file.path.utf8 { hash = (hash ^ UInt64(byte)) &* 0x100_0000_01b3 }
        return "store \(String(hash, radix: 16))"
    }
}

// MARK: Removing homes

extension TestHome {
    /// The stores of this process, with the number of their last opening.
    private struct Openings {
        private var numbers: [URL: Int] = [:]
        private var count = 0

        mutating func add(_ file: URL) {
            count += 1
            numbers[file] = count
        }

        /// Forgets the stores that do not exist any more, and returns them. A store that was opened just now may not
        /// exist yet.
        mutating func takeRemoved() -> [URL] {
            let removed = numbers.filter {
                $0.value + 32 < count && !FileManager.default.fileExists(atPath: $0.key.path)
            }
            for file in removed.keys { numbers[file] = nil }
            return Array(removed.keys)
        }
    }

    private static let openings = Mutex(Openings())

    /// Removes the homes of stores that tests have removed. The schemas that are left end with the server.
    private static func removeAbandonedHomes() {
        for file in openings.withLock({ $0.takeRemoved() }) {
            for suffix in ["", "-wal", "-shm", ".ids", ".ids-journal"] {
                try? FileManager.default.removeItem(atPath: file.path + ".home" + suffix)
            }
            guard kind == .postgres, let address = try? address.get() else { continue }
            // A node that has not ended yet may hold a lock. Then the schema stays.
            try? PostgresHome(address, store: schemaName(of: file), timeout: 2).removeStore()
        }
    }
}

/// Called when the program is loaded, by `CTestHome`. Other modules may not be ready, so the function only sets a
/// closure.
@c(strata_test_home_begin) public func beginTestHome() {
    guard getenv("STRATA_TEST_HOME") != nil else { return }
    HomeOverride.set { try TestHome.home(of: $0) }
}
