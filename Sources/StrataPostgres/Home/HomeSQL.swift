import Foundation
import Strata

/// The lists of a description as JSON.
struct DescriptionLists: Sendable {
    let steps: String
    let tables: String
    let earlier: String
}

/// The SQL of the tables that describe and order a store. All of them are in the schema of the store.
///
/// `strata_home` has one row. Its lock is the lock of the home, so its row is small: `toast_tuple_target` moves long
/// descriptions out of it, and a commit copies only the rest. `strata_ids` is separate, so that a reservation of ids
/// does not wait for commits.
///
/// A role that may create functions in a schema of the search path could make one whose arguments fit better than those
/// of PostgreSQL's function, and it would run with the rights of the node. So a call whose arguments do not have exactly
/// the declared types names the schema `pg_catalog`.
struct HomeSQL: Sendable {
    /// The name of the schema.
    let store: String
    private let schema: String
    private var home: String { "\(schema).strata_home" }
    private var ids: String { "\(schema).strata_ids" }
    private var feed: String { "\(schema).strata_feed" }
    private var nodes: String { "\(schema).strata_nodes" }

    init(store: String) {
        self.store = store
        schema = store.quotedIdentifier
    }

    // MARK: Creating

    /// Makes nodes that create the same store wait for each other.
    func lockCreation() -> PostgresStatement {
        var statement = once("SELECT pg_advisory_xact_lock(pg_catalog.hashtextextended($1, 0))")
        statement.parameters.append("strata \(store)")
        return statement
    }

    /// Whether the store exists, and whether its schema exists.
    ///
    /// Functions such as `to_regclass` read caches of the session. After a wait for an advisory lock, these may still
    /// lack what the holder has created.
    func exists() -> PostgresStatement {
        var statement = once(
            """
            SELECT EXISTS (
                SELECT FROM pg_catalog.pg_class AS class JOIN pg_catalog.pg_namespace AS space ON space.oid = relnamespace
                WHERE relname = 'strata_home' AND nspname = $1
            ), EXISTS (SELECT FROM pg_catalog.pg_namespace WHERE nspname = $1)
            """
        )
        statement.parameters.append(store)
        return statement
    }

    func createSchema() -> PostgresStatement { once("CREATE SCHEMA \(schema)") }

    /// Removes the schema with all tables, if it exists.
    func dropSchema() -> PostgresStatement { once("DROP SCHEMA IF EXISTS \(schema) CASCADE") }

    /// - Parameter nextID: the first id that may be reserved.
    func createTables(nextID: Int64) -> [PostgresStatement] {
        [
            once(
                """
                CREATE TABLE \(home) (
                    number bigint NOT NULL,
                    id uuid NOT NULL,
                    fingerprint bigint NOT NULL CHECK (fingerprint BETWEEN 1 AND 65535),
                    format bigint NOT NULL,
                    version bigint NOT NULL,
                    schema text NOT NULL,
                    steps json NOT NULL,
                    tables json NOT NULL,
                    generation bigint NOT NULL,
                    earlier json NOT NULL,
                    is_only_row boolean PRIMARY KEY DEFAULT true CHECK (is_only_row)
                ) WITH (toast_tuple_target = 128)
                """
            ),
            once(
                """
                CREATE TABLE \(ids) (
                    next bigint NOT NULL,
                    is_only_row boolean PRIMARY KEY DEFAULT true CHECK (is_only_row)
                )
                """
            ),
            once("INSERT INTO \(ids) (next) VALUES (\(nextID))"),
            once(
                """
                CREATE TABLE \(feed) (
                    number bigint PRIMARY KEY,
                    previous_number bigint NOT NULL,
                    previous_id uuid NOT NULL,
                    id uuid NOT NULL UNIQUE,
                    node uuid NOT NULL,
                    at timestamptz NOT NULL,
                    changes bytea NOT NULL,
                    generation bigint
                )
                """
            ),
            once(
                """
                CREATE TABLE \(nodes) (
                    name text COLLATE "C" PRIMARY KEY,
                    node uuid NOT NULL,
                    number bigint NOT NULL,
                    id uuid NOT NULL,
                    at timestamptz NOT NULL
                )
                """
            ),
        ]
    }

    /// - Parameter lists: the lists of the description as JSON.
    func insertHome(_ state: HomeState, _ lists: DescriptionLists) -> PostgresStatement {
        var statement = once(
            """
            INSERT INTO \(home)
                (number, id, fingerprint, format, version, schema, steps, tables, generation, earlier)
            VALUES ($1, $2, $3, $4, $5, $6, $7::json, $8::json, $9, $10::json)
            """
        )
        statement.parameters.append(state.position.number)
        statement.parameters.append(state.position.id)
        statement.parameters.append(Int64(state.fingerprint))
        append(state.description, lists, to: &statement)
        return statement
    }

    /// Changes the description of the store.
    func updateHome(_ description: HomeDescription, _ lists: DescriptionLists) -> PostgresStatement {
        var statement = once(
            """
            UPDATE \(home) SET format = $1, version = $2, schema = $3, steps = $4::json, tables = $5::json,
                generation = $6, earlier = $7::json
            """
        )
        append(description, lists, to: &statement)
        return statement
    }

    private func append(
        _ description: HomeDescription,
        _ lists: DescriptionLists,
        to statement: inout PostgresStatement
    ) {
        statement.parameters.append(description.format)
        statement.parameters.append(description.version)
        statement.parameters.append(description.schema)
        statement.parameters.append(lists.steps)
        statement.parameters.append(lists.tables)
        statement.parameters.append(description.generation)
        statement.parameters.append(lists.earlier)
    }

    /// The columns of ``insertHome(_:_:)``.
    func selectHome() -> PostgresStatement {
        once(
            """
            SELECT number, id, fingerprint, format, version, schema, steps::text, tables::text, generation,
                earlier::text
            FROM \(home)
            """
        )
    }

    /// About how many rows the tables of the store have, as the server has counted them when it last analysed them.
    func estimateRows() -> PostgresStatement {
        var statement = once(
            """
            SELECT COALESCE(sum(reltuples) FILTER (WHERE reltuples > 0), 0)::bigint
            FROM pg_catalog.pg_class AS class JOIN pg_catalog.pg_namespace AS space ON space.oid = relnamespace
            WHERE nspname = $1 AND relkind = 'r'
                AND relname NOT IN ('strata_home', 'strata_ids', 'strata_feed', 'strata_nodes')
            """
        )
        statement.parameters.append(store)
        return statement
    }

    // MARK: Transactions

    static let begin = PostgresStatement(sql: "BEGIN ISOLATION LEVEL READ COMMITTED, READ WRITE", isPrepared: false)
    static let beginSnapshot = PostgresStatement(
        sql: "BEGIN ISOLATION LEVEL REPEATABLE READ, READ ONLY",
        isPrepared: false
    )
    static let commit = PostgresStatement(sql: "COMMIT", isPrepared: false)
    /// Shows that the session is alive.
    static let nothing = PostgresStatement(sql: "SELECT", isPrepared: false)

    /// Sets a limit of time until the end of the transaction.
    ///
    /// - Parameter seconds: the time; nil for no limit. A time below a millisecond becomes one.
    static func set(_ limit: String, seconds: Double?) -> PostgresStatement {
        let milliseconds = seconds.map { Int64(min(max($0 * 1000, 1), Double(Int32.max))) } ?? 0
        var statement = PostgresStatement(sql: "SELECT set_config($1, $2, true)")
        statement.parameters.append(limit)
        statement.parameters.append("\(milliseconds)ms")
        return statement
    }

    /// Removes the limits of time of the open transaction. Unlike a SELECT, these statements do not determine the moment
    /// that a transaction with one snapshot sees.
    static let noLimits = ["idle_in_transaction_session_timeout", "statement_timeout"].map {
        PostgresStatement(sql: "SET LOCAL \($0) = 0", isPrepared: false)
    }

    /// Prepares the open transaction for reading whole tables.
    ///
    /// A sort sends nothing until it has read the whole table, and the reader gives up meanwhile. An index sends its
    /// first rows at once.
    ///
    /// The reader pauses while it writes rows. If it does so for `tcp_user_timeout`, the server's kernel ends the
    /// connection, although the machine of the reader answers. The usual 5 s are for machines that own the lock of the
    /// home. Here a minute does no harm, because the transaction delays only migrations.
    static let readsTables = ["enable_sort = off", "tcp_user_timeout = 60000"].map {
        PostgresStatement(sql: "SET LOCAL \($0)", isPrepared: false)
    }

    /// Lets COMMIT of the open transaction return before its log is flushed and has reached standbys.
    static let doNotWaitForFlush = PostgresStatement(sql: "SET LOCAL synchronous_commit = off")

    /// The position of the newest transaction.
    func selectPosition() -> PostgresStatement { PostgresStatement(sql: "SELECT number, id FROM \(home)") }

    /// The same. Takes the lock of the home.
    func lockPosition() -> PostgresStatement { PostgresStatement(sql: "SELECT number, id FROM \(home) FOR UPDATE") }

    /// The same. Fails at once with `lock_not_available` if a node has the lock.
    func lockPositionIfFree() -> PostgresStatement {
        PostgresStatement(sql: "SELECT number, id FROM \(home) FOR UPDATE NOWAIT")
    }

    /// The transactions after a position, oldest first: number, id, number and id of the one before, node, time,
    /// changes, and the generation or -1.
    ///
    /// - Parameter maxBytes: the size of the changes from which no further transaction follows; nil for no maximum.
    func selectTransactions(after position: HomePosition, limit: Int, maxBytes: Int64? = nil) -> PostgresStatement {
        // The sizes are known without reading the changes.
        var statement = PostgresStatement(
            sql: """
                SELECT number, id, previous_number, previous_id, node, at, changes, COALESCE(generation, -1) FROM (
                    SELECT *, sum(octet_length(changes)) OVER (ORDER BY number ROWS UNBOUNDED PRECEDING)
                        - octet_length(changes) AS bytes_before
                    FROM \(feed) WHERE number > $1 ORDER BY number LIMIT $2
                ) AS portion WHERE bytes_before < $3 ORDER BY number
                """
        )
        statement.parameters.append(position.number)
        statement.parameters.append(Int64(limit))
        statement.parameters.append(maxBytes ?? .max)
        return statement
    }

    /// Advances the position of the home.
    ///
    /// If the home has another position than the transaction is based on, the number becomes NULL. The column does not
    /// allow this, so the whole transaction fails.
    func advance(_ transaction: HomeTransaction) -> PostgresStatement {
        var statement = PostgresStatement(
            sql: "UPDATE \(home) SET number = CASE WHEN number = $1 AND id = $2 THEN $3 END, id = $4"
        )
        statement.parameters.append(transaction.previous.number)
        statement.parameters.append(transaction.previous.id)
        statement.parameters.append(transaction.position.number)
        statement.parameters.append(transaction.position.id)
        return statement
    }

    func insertTransaction(_ transaction: HomeTransaction) -> PostgresStatement {
        let columns = "number, id, previous_number, previous_id, node, at, changes"
        var statement = PostgresStatement(
            sql: transaction.generation == nil
                ? "INSERT INTO \(feed) (\(columns)) VALUES ($1, $2, $3, $4, $5, $6, $7)"
                : "INSERT INTO \(feed) (\(columns), generation) VALUES ($1, $2, $3, $4, $5, $6, $7, $8)"
        )
        statement.parameters.append(transaction.position.number)
        statement.parameters.append(transaction.position.id)
        statement.parameters.append(transaction.previous.number)
        statement.parameters.append(transaction.previous.id)
        statement.parameters.append(transaction.node)
        statement.parameters.append(transaction.time)
        statement.parameters.append(transaction.changes.bytes)
        if let generation = transaction.generation { statement.parameters.append(generation) }
        return statement
    }

    /// The number and the time of the oldest or newest transaction of the feed.
    func selectEnd(isNewest: Bool) -> PostgresStatement {
        once("SELECT number, at FROM \(feed) WHERE number > 0 ORDER BY number \(isNewest ? "DESC" : "ASC") LIMIT 1")
    }

    /// The number of transactions of the feed, and the bytes of their changes.
    func measureFeed() -> PostgresStatement {
        once("SELECT count(*), COALESCE(sum(octet_length(changes)), 0)::bigint FROM \(feed) WHERE number > 0")
    }

    /// Whether the feed has a transaction.
    func hasTransaction(_ id: UUID) -> PostgresStatement {
        var statement = PostgresStatement(sql: "SELECT EXISTS (SELECT 1 FROM \(feed) WHERE id = $1 AND number > 0)")
        statement.parameters.append(id)
        return statement
    }

    /// Refuses a transaction that the feed does not have, also if its request arrives later: a row with the same id and
    /// a number below 0. The ids of the feed are unique. Called with the lock.
    func refuseTransaction(_ id: UUID) -> PostgresStatement {
        var statement = PostgresStatement(
            sql: """
                INSERT INTO \(feed) (number, previous_number, previous_id, id, node, at, changes)
                SELECT LEAST(min(number), 0) - 1, 0, $1, $1, $1, now(), ''::bytea FROM \(feed)
                ON CONFLICT (id) DO NOTHING
                """
        )
        statement.parameters.append(id)
        return statement
    }

    /// Deletes the oldest transactions, but never the newest one.
    ///
    /// All of them are older than the others, so that the rest is a sequence without gaps: the times come from the
    /// clocks of several nodes, and are not always in the order of the numbers.
    func prune(keeping count: Int64, age: Double, limit: Int64) -> PostgresStatement {
        var statement = PostgresStatement(
            sql: """
                DELETE FROM \(feed) WHERE number > 0 AND number < LEAST(
                    GREATEST(
                        (SELECT max(number) - $1 + 1 FROM \(feed)),
                        COALESCE(
                            (
                                SELECT min(number) FROM \(feed)
                                WHERE number > 0 AND at >= now() - make_interval(secs => $2)
                            ),
                            (SELECT max(number) FROM \(feed))
                        )
                    ),
                    (SELECT number FROM \(feed) WHERE number > 0 ORDER BY number OFFSET $3 LIMIT 1)
                )
                """
        )
        statement.parameters.append(count)
        statement.parameters.append(age)
        statement.parameters.append(limit)
        return statement
    }

    /// Deletes the rows of ``refuseTransaction(_:)`` after a day. No network delays a request that long.
    func deleteOldRefusals() -> PostgresStatement {
        PostgresStatement(sql: "DELETE FROM \(feed) WHERE number < 0 AND at < now() - interval '1 day'")
    }

    // MARK: Ids

    func reserveIDs(_ count: Int64) -> PostgresStatement {
        var statement = PostgresStatement(sql: "UPDATE \(ids) SET next = next + $1 RETURNING next - $1")
        statement.parameters.append(count)
        return statement
    }

    // MARK: Nodes

    /// Stores the report of a node, and returns its time by the clock of the server.
    func report(_ position: HomePosition, of node: UUID, named name: String) -> PostgresStatement {
        var statement = PostgresStatement(
            sql: """
                INSERT INTO \(nodes) (name, node, number, id, at) VALUES ($1, $2, $3, $4, clock_timestamp())
                ON CONFLICT (name) DO UPDATE
                SET node = EXCLUDED.node, number = EXCLUDED.number, id = EXCLUDED.id, at = EXCLUDED.at
                RETURNING at
                """
        )
        statement.parameters.append(name)
        statement.parameters.append(node)
        statement.parameters.append(position.number)
        statement.parameters.append(position.id)
        return statement
    }

    /// Deletes the reports of nodes that have been silent for a day.
    func deleteSilentNodes() -> PostgresStatement {
        PostgresStatement(sql: "DELETE FROM \(nodes) WHERE at < now() - interval '1 day'")
    }

    /// The reports: name, id of the node, number and id of its position, time, seconds since then, and the number and
    /// id of the newest position of the home. One statement reads all of one moment.
    func selectNodes() -> PostgresStatement {
        PostgresStatement(
            sql: """
                SELECT n.name, n.node, n.number, n.id, n.at,
                    GREATEST(extract(epoch FROM clock_timestamp() - n.at), 0)::double precision,
                    h.number, h.id
                FROM \(nodes) AS n CROSS JOIN \(home) AS h ORDER BY n.name
                """
        )
    }

    // MARK: Notifications

    /// The channel has the name of the schema.
    func notify(_ payload: String) -> PostgresStatement {
        var statement = PostgresStatement(sql: "SELECT pg_notify($1, $2)")
        statement.parameters.append(store)
        statement.parameters.append(payload)
        return statement
    }

    func listen() -> PostgresStatement { once("LISTEN \(schema)") }

    /// A statement that runs once for each connection at most.
    private func once(_ sql: String) -> PostgresStatement { PostgresStatement(sql: sql, isPrepared: false) }
}
