public import Strata

/// A promise of ``StoreHome`` that every kind of home must keep. The raw value states the promise.
///
/// A test target checks a home with one parameterised test:
///
/// ```swift
/// @Test(arguments: HomePromise.allCases) func promise(_ promise: HomePromise) throws {
///     let place = try NewPlace()
///     try promise.check { MyHome(place) }
/// }
/// ```
public enum HomePromise: String, CaseIterable, Sendable, CustomStringConvertible {
    case createsOnce = "Nodes that open a new home at the same time get the same store"
    case createsWithRows = "A home is created with all rows of an existing store, or not at all"
    case keepsDescription = "A later node gets the description that the home has"
    case keepsOrder = "Transactions have one order, and each names the one before it"
    case limitsTransactions = "A limit divides the transactions into portions"
    case refusesOutdated = "A transaction that is not based on the newest one is refused"
    case publishesWithoutLock =
        "Without the lock, a transaction is stored only if it follows the newest one, and no node has the lock"
    case joinsNodes = "Three nodes that publish at the same time lose nothing"

    case racesNodes = "Three nodes that publish at the same time without the lock lose and overwrite nothing"

    case migrates = "A migration changes the description, the tables and their rows, or nothing"
    case migratesBesideOthers = "After new columns and tables, nodes that do not know them keep their values"
    case migratesWithLock = "A migration keeps other nodes out, and waits for the lock of another node"

    case keepsValues = "The rows of the home have every value of every storage class"
    case appliesChanges = "Inserts, updates of single columns and deletes change the rows of the home"
    case keepsNames = "Tables and columns may have any name"
    case copiesOneMoment = "A copy shows one moment, and does not delay a transaction of another node"

    case locksOutOthers = "The lock keeps other nodes out until their timeout"
    case waitsForLock = "A node that waits for the lock gets it after the transaction of the other node"
    case readsWhileLocked = "Reading and reserving ids do not wait for the lock of another node"
    case unlocks = "Without a transaction, unlocking frees the lock and changes nothing"
    case unlocksAtClose = "Closing a node frees its lock"

    case knowsOutcome = "The home knows whether a transaction is stored"
    case reservesOnce = "No id is reserved twice"
    case notifies = "A node is notified of the transactions of another node"
    case listsNodes = "Nodes report how far they are, also while another node has the lock"
    case refusesUnknownPositions = "Positions that the home does not know are refused"
    case closesTwice = "A closed node may be closed again, and does not disturb others"

    public var description: String { rawValue }

    /// Checks the promise.
    ///
    /// - Parameter make: makes a connection that is not open yet. All connections lead to the same home, which has no
    ///   store before this call.
    /// - Throws: ``HomeFailure`` if the home breaks the promise; an error of the home.
    public func check(_ make: () throws -> any StoreHome) throws {
        let nodes = try (0..<3).map { _ in HomeNode(try make()) }
        defer { for node in nodes { node.home.close() } }
        switch self {
        case .createsOnce: try Self.checkCreation(nodes)
        case .createsWithRows: try Self.checkCreationWithRows(nodes)
        case .keepsDescription: try Self.checkDescription(nodes)
        case .keepsOrder: try Self.checkOrder(nodes)
        case .limitsTransactions: try Self.checkLimit(nodes)
        case .refusesOutdated: try Self.checkOutdated(nodes)
        case .publishesWithoutLock: try Self.checkPublishingWithoutLock(nodes)
        case .joinsNodes: try Self.checkConcurrency(nodes) { try $0.publish($1).position }
        case .racesNodes: try Self.checkConcurrency(nodes) { try $0.publishWithoutLock($1).position }
        case .migrates: try Self.checkMigration(nodes)
        case .migratesBesideOthers: try Self.checkAddition(nodes)
        case .migratesWithLock: try Self.checkLockOfMigration(nodes)
        case .keepsValues: try Self.checkValues(nodes)
        case .appliesChanges: try Self.checkChanges(nodes)
        case .keepsNames: try Self.checkNames(nodes)
        case .copiesOneMoment: try Self.checkCopy(nodes)
        case .locksOutOthers: try Self.checkLock(nodes)
        case .waitsForLock: try Self.checkWaiting(nodes)
        case .readsWhileLocked: try Self.checkReading(nodes)
        case .unlocks: try Self.checkUnlocking(nodes)
        case .unlocksAtClose: try Self.checkLockOfClosed(nodes)
        case .knowsOutcome: try Self.checkOutcome(nodes)
        case .reservesOnce: try Self.checkIDs(nodes)
        case .notifies: try Self.checkNotifications(nodes)
        case .listsNodes: try Self.checkNodes(nodes)
        case .refusesUnknownPositions: try Self.checkPositions(nodes)
        case .closesTwice: try Self.checkClosing(nodes)
        }
    }
}
