import Foundation
import Strata
import Synchronization

/// A connection that is made when it is first needed, and made again when it was lost. One caller at a time uses it.
///
/// Isolation: any. A caller waits for the others, but not beyond its own time.
final class ConnectionSlot: @unchecked Sendable {
    // The proof of `@unchecked Sendable`: `lock` protects `connection`, which never leaves the functions of this class
    // except as an argument of a body that runs under the lock. All other properties are constant and `Sendable`.
    private let lock = NSLock()
    private var connection: PostgresConnection?
    private let isClosed = Mutex(false)
    private let settings: ConnectionSettings
    private let preparesStatements: Bool?

    init(_ settings: ConnectionSettings, preparesStatements: Bool?) {
        self.settings = settings
        self.preparesStatements = preparesStatements
    }

    /// Calls a function with the connection. If a kept connection was lost, the function is called once more with a
    /// new one.
    ///
    /// - Parameters:
    ///   - seconds: the time for the whole call.
    ///   - isRepeatable: whether the function is safe to repeat. Otherwise it is called again only if nothing was sent.
    /// - Throws: `PostgresFailure`, or the errors of `body`. No transaction is open then.
    func use<Result>(
        within seconds: TimeInterval,
        isRepeatable: Bool = true,
        _ body: (PostgresConnection, Deadline) throws -> Result
    ) throws -> Result {
        try locked(seconds) { deadline in
            if let connection, connection.isUsable {
                do {
                    if connection.isInTransaction { try connection.rollBack(until: deadline) }
                    return try attempt(connection, deadline, body)
                } catch let failure as PostgresFailure
                    where failure.isLoss && (isRepeatable || failure.sentStatements == 0)
                {
                    self.connection = nil
                }
            }
            let new = try PostgresConnection.open(settings, preparesStatements: preparesStatements, until: deadline)
            connection = new
            return try attempt(new, deadline, body)
        }
    }

    /// Calls a function with the connection if it has an open transaction.
    ///
    /// - Returns: nil if the connection does not exist, or has no open transaction.
    /// - Throws: as ``use(within:_:)``.
    func continueTransaction<Result>(
        within seconds: TimeInterval,
        _ body: (PostgresConnection, Deadline) throws -> Result
    ) throws -> Result? {
        try locked(seconds) { deadline in
            guard let connection, connection.isUsable, connection.isInTransaction else { return nil }
            return try attempt(connection, deadline, body)
        }
    }

    /// Sends a statement in the open transaction, so that the server does not end an idle session. Does nothing while a
    /// call uses the connection.
    ///
    /// - Returns: false if the connection has no open transaction, or was lost.
    func touchTransaction(within seconds: TimeInterval) -> Bool {
        guard lock.try() else { return true }
        defer {
            lock.unlock()
            endIfClosed()
        }
        guard let connection, connection.isUsable, connection.isInTransaction else { return false }
        let results = try? attempt(connection, Deadline(seconds: seconds)) { connection, deadline in
            try connection.run([HomeSQL.nothing], until: deadline)
        }
        return results != nil
    }

    /// Ends the connection after the running call. Later calls throw.
    ///
    /// - Parameter seconds: how long to wait for the running call. If it takes longer, it ends the connection itself.
    func close(within seconds: TimeInterval) {
        isClosed.withLock { $0 = true }
        guard lock.lock(before: Self.date(after: seconds)) else { return }
        connection = nil
        lock.unlock()
    }

    /// Ends the connection of a closed home, unless a call is running, which does so at its end.
    private func endIfClosed() {
        guard isClosed.withLock({ $0 }), lock.try() else { return }
        connection = nil
        lock.unlock()
    }

    /// The moment after a number of seconds, which may be infinite.
    private static func date(after seconds: TimeInterval) -> Date {
        Date(timeIntervalSinceNow: min(seconds, 365 * 86_400))
    }

    private func locked<Result>(_ seconds: TimeInterval, _ body: (Deadline) throws -> Result) throws -> Result {
        let deadline = Deadline(seconds: seconds)
        guard lock.lock(before: Self.date(after: seconds)) else {
            throw PostgresFailure(.timeout, "other calls have used the connection for the whole time")
        }
        defer {
            lock.unlock()
            // After the lock is free: otherwise close() could come between the question and the end of the lock.
            endIfClosed()
        }
        if isClosed.withLock({ $0 }) { throw Deadline.ended }
        return try body(deadline)
    }

    /// Calls a function. After an error, the connection is without a transaction, or ended.
    private func attempt<Result>(
        _ connection: PostgresConnection,
        _ deadline: Deadline,
        _ body: (PostgresConnection, Deadline) throws -> Result
    ) throws -> Result {
        do {
            return try body(connection, deadline)
        } catch {
            let isLost = (error as? PostgresFailure)?.isLoss == true || !connection.isUsable
            if isLost {
                self.connection = nil
            } else if connection.isInTransaction {
                do { try connection.rollBack(until: deadline) } catch { self.connection = nil }
            }
            throw error
        }
    }
}
