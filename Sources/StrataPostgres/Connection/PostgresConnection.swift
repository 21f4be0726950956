import CStrataPostgres
import Foundation
import Strata

/// A statement with its parameters.
struct PostgresStatement: Sendable {
    let sql: String
    var parameters = PostgresParameters()
    /// Whether the server keeps the plan for the next time.
    var isPrepared = true
}

/// A connection to a server.
///
/// All statements but COPY run in libpq's pipeline mode: they are sent together, and the results come back together, in
/// one round trip. libpq does not block. Every wait has a deadline.
///
/// Isolation: not thread-safe. One thread at a time uses it.
final class PostgresConnection {
    /// The connection of libpq, which this object ends.
    let connection: OpaquePointer
    /// The names of prepared statements by their SQL.
    private var prepared: [UTF8Text: String] = [:]
    /// The number of names that were used.
    private var preparations = 0
    /// Begins the names. A pooler may give a session to several clients, and no client may run a statement of another
    /// one.
    private let namePrefix = UUID().uuidString.prefix(8)
    private let preparesStatements: Bool?
    /// Whether a pooler is between this connection and the server: the process to which libpq would send the
    /// cancellation of a statement is not that of the session.
    private(set) var isPooled = false
    /// Whether a pipeline or a COPY has not ended as it should. The connection is then of no use.
    var isUnfinished = false
    /// The bytes that were given to libpq since they were last flushed.
    var pendingBytes = 0

    private static let maxPrepared = 200
    /// libpq keeps at most about as many bytes as this before they are sent.
    private static let maxPendingBytes = 4 << 20

    /// Lets the server end the session of a machine that has died, after at most about 11 s, and returns the process of
    /// the session.
    ///
    /// A session that waits for the rest of a pipeline keeps its transaction and its locks. The server's limits for
    /// idle sessions count only between pipelines, and by default its kernel asks after two hours whether the client is
    /// still there. ``ConnectionSettings`` has the same settings for this side. On a Unix socket they have no effect.
    private static let firstStatement = PostgresStatement(
        sql: """
            SELECT pg_catalog.set_config('tcp_user_timeout', '5000', false),
                pg_catalog.set_config('tcp_keepalives_idle', '5', false),
                pg_catalog.set_config('tcp_keepalives_interval', '2', false),
                pg_catalog.set_config('tcp_keepalives_count', '3', false),
                pg_catalog.pg_backend_pid()::bigint
            """,
        isPrepared: false
    )

    /// Connects to the first host that answers and has the required role.
    ///
    /// - Parameters:
    ///   - settings: the hosts and the parameters of the connection.
    ///   - preparesStatements: whether the server keeps plans of statements; nil if it does so without a pooler.
    ///   - deadline: the end of the attempts.
    /// - Throws: `PostgresFailure`, with the messages for all hosts.
    static func open(
        _ settings: ConnectionSettings,
        preparesStatements: Bool?,
        until deadline: Deadline
    ) throws -> PostgresConnection {
        var messages: [String] = []
        var isAnswered = false
        for (index, host) in settings.hosts.enumerated() {
            try deadline.checkEnd()
            let share = deadline.share(ofAttempts: settings.hosts.count - index, limit: settings.attemptLimit)
            do {
                let parameters = settings.parameters(for: host)
                let connection = try PostgresConnection(
                    parameters,
                    preparesStatements: preparesStatements,
                    until: share
                )
                let process = try connection.run([firstStatement], until: share)[0].integer(row: 0, column: 4)
                connection.isPooled = process != Int64(PQbackendPID(connection.connection))
                return connection
            } catch let failure as PostgresFailure {
                messages.append(failure.message)
                isAnswered = isAnswered || failure.isAnswered
            }
        }
        var failure = PostgresFailure(.connection, messages.joined(separator: "; "))
        failure.isAnswered = isAnswered
        throw failure
    }

    private init(
        _ parameters: [ConnectionSettings.Parameter],
        preparesStatements: Bool?,
        until deadline: Deadline
    ) throws {
        guard let connection = Self.start(parameters) else { throw PostgresFailure(.connection, "out of memory") }
        self.connection = connection
        self.preparesStatements = preparesStatements
        // libpq would print the server's notices on standard error.
        PQsetNoticeProcessor(connection, { _, _ in }, nil)
        try finishConnecting(until: deadline)
        guard PQsetnonblocking(connection, 1) == 0, PQenterPipelineMode(connection) == 1 else { throw loss }
        // The server converts texts, but it has no place for all characters.
        let encoding = PQparameterStatus(connection, "server_encoding").map { String(cString: $0) } ?? ""
        guard encoding.hasSameBytes(as: "UTF8") else {
            throw PostgresFailure(.format, "the database has the encoding \(encoding) instead of UTF8")
        }
    }

    deinit { PQfinish(connection) }

    private static func start(_ parameters: [ConnectionSettings.Parameter]) -> OpaquePointer? {
        let keywords: [UnsafeMutablePointer<CChar>?] = parameters.map { strdup($0.keyword) }
        let values: [UnsafeMutablePointer<CChar>?] = parameters.map { strdup($0.value) }
        defer { for text in keywords + values { free(text) } }
        let keywordPointers: [UnsafePointer<CChar>?] = keywords.map { UnsafePointer($0) } + [nil]
        let valuePointers: [UnsafePointer<CChar>?] = values.map { UnsafePointer($0) } + [nil]
        return PQconnectStartParams(keywordPointers, valuePointers, 0)
    }

    private func finishConnecting(until deadline: Deadline) throws {
        guard PQstatus(connection) != CONNECTION_BAD else { throw loss }
        var events = POLLOUT
        var isAnswered = false
        while true {
            try wait(for: events, until: deadline)
            // libpq waits for bytes only after the network has connected it.
            if events == POLLIN { isAnswered = true }
            switch PQconnectPoll(connection) {
            case PGRES_POLLING_READING: events = POLLIN
            case PGRES_POLLING_WRITING: events = POLLOUT
            case PGRES_POLLING_OK: return
            default:
                var failure = loss
                failure.isAnswered = isAnswered
                throw failure
            }
        }
    }

    // MARK: State

    /// The descriptor of the socket; negative without a connection.
    var socket: Int32 { PQsocket(connection) }

    /// Whether statements can be sent.
    var isUsable: Bool { !isUnfinished && PQstatus(connection) == CONNECTION_OK }

    /// Whether a transaction is open, or has failed and not been rolled back.
    var isInTransaction: Bool { PQtransactionStatus(connection) != PQTRANS_IDLE }

    /// The failure of a connection that is lost, in the words of libpq.
    var loss: PostgresFailure {
        PostgresFailure(.connection, PQerrorMessage(connection).map { String(cString: $0) } ?? "")
    }

    // MARK: Pipelines

    /// Sends statements, and waits for their results.
    ///
    /// Outside a transaction, the statements are one transaction. If one fails, the server skips the rest.
    ///
    /// - Returns: a result for each statement.
    /// - Throws: `PostgresFailure`. If a server's refusal ended a transaction, the caller rolls it back.
    @discardableResult
    func run(_ statements: [PostgresStatement], until deadline: Deadline) throws -> [PostgresRows] {
        var sent = 0
        do {
            try checkForLoss()
            isUnfinished = true
            var messages: [UTF8Text?] = []
            for statement in statements {
                sent += 1
                messages.append(try send(statement))
                if pendingBytes > Self.maxPendingBytes { try flush(until: deadline) }
            }
            guard PQpipelineSync(connection) == 1 else { throw loss }
            let results = try receive(messages, until: deadline)
            // A pooler passes on the notifications that another client has subscribed to in the same session. libpq
            // would keep them for ever.
            _ = receivedNotifications()
            return results
        } catch let failure as PostgresFailure {
            throw failure.havingSent(sent)
        }
    }

    /// Ends the open transaction without its changes.
    func rollBack(until deadline: Deadline) throws {
        try run([PostgresStatement(sql: "ROLLBACK", isPrepared: false)], until: deadline)
    }

    /// Gives a statement to libpq.
    ///
    /// - Returns: the SQL of a statement that is prepared before. The server answers this first.
    private func send(_ statement: PostgresStatement) throws -> UTF8Text? {
        let parameters = statement.parameters
        let count = Int32(parameters.types.count)
        let (name, preparation) = try prepare(statement)
        let isSent = parameters.withPointers { values, lengths, formats -> Bool in
            if let name {
                PQsendQueryPrepared(connection, name, count, values, lengths, formats, 1) == 1
            } else {
                PQsendQueryParams(
                    connection,
                    statement.sql,
                    count,
                    parameters.types,
                    values,
                    lengths,
                    formats,
                    1
                ) == 1
            }
        }
        guard isSent else { throw loss }
        pendingBytes += parameters.byteCount + statement.sql.utf8.count
        return preparation
    }

    /// The name of a prepared statement, nil for a statement that is not prepared; and its SQL if it is prepared now.
    private func prepare(_ statement: PostgresStatement) throws -> (name: String?, preparation: UTF8Text?) {
        guard statement.isPrepared, preparesStatements ?? !isPooled else { return (nil, nil) }
        let key = UTF8Text(statement.sql)
        if let name = prepared[key] { return (name, nil) }
        guard prepared.count < Self.maxPrepared else { return (nil, nil) }
        let name = "strata_\(namePrefix)_\(preparations)"
        preparations += 1
        let types = statement.parameters.types
        guard PQsendPrepare(connection, name, statement.sql, Int32(types.count), types) == 1 else { throw loss }
        prepared[key] = name
        return (name, key)
    }

    private func receive(_ preparations: [UTF8Text?], until deadline: Deadline) throws -> [PostgresRows] {
        var results: [PostgresRows] = []
        var refusal: PostgresFailure?
        var current = 0
        do {
            for (index, preparation) in preparations.enumerated() {
                current = index
                if let preparation {
                    let (rows, failure) = try receiveOne(until: deadline)
                    refusal = refusal ?? failure?.refusing(index)
                    if rows == nil { prepared[preparation] = nil }
                }
                let (rows, failure) = try receiveOne(until: deadline)
                refusal = refusal ?? failure?.refusing(index)
                if let rows { results.append(rows) }
            }
            guard let end = try next(until: deadline), end.status == PGRES_PIPELINE_SYNC else {
                throw PostgresFailure(.format, "the server's answers do not end")
            }
        } catch let failure as PostgresFailure {
            // An earlier refusal is the reason for the later ones.
            throw refusal ?? failure.refusing(current)
        }
        isUnfinished = false
        if let refusal { throw refusal }
        guard results.count == preparations.count else {
            throw PostgresFailure(.format, "the server has skipped a statement")
        }
        return results
    }

    /// Receives the answer to one message.
    ///
    /// - Returns: neither rows nor a failure if the server has skipped the message.
    private func receiveOne(until deadline: Deadline) throws -> (rows: PostgresRows?, failure: PostgresFailure?) {
        var (rows, failure): (PostgresRows?, PostgresFailure?) = (nil, nil)
        do {
            while let result = try next(until: deadline) {
                switch result.status {
                case PGRES_COMMAND_OK, PGRES_TUPLES_OK: rows = result
                case PGRES_PIPELINE_ABORTED: break
                default:
                    failure = failure ?? result.failure
                    if PQstatus(connection) == CONNECTION_BAD { throw loss }
                }
            }
        } catch {
            // The server gives the reason before it ends the connection.
            throw failure ?? error
        }
        return (rows, failure)
    }
}

extension PostgresFailure {
    /// The failure of a statement; the end of a session refuses no statement.
    fileprivate func refusing(_ statement: Int) -> PostgresFailure {
        var failure = self
        if case .server = kind, !endsSession { failure.refusedStatement = statement }
        return failure
    }
}
