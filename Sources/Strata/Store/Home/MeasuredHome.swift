import Foundation

/// A home whose calls are measured.
struct MeasuredHome: StoreHome {
    private let home: any StoreHome
    private let metrics: HomeMetrics

    init(_ home: any StoreHome, _ metrics: HomeMetrics) {
        self.home = home
        self.metrics = metrics
    }

    var name: String { home.name }

    func open(
        _ proposal: HomeDescription,
        busyTimeout: TimeInterval,
        synchronous: StoreConfiguration.Synchronous
    ) throws -> HomeState {
        try metrics.measure(.open) {
            try home.open(proposal, busyTimeout: busyTimeout, synchronous: synchronous)
        }
    }

    func create(
        _ state: HomeState,
        nextID: Int64,
        _ fill: (_ insert: (_ table: String, _ rows: [[StoredValue]]) throws -> Void) throws -> Void
    ) throws -> Bool {
        try metrics.measure(.create) { try home.create(state, nextID: nextID, fill) }
    }

    func migrate(
        within limit: TimeInterval,
        _ plan: (HomeState) throws -> HomeMigration?,
        _ fill: (_ insert: (_ table: String, _ rows: [[StoredValue]]) throws -> Void) throws -> Void
    ) throws -> Bool {
        let isMigrated = try metrics.measure(.migrate) { try home.migrate(within: limit, plan, fill) }
        if isMigrated { metrics.notePublished() }
        return isMigrated
    }

    func copy(_ receive: (_ table: String, _ rows: [[StoredValue]]) throws -> Void) throws -> HomePosition {
        try metrics.measure(.copy) { try home.copy(receive) }
    }

    func transactions(after position: HomePosition, limit: Int) throws -> HomePortion {
        try metrics.measure(.transactions) { try home.transactions(after: position, limit: limit) }
    }

    func newest() throws -> HomePosition { try metrics.measure(.newest) { try home.newest() } }

    func lock(after position: HomePosition, limit: Int) throws -> [HomeTransaction] {
        try metrics.measure(.lock) { try home.lock(after: position, limit: limit) }
    }

    func publish(_ transaction: HomeTransaction) throws {
        try metrics.measure(.publish) { try home.publish(transaction) }
        metrics.notePublished()
    }

    func publishIfNewest(_ transaction: HomeTransaction) throws -> Bool {
        let isStored = try metrics.measure(.publishIfNewest) { try home.publishIfNewest(transaction) }
        if isStored { metrics.notePublished() }
        return isStored
    }

    func unlock() { home.unlock() }

    func outcome(of id: UUID) throws -> Bool {
        let isStored = try metrics.measure(.outcome) { try home.outcome(of: id) }
        // This call follows a `publish` without an answer, which was not counted.
        if isStored { metrics.notePublished() }
        return isStored
    }

    func reserveIDs(_ count: Int64) throws -> Int64 {
        try metrics.measure(.reserveIDs) { try home.reserveIDs(count) }
    }

    func report(_ position: HomePosition, of node: UUID, named name: String) throws -> HomeMoment {
        try metrics.measure(.report) { try home.report(position, of: node, named: name) }
    }

    func nodes() throws -> [HomeNodeStatus] { try metrics.measure(.nodes) { try home.nodes() } }

    func listen(_ notify: @escaping @Sendable () -> Void) { home.listen(notify) }

    func close() { home.close() }
}
