public import Foundation

/// The place that orders and keeps the commits of a store that several machines share.
///
/// Each machine, a *node*, has a working copy of the store: a SQLite file on which its contexts, queries and pipelines
/// run. A commit of a node counts when the home has stored it. The other nodes then apply it to their copies. So the
/// home is the only truth, and a copy can be made again from it at any time.
///
/// `StrataPostgres` has a home in PostgreSQL. A type of your own can be a home if it keeps these promises:
///
/// - Transactions have one order. Each is based on the one before it: see ``HomeTransaction/previous``.
/// - While a node holds the lock, no other node publishes, with or without the lock. The lock of a node that dies, or
///   that does not answer, ends after a time that the home chooses.
/// - A published transaction is durable when ``publish(_:)`` returns, unless the node has opened the home with
///   ``StoreConfiguration/Synchronous/normal``.
///
/// Isolation: any. Each call waits for the home. A commit in a block on the main actor waits there, as it waits for the
/// disk. One thread at a time calls ``lock(after:limit:)``, ``publish(_:)``, ``publishIfNewest(_:)`` and ``unlock()``. The
/// other functions may be called at the same time as these and as each other.
///
/// Errors: all functions throw ``StrataError``. `unreachable` means that the home did not answer, and that the call has
/// changed nothing. Each call ends after a time that the home chooses, also if the network does not answer.
public protocol StoreHome: Sendable {
    /// The home in messages, in logs, and in the record in each copy. Contains no password. Two homes have the same
    /// name only if they are the same store.
    var name: String { get }

    /// Connects to the home. If the home has no store yet, this call creates one. The call can be repeated.
    ///
    /// - Parameters:
    ///   - proposal: the description of this program's models, for a new store.
    ///   - busyTimeout: the seconds for which ``lock(after:limit:)`` waits for other nodes; may be infinite.
    ///   - synchronous: the failures that a published transaction survives. With `normal`, a crash of the home may lose
    ///     the last transactions of this node, so that other nodes that have seen them get `homeBehind`.
    /// - Returns: the state of the home. Its description may differ from the proposal.
    func open(
        _ proposal: HomeDescription,
        busyTimeout: TimeInterval,
        synchronous: StoreConfiguration.Synchronous
    ) throws -> HomeState

    /// Creates the store of the home with the rows of an existing store: all of them, or nothing. Can be called without
    /// ``open(_:busyTimeout:synchronous:)``.
    ///
    /// - Parameters:
    ///   - state: the state after the creation. Its position is not ``HomePosition/start``, and the home keeps no
    ///     transactions before it.
    ///   - nextID: the first id that ``reserveIDs(_:)`` may return.
    ///   - fill: calls its argument with the rows of one table at a time, in any number of portions. Each row has the
    ///     values of the columns of ``HomeTable/columns``, in their order.
    /// - Returns: false if the home has a store already. Then `fill` is not called, and nothing is changed.
    /// - Throws: an error of `fill`, or of the home, and the home has no store; `uncertain` if the connection was lost
    ///   at the end, so that the home may have the store with all rows.
    func create(
        _ state: HomeState,
        nextID: Int64,
        _ fill: (_ insert: (_ table: String, _ rows: [[StoredValue]]) throws -> Void) throws -> Void
    ) throws -> Bool

    /// Changes the description of the store, its tables and their rows in one transaction: all of it, or nothing.
    ///
    /// The node has the lock during the whole call, so that no other node commits meanwhile. ``open(_:busyTimeout:)``
    /// then returns the new description. Nodes with the earlier models keep the tables that they know, also if they are
    /// opened after the migration: their rows may lack the columns that it has added.
    ///
    /// - Parameters:
    ///   - limit: the seconds for which the call waits for the lock.
    ///   - plan: called with the lock and with the newest state. Returns nil for no change. May call
    ///     ``transactions(after:limit:)`` and ``reserveIDs(_:)``.
    ///   - fill: called after `plan`, with a function that inserts rows of the tables in
    ///     ``HomeMigration/replacedTables``. Each row has the values of the new columns, in their order.
    /// - Returns: false if `plan` has returned nil.
    /// - Throws: an error of `plan` or `fill`, and nothing is changed; `busy` if other nodes have held the lock for the
    ///   whole time, or other programs a table that changes; `notPermitted` if this node may not change tables;
    ///   `uncertain` if the connection was lost at the end, so that the store may be migrated. After an error, the lock
    ///   is free.
    func migrate(
        within limit: TimeInterval,
        _ plan: (HomeState) throws -> HomeMigration?,
        _ fill: (_ insert: (_ table: String, _ rows: [[StoredValue]]) throws -> Void) throws -> Void
    ) throws -> Bool

    /// Reads all rows of the home at one moment.
    ///
    /// - Parameter receive: called for portions of rows of one table, in any order of tables. Each row has the values
    ///   of the columns of ``HomeTable/columns``, in their order. Any order of rows is correct. In the order of their
    ///   ids, they are written the quickest.
    /// - Returns: the position of the home at that moment.
    /// - Throws: `schemaMismatch` if the store was migrated since ``open(_:busyTimeout:)``.
    func copy(_ receive: (_ table: String, _ rows: [[StoredValue]]) throws -> Void) throws -> HomePosition

    /// The transactions after a position. There may be fewer than the limit although others follow, so that large ones
    /// do not come together.
    ///
    /// - Parameters:
    ///   - position: the last transaction that the node has.
    ///   - limit: the maximum number of transactions.
    /// - Throws: `homeExpired` if the home does not keep the transactions after this position any more, and
    ///   `homeBehind` if it does not know the position: an earlier state of the home was restored.
    func transactions(after position: HomePosition, limit: Int) throws -> HomePortion

    /// The position of the newest transaction.
    func newest() throws -> HomePosition

    /// Takes the lock of the home, and reads the transactions after a position.
    ///
    /// - Parameters:
    ///   - position: the last transaction that the node has.
    ///   - limit: the maximum number of transactions.
    /// - Returns: the transactions, oldest first. If there are as many as the limit, others may follow.
    /// - Throws: as ``transactions(after:limit:)``, and `busy` if other nodes have held the lock for the whole
    ///   `busyTimeout`. After an error, the lock is free.
    func lock(after position: HomePosition, limit: Int) throws -> [HomeTransaction]

    /// Stores a transaction, and frees the lock. Called with the lock.
    ///
    /// - Throws: `unreachable` if the transaction is certainly not stored; `uncertain` if this is not known, because
    ///   the connection was lost before the answer. After an error, the lock is free.
    func publish(_ transaction: HomeTransaction) throws

    /// Stores a transaction without the lock, if it is based on the newest one. Called without the lock.
    ///
    /// This call does not wait for other nodes: the caller has locked its working copy, and the owner of the home's lock
    /// may wait for that copy.
    ///
    /// - Returns: false if another transaction came first, or a node has the lock. Then nothing is stored.
    /// - Throws: as ``publish(_:)``.
    func publishIfNewest(_ transaction: HomeTransaction) throws -> Bool

    /// Frees the lock without a transaction. Does nothing without the lock.
    func unlock()

    /// Whether a transaction is stored. The answer is final: a transaction that is not stored will not be, even if the
    /// request of ``publishIfNewest(_:)`` was lost on its way, and arrives later.
    func outcome(of id: UUID) throws -> Bool

    /// Reserves ids of objects, durably. No two calls of any node get the same id.
    ///
    /// - Returns: the first of the ids.
    func reserveIDs(_ count: Int64) throws -> Int64

    /// Records how far a node is, and removes the records of nodes that have not reported for a day.
    ///
    /// Strata calls this function every few seconds, apart from commits. The call needs no lock, and does not wait for
    /// the lock of another node. It gives up after a few seconds, because a report that is left out does no harm.
    ///
    /// - Parameters:
    ///   - position: the last transaction that the working copy of the node contains.
    ///   - node: the random id under which the node publishes: see ``HomeTransaction/node``.
    ///   - name: the name of the node. A report replaces the earlier one with the same name.
    /// - Returns: the clock of the home and its newest position, both during this call.
    func report(_ position: HomePosition, of node: UUID, named name: String) throws -> HomeMoment

    /// The nodes that have reported within a day, in the order of their names. Gives up after a few seconds.
    ///
    /// ``HomeNodeStatus/newest`` is read together with the reports, or after them. Otherwise a node that commits in
    /// between would seem to be ahead.
    func nodes() throws -> [HomeNodeStatus]

    /// Calls a function after transactions of other nodes, on any thread. Calls may be missing: the connection can be
    /// lost, and some servers in front of a home pass no notifications on. Strata therefore also asks once a second.
    func listen(_ notify: @escaping @Sendable () -> Void)

    /// Ends all connections and threads. Waits for running calls, but not much longer than their timeouts, so that none
    /// of them uses a library while the process ends.
    ///
    /// Safe to call twice, and from the function that was passed to ``listen(_:)``.
    func close()
}

extension StoreHome {
    /// Connects to the home as ``open(_:busyTimeout:synchronous:)`` does, with durable transactions.
    public func open(_ proposal: HomeDescription, busyTimeout: TimeInterval) throws -> HomeState {
        try open(proposal, busyTimeout: busyTimeout, synchronous: .full)
    }
}

/// A point in the order of a home's transactions.
public struct HomePosition: Sendable, Hashable {
    /// The number of the transaction, which is higher by 1 than that of the one before; 0 for a home without
    /// transactions.
    public let number: Int64
    /// The random id of the transaction. Another id with the same number shows that the home has lost transactions.
    public let id: UUID

    /// The point after a transaction.
    public init(number: Int64, id: UUID) {
        self.number = number
        self.id = id
    }

    /// The number of transactions from another point to this one, by their numbers; 0 if this point is not later.
    package func transactionCount(after other: HomePosition) -> Int64 {
        guard number > other.number else { return 0 }
        // A position that was read may have any number.
        let (count, isTooLarge) = number.subtractingReportingOverflow(other.number)
        return isTooLarge ? .max : count
    }

    /// The point before the first transaction.
    public static let start = HomePosition(number: 0, id: UUID(uuid: (0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0)))
}

/// Transactions that follow a position: see ``StoreHome/transactions(after:limit:)``.
public struct HomePortion: Sendable {
    /// Oldest first.
    public let transactions: [HomeTransaction]
    /// Whether they are all that the home had when it was asked. True if there are none.
    public let isComplete: Bool

    /// Creates a portion.
    ///
    /// - Parameters:
    ///   - transactions: the transactions, oldest first.
    ///   - isComplete: whether the home had no others. A portion without transactions is always complete.
    public init(_ transactions: [HomeTransaction], isComplete: Bool) {
        self.transactions = transactions
        self.isComplete = isComplete || transactions.isEmpty
    }
}

/// One or several commits of a node that the home stores together, and that all nodes apply together.
public struct HomeTransaction: Sendable {
    /// The point that the transaction is based on.
    public let previous: HomePosition
    /// The point after the transaction.
    public let position: HomePosition
    /// The random id of the node that has committed.
    public let node: UUID
    /// When the transaction was published, by the clock of the node.
    public let time: Date
    /// The changed rows. A row may lack the last columns of its table, if the node has the models from before a
    /// migration that has added them: an inserted row has their default values, and an updated row keeps its values.
    public let changes: HomeChanges
    /// The ``HomeDescription/generation`` of the store after a migration; nil for all other transactions.
    public let generation: Int64?

    /// Creates a transaction.
    public init(
        previous: HomePosition,
        position: HomePosition,
        node: UUID,
        time: Date,
        changes: HomeChanges,
        generation: Int64? = nil
    ) {
        self.previous = previous
        self.position = position
        self.node = node
        self.time = time
        self.changes = changes
        self.generation = generation
    }
}

/// A change of the models of a store: see ``StoreHome/migrate(within:_:_:)``.
///
/// The home gets its new tables from the old and the new description:
///
/// - A table that only the old description has is removed, and a table that only the new one has is created.
/// - A table of ``replacedTables`` is removed, if it exists, and created with the new columns.
/// - All other tables keep their rows. If the new description has more columns, these are added after the others. Each
///   row gets their ``HomeTable/Column/defaultValue``, and so does each row that a node inserts without them.
public struct HomeMigration: Sendable {
    /// The position of the migration, and the changes of rows of the tables that are not replaced and get no columns.
    public let transaction: HomeTransaction
    /// The description of the store after the migration.
    public let description: HomeDescription
    /// The names of the tables whose rows are given anew.
    public let replacedTables: Set<UTF8Text>

    /// Creates a migration.
    public init(transaction: HomeTransaction, description: HomeDescription, replacedTables: Set<UTF8Text>) {
        self.transaction = transaction
        self.description = description
        self.replacedTables = replacedTables
    }

    /// Whether the rows of a table are given anew.
    public func replaces(_ table: String) -> Bool { replacedTables.contains(UTF8Text(table)) }
}

/// The store of a home.
public struct HomeState: Sendable {
    /// The part of all ids of objects that distinguishes this store from others. 1 to 65,535.
    public let fingerprint: UInt16
    /// The models and tables of the store, as the program that created or migrated it has proposed them.
    public let description: HomeDescription
    /// The position of the newest transaction.
    public let position: HomePosition
    /// About how many rows the tables have, for the progress of a copy; nil if the home does not know.
    public let rowCount: Int64?

    /// Creates a state.
    public init(
        fingerprint: UInt16,
        description: HomeDescription,
        position: HomePosition,
        rowCount: Int64? = nil
    ) {
        self.fingerprint = fingerprint
        self.description = description
        self.position = position
        self.rowCount = rowCount
    }
}

/// The tables of a store, and the texts from which Strata recognises its models.
public struct HomeDescription: Sendable, Hashable, Codable {
    /// The format of Strata's own tables.
    public var format: Int64
    /// The version that the program gives to its models.
    public var version: Int64
    /// The description of the models, as Strata records it in a store.
    public var schema: String
    /// The names of the migration steps that have run, in their order.
    public var steps: [String]
    /// The tables whose rows the home keeps. A home may create them in any form that keeps the values.
    public var tables: [HomeTable]
    /// The number of migrations after which programs with the earlier models could not continue.
    public var generation: Int64
    /// Texts from which Strata recognises the models that the store had before its migrations. They also say whether
    /// programs with these models can continue.
    public var earlier: [String]

    /// Creates a description.
    public init(
        format: Int64,
        version: Int64,
        schema: String,
        steps: [String],
        tables: [HomeTable],
        generation: Int64 = 0,
        earlier: [String] = []
    ) {
        self.format = format
        self.version = version
        self.schema = schema
        self.steps = steps
        self.tables = tables
        self.generation = generation
        self.earlier = earlier
    }
}

/// A table of a store. Its primary key is the first column, an integer.
public struct HomeTable: Sendable, Hashable, Codable {
    /// A column of a table.
    public struct Column: Sendable, Hashable, Codable {
        /// The name, unique in its table.
        public var name: String
        /// The kind of all values that are not NULL.
        public var type: ColumnType
        /// Whether the column may contain NULL.
        public var isOptional: Bool
        /// Whether the column may contain integers beyond `Int64.max`, up to `UInt64.max`. Such a value is a blob of eight
        /// bytes, the most significant one first; all others are integers. Only for columns of the type `integer`.
        public var isUnsigned: Bool
        /// The value in rows of nodes that do not know the column, because a migration has added it; nil for NULL, and
        /// for a column that all nodes know.
        public var defaultValue: StoredValue?

        /// Creates a column.
        public init(
            name: String,
            type: ColumnType,
            isOptional: Bool,
            isUnsigned: Bool = false,
            defaultValue: StoredValue? = nil
        ) {
            self.name = name
            self.type = type
            self.isOptional = isOptional
            self.isUnsigned = isUnsigned
            self.defaultValue = defaultValue
        }
    }

    /// The name, unique in the store.
    public var name: String
    /// All columns, in the order in which ``HomeChanges`` gives their values.
    public var columns: [Column]

    /// Creates a table.
    public init(name: String, columns: [Column]) {
        self.name = name
        self.columns = columns
    }
}
