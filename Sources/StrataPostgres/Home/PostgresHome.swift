public import Foundation
public import Strata
import Synchronization

/// The home of a store in PostgreSQL: the place that orders and keeps the commits of a store that several machines
/// share.
///
/// ```swift
/// let home = try PostgresHome("host=db1,db2 dbname=shop user=orders", store: "orders")
/// ```
///
/// The store is one schema of the database. It has a table for each model, which other programs may read, and must
/// never write. A table or column whose name PostgreSQL cannot have gets a shorter name that ends with a hash. The
/// tables whose names begin with `strata_` belong to Strata.
///
/// **Servers.** The home needs PostgreSQL 12 or later, and a database with the encoding UTF8. It is tested with version
/// 15. It uses four connections: for commits, for reads, for notifications, and for the list of nodes. A connection
/// that is lost is made again by the next call. With several hosts, each connection takes the first host that answers
/// and accepts writes.
///
/// **Poolers.** PgBouncer may be in front of the server, in the mode `session` or `transaction`. The home notices a
/// pooler by itself. In the mode `transaction`, no notifications arrive. The pool needs five connections for each
/// process.
///
/// **Security.** Connections to other machines use TLS, and check the server's certificate and name
/// (`sslmode=verify-full`), unless the connection string or `PGSSLMODE` says otherwise. Messages contain hosts and the
/// database, but no password. ``PostgresRoles`` gives a node no more rights than it needs.
///
/// **Durability.** A commit is as durable as the settings of the database make it: see `synchronous_commit` in the
/// manual of PostgreSQL. A stack with `synchronous: .normal` turns `synchronous_commit` off for its commits.
///
/// Isolation: any, as `StoreHome` says.
public final class PostgresHome: StoreHome {
    /// How long the home keeps transactions for nodes that have not applied them. A node that is further behind copies
    /// all rows again.
    public struct Retention: Sendable, Hashable {
        /// The maximum number of transactions.
        public var count: Int64
        /// The maximum age in seconds, by the times at which the nodes have published.
        public var age: TimeInterval

        /// Creates a retention; by default a million transactions, or those of seven days if they are fewer.
        public init(count: Int64 = 1_000_000, age: TimeInterval = 7 * 86_400) {
            self.count = count
            self.age = age
        }
    }

    /// What the home learns when it is opened.
    struct Opened: Sendable {
        let busyTimeout: TimeInterval
        let synchronous: StoreConfiguration.Synchronous
        let description: HomeDescription
        /// The tables by their names.
        let tables: [UTF8Text: TableSQL]

        /// The statements that give the open transaction its durability.
        var durability: [PostgresStatement] { synchronous == .normal ? [HomeSQL.doNotWaitForFlush] : [] }
    }

    /// The seconds for which a node may work while it has the lock. Afterwards it counts as stuck.
    static let workLimit: TimeInterval = 600

    public let name: String
    let settings: ConnectionSettings
    let sql: HomeSQL
    let timeout: TimeInterval
    let lockTimeout: TimeInterval
    let retention: Retention
    let preparesStatements: Bool?
    /// The connection for commits. It has an open transaction while this node holds the lock.
    let writing: ConnectionSlot
    /// The connection for reads and ids.
    let reading: ConnectionSlot
    /// The connection for the list of nodes. A report that waits for the server delays no reservation of ids.
    let reporting: ConnectionSlot
    let listener: NotificationListener
    let lockKeeper: LockKeeper
    let opened = Mutex<Opened?>(nil)
    /// The number of published transactions.
    let published = Mutex<Int>(0)

    /// Describes a home. ``open(_:busyTimeout:synchronous:)`` connects to it.
    ///
    /// - Parameters:
    ///   - connection: a connection string of libpq: keywords and values (`host=db dbname=shop`), or a URI
    ///     (`postgresql://db/shop`). As with other programs over libpq, missing settings come from the environment
    ///     (`PGHOST`), and a missing password from the password file. Strata sets `target_session_attrs=read-write` and
    ///     limits for dead connections, unless the string or the environment gives them. A file of services does not
    ///     change these defaults.
    ///   - store: the name of the schema, with 1 to 63 bytes.
    ///   - timeout: the seconds after which a call gives up, in addition to the time that it waits for the lock. A
    ///     commit gets one more second for each megabyte. A new working copy is made as long as the server is never
    ///     silent for this time. The look-up of a host name has the limits of the system.
    ///   - lockTimeout: the seconds after which the server takes the lock from a node that does not answer. A node that
    ///     works keeps the lock for up to ten minutes. A commit that needs the lock for longer fails.
    ///   - retention: how long transactions are kept.
    ///   - preparesStatements: whether the server keeps plans of statements. By default it does so unless a connection
    ///     pooler is between this process and the server. Pass `true` if the pooler supports prepared statements, or
    ///     has the mode `session`.
    /// - Throws: `invalidArgument` if the connection string is not valid, or a number is not positive; `invalidName` if
    ///   the name is empty or too long.
    public init(
        _ connection: String,
        store: String,
        timeout: TimeInterval = 10,
        lockTimeout: TimeInterval = 5,
        retention: Retention = Retention(),
        preparesStatements: Bool? = nil
    ) throws {
        guard (1...PostgresName.maxBytes).contains(store.utf8.count), !store.utf8.contains(0) else {
            throw StrataError(
                .invalidName,
                "The name '\(store)' of a store is a name of a schema, and must have 1 to \(PostgresName.maxBytes) bytes in "
                    + "UTF-8, without U+0000."
            )
        }
        guard timeout > 0, lockTimeout > 0, retention.count > 0, retention.age > 0 else {
            throw StrataError(.invalidArgument, "The timeouts and the retention of a home must be positive.")
        }
        settings = try ConnectionSettings(connection)
        sql = HomeSQL(store: store)
        name = "\(settings.place)/\(store)"
        self.timeout = timeout
        self.lockTimeout = lockTimeout
        self.retention = retention
        self.preparesStatements = preparesStatements
        writing = ConnectionSlot(settings, preparesStatements: preparesStatements)
        reading = ConnectionSlot(settings, preparesStatements: preparesStatements)
        reporting = ConnectionSlot(settings, preparesStatements: preparesStatements)
        listener = NotificationListener(settings, sql.listen(), timeout: timeout)
        lockKeeper = LockKeeper(writing, lockTimeout: lockTimeout, timeout: timeout / 2, limit: Self.workLimit)
    }

    /// Describes the home that a working copy names.
    ///
    /// - Parameters:
    ///   - connection: a connection string of libpq that leads to the hosts and the database of the home.
    ///   - name: the name of the home in the copy.
    ///   - timeout: the seconds after which a call gives up.
    /// - Throws: `invalidArgument` if the connection string is not valid, or leads to another place.
    package convenience init(_ connection: String, named name: String, timeout: TimeInterval) throws {
        let prefix = try ConnectionSettings(connection).place + "/"
        guard name.hasBytePrefix(prefix) else {
            throw StrataError(
                .invalidArgument,
                "The home of this working copy is \(name), and the connection string leads to \(prefix). Give the "
                    + "hosts, ports and database with which the program opens the home."
            )
        }
        try self.init(connection, store: name.droppingFirstBytes(prefix.utf8.count), timeout: timeout)
    }

    deinit { close() }

    public func listen(_ notify: @escaping @Sendable () -> Void) { listener.start(notify) }

    public func close() {
        // The timeout may be infinite.
        let patience = min(timeout, 60)
        listener.end(within: patience)
        for slot in [writing, reading, reporting] { slot.close(within: patience) }
    }
}

// MARK: Errors

extension PostgresHome {
    /// Calls a function, and describes the failures of its connections.
    func describingFailures<Result>(_ body: () throws -> Result) throws -> Result {
        do { return try body() } catch let failure as PostgresFailure { throw error(for: failure) }
    }

    func error(for failure: PostgresFailure) -> StrataError {
        switch failure.kind {
        case .connection, .timeout:
            return unreachable(failure)
        case .format:
            return StrataError(.damagedStore, "The store of \(name) cannot be read: \(failure).", underlying: failure)
        case .server(let state):
            if state.hasSameBytes(as: "55P03") {
                return StrataError(
                    .busy,
                    "Other nodes have held the lock of \(name) for the whole busy timeout. Commit again.",
                    underlying: failure
                )
            }
            if state.hasSameBytes(as: "53100") {
                return StrataError(
                    .diskFull,
                    "The disk of the server of \(name) is full. Free space there, then commit again.",
                    underlying: failure
                )
            }
            if state.hasSameBytes(as: "42501") {
                return StrataError(
                    .notPermitted,
                    "The role of the connection to \(name) may not do this: \(failure). If the store does not exist yet, "
                        + "check its name, or let its owner create it first. Otherwise use the role that the command "
                        + "'strata home roles' made for this, or give the role the right.",
                    underlying: failure
                )
            }
            // A statement that was prepared does not exist.
            if state.hasSameBytes(as: "26000") {
                return StrataError(
                    .invalidArgument,
                    "A pooler in front of the server of \(name) does not keep prepared statements: \(failure). Leave out "
                        + "'preparesStatements: true', or use the mode 'session' of the pooler.",
                    underlying: failure
                )
            }
            // 53: the server has no memory or no connection left. 57014: a statement has taken too long.
            if failure.isLoss || state.hasBytePrefix("53") || state.hasSameBytes(as: "57014") {
                return unreachable(failure)
            }
            return StrataError(
                .database,
                "The server of \(name) has refused a statement: \(failure).",
                underlying: failure
            )
        }
    }

    private func unreachable(_ failure: PostgresFailure) -> StrataError {
        let message =
            if failure.isAnswered {
                "The server of \(name) answers, but the connection failed: \(failure). Nothing was written. Correct what "
                    + "this reason names, such as the password, the database or a certificate. If the server only starts, "
                    + "ends, is full or still a standby, try again later."
            } else {
                "The home \(name) cannot be reached: \(failure). Nothing was written. Try again when the server answers."
            }
        return StrataError(.unreachable, message, underlying: failure)
    }
}
