public import Foundation
import GRDB
public import Strata
import Synchronization

/// A home in a second SQLite file, for tests. Several threads and processes may use one file.
///
/// The lock of the home is SQLite's lock for writing: it is held from BEGIN IMMEDIATE in ``lock(after:limit:)`` to the
/// end of ``publish(_:)``, and ends with the process. The file is in WAL mode, so that the other calls do not wait for
/// the lock. The ids are in a separate file for the same reason.
///
/// A published transaction survives the end of the process, not a loss of power.
public final class FileHome: StoreHome {
    /// The file. `.ids` is appended to its path for the file of the ids.
    public let url: URL
    /// The faults of this connection.
    public let faults: HomeFaults
    public var name: String { "file:" + url.path }

    /// The durability that the last opening has asked for, which a home for tests need not give; nil before it.
    public var synchronous: StoreConfiguration.Synchronous? { askedFor.withLock { $0 } }

    private let askedFor = Mutex<StoreConfiguration.Synchronous?>(nil)
    /// Nil before ``open(_:busyTimeout:synchronous:)`` and after ``close()``.
    private let files = Mutex<HomeFiles?>(nil)
    /// The last transaction that this connection has published, which it does not report to itself.
    private let published = Mutex(HomePosition.start)

    /// Creates a connection. It opens the file in ``open(_:busyTimeout:synchronous:)``.
    public init(_ url: URL, faults: HomeFaults = HomeFaults()) {
        self.url = url
        self.faults = faults
    }

    public func open(
        _ proposal: HomeDescription,
        busyTimeout: TimeInterval,
        synchronous: StoreConfiguration.Synchronous
    ) throws -> HomeState {
        try faults.begin(.open)
        askedFor.withLock { $0 = synchronous }
        return try Self.translatingErrors {
            try files.withLock { files in
                var opened = try files ?? HomeFiles(url.path, proposal, busyTimeout: busyTimeout)
                let state = try opened.store.read { try $0.homeState() }
                opened.description = state.description
                files = opened
                return state
            }
        }
    }

    public func create(
        _ state: HomeState,
        nextID: Int64,
        _ fill: (_ insert: (_ table: String, _ rows: [[StoredValue]]) throws -> Void) throws -> Void
    ) throws -> Bool {
        try faults.begin(.create)
        let tables = Dictionary(uniqueKeysWithValues: state.description.tables.map { ($0.name, $0) })
        let isCreated = try Self.translatingErrors {
            try HomeFiles.create(url.path, state, nextID: nextID) { db in
                try fill { name, rows in
                    guard let table = tables[name] else {
                        throw StrataError(.invalidState, "The home has no table \(name).")
                    }
                    for row in rows { try db.insert(row, into: table) }
                }
                faults.reach(.duringCreate)
            }
        }
        faults.reach(.afterCreate)
        return isCreated
    }

    public func migrate(
        within limit: TimeInterval,
        _ plan: (HomeState) throws -> HomeMigration?,
        _ fill: (_ insert: (_ table: String, _ rows: [[StoredValue]]) throws -> Void) throws -> Void
    ) throws -> Bool {
        try perform(.migrate) { files in
            let isMigrated = try files.store.writeWithoutTransaction { db -> Bool in
                try db.beginLock(within: limit)
                do {
                    let isMigrated = try migrate(db, plan, fill)
                    if isMigrated { faults.reach(.duringMigrate) }
                    try db.commit()
                    return isMigrated
                } catch {
                    if db.isInsideTransaction { try? db.rollback() }
                    throw error
                }
            }
            if isMigrated { faults.reach(.afterMigrate) }
            return isMigrated
        }
    }

    /// Migrates the store in the open transaction.
    private func migrate(
        _ db: Database,
        _ plan: (HomeState) throws -> HomeMigration?,
        _ fill: (_ insert: (_ table: String, _ rows: [[StoredValue]]) throws -> Void) throws -> Void
    ) throws -> Bool {
        guard let migration = try plan(try db.homeState()) else { return false }
        faults.reach(.beforeMigrate)
        try db.migrate(migration)
        let tables = Dictionary(uniqueKeysWithValues: migration.description.tables.map { ($0.name, $0) })
        try fill { name, rows in
            guard let table = tables[name], migration.replaces(name) else {
                throw StrataError(.invalidState, "The migration does not replace the table \(name).")
            }
            for row in rows { try db.insert(row, into: table) }
        }
        return true
    }

    public func copy(_ receive: (_ table: String, _ rows: [[StoredValue]]) throws -> Void) throws -> HomePosition {
        try perform(.copy) { files in
            try files.store.read { db in
                guard try db.description() == files.description else {
                    throw StrataError(.schemaMismatch, "The home was migrated since it was opened.")
                }
                for table in files.description.tables {
                    try db.forEachPortion(of: table) { try receive(table.name, $0) }
                }
                return try db.position()
            }
        }
    }

    public func transactions(after position: HomePosition, limit: Int) throws -> HomePortion {
        try perform(.transactions) { files in
            try files.store.read { db in
                let transactions = try db.transactions(after: position, limit: limit)
                let last = transactions.last?.position ?? position
                return HomePortion(transactions, isComplete: try db.position() == last)
            }
        }
    }

    public func newest() throws -> HomePosition {
        try perform(.newest) { files in try files.store.read { try $0.position() } }
    }

    public func lock(after position: HomePosition, limit: Int) throws -> [HomeTransaction] {
        try perform(.lock) { files in
            try files.store.writeWithoutTransaction { db in
                guard !db.isInsideTransaction else {
                    throw StrataError(.invalidState, "This connection has the lock of the home already.")
                }
                try db.beginLock()
                do { return try db.transactions(after: position, limit: limit) } catch {
                    try db.rollback()
                    throw error
                }
            }
        }
    }

    public func publish(_ transaction: HomeTransaction) throws {
        // A refusal frees the lock too.
        defer { unlock() }
        try perform(.publish) { files in
            let lostAnswer = faults.nextLostAnswer()
            faults.reach(.beforePublish)
            try files.store.writeWithoutTransaction { db in
                guard db.isInsideTransaction else {
                    throw StrataError(.invalidState, "This connection does not have the lock of the home.")
                }
                try db.append(transaction, of: files.description)
                if lostAnswer == .notStored { return }
                published.withLock { $0 = transaction.position }
                try db.commit()
            }
            faults.reach(.afterPublish)
            if lostAnswer != nil { throw StrataError(.uncertain, "The test has lost the answer of the home.") }
        }
    }

    public func publishIfNewest(_ transaction: HomeTransaction) throws -> Bool {
        try perform(.publish) { files in
            faults.reach(.beforePublish)
            typealias Answer = (isStored: Bool, lost: HomeFaults.LostAnswer?)
            let (isStored, lostAnswer) = try files.store.writeWithoutTransaction { db -> Answer in
                guard try db.beginIfFree() else { return (false, nil) }
                do {
                    guard try db.position() == transaction.previous else {
                        try db.rollback()
                        return (false, nil)
                    }
                    try db.append(transaction, of: files.description)
                    let lostAnswer = faults.nextLostAnswer()
                    if lostAnswer == .notStored {
                        try db.rollback()
                    } else {
                        published.withLock { $0 = transaction.position }
                        try db.commit()
                    }
                    return (true, lostAnswer)
                } catch {
                    if db.isInsideTransaction { try? db.rollback() }
                    throw error
                }
            }
            if isStored { faults.reach(.afterPublish) }
            if lostAnswer != nil { throw StrataError(.uncertain, "The test has lost the answer of the home.") }
            return isStored
        }
    }

    public func unlock() {
        // The rollback of a closed connection fails, but it has no lock.
        try? files.withLock({ $0 })?.store.writeWithoutTransaction { try $0.rollback() }
    }

    public func outcome(of id: UUID) throws -> Bool {
        try perform(.outcome) { files in try files.store.read { try $0.hasTransaction(id) } }
    }

    public func reserveIDs(_ count: Int64) throws -> Int64 {
        try perform(.reserveIDs) { files in try files.reserveIDs(count) }
    }

    public func report(_ position: HomePosition, of node: UUID, named name: String) throws -> HomeMoment {
        try perform(.report) { files in
            let time = faults.time
            try files.report(position, of: node, named: name, at: time)
            return HomeMoment(time: time, position: try files.store.read { try $0.position() })
        }
    }

    public func nodes() throws -> [HomeNodeStatus] {
        try perform(.nodes) { files in try files.nodes(at: faults.time) }
    }

    public func listen(_ notify: @escaping @Sendable () -> Void) {
        guard let start = position(ifUnreadable: .start) else { return }
        Thread.detachNewThread { [weak self] in
            var seen = start
            while let position = self?.position(ifUnreadable: seen) {
                if position != seen, self?.hasPublished(position) == false { notify() }
                seen = position
                Thread.sleep(forTimeInterval: 0.02)
            }
        }
    }

    public func close() {
        // The files are closed when the last call that uses them has ended. GRDB crashes if a closed file is read.
        _ = files.withLock { $0.take() }
    }
}

extension FileHome {
    /// Removes the transactions up to a number from the feed. For older positions, the home then throws `homeExpired`.
    public func prune(through number: Int64) throws {
        try Self.translatingErrors { try openFiles().store.write { try $0.prune(through: number) } }
    }

    /// Goes back to the state after an earlier transaction, as if a backup had been restored. For later positions, the
    /// home then throws `homeBehind`. The reserved ids do not go back.
    ///
    /// - Throws: `homeExpired` if the feed does not reach back to the transaction.
    public func rewind(to number: Int64) throws {
        try Self.translatingErrors {
            let files = try openFiles()
            try files.store.write { try $0.rewind(to: number, of: files.description) }
        }
    }

    private func openFiles() throws -> HomeFiles {
        guard let files = self.files.withLock({ $0 }) else { throw StrataError(.closed, "The home is not open.") }
        return files
    }

    /// The position of the newest transaction; nil if the home is not open.
    private func position(ifUnreadable other: HomePosition) -> HomePosition? {
        guard let files = try? openFiles() else { return nil }
        return (try? files.store.read { try $0.position() }) ?? other
    }

    private func hasPublished(_ position: HomePosition) -> Bool { published.withLock { $0 == position } }

    /// Runs a call with the faults that the test has chosen.
    private func perform<Value>(_ call: HomeFaults.Call, _ body: (HomeFiles) throws -> Value) throws -> Value {
        let files = try openFiles()
        try faults.begin(call)
        return try Self.translatingErrors { try body(files) }
    }

    /// All functions of a home throw `StrataError`.
    private static func translatingErrors<Value>(_ body: () throws -> Value) throws -> Value {
        do { return try body() } catch let error as DatabaseError {
            let isBusy = error.resultCode == .SQLITE_BUSY
            throw StrataError(isBusy ? .unreachable : .database, "The file of the home: \(error)", underlying: error)
        }
    }
}
