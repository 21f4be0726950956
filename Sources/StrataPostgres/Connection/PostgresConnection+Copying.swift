import CStrataPostgres
import Foundation

extension PostgresConnection {
    /// Runs `COPY … TO STDOUT` in the open transaction, and passes the bytes on as they arrive.
    ///
    /// The needed memory does not grow with the number of rows. libpq keeps one message, which is a row, and reads
    /// further bytes only when the earlier ones are passed on. The server waits meanwhile.
    ///
    /// libpq does not support COPY in its pipeline mode. So the connection leaves this mode for the time of the call.
    /// After an error, the connection is of no use.
    ///
    /// - Parameters:
    ///   - sql: the statement.
    ///   - seconds: the call gives up when the server has sent nothing for this time. The time in `receive` does not
    ///     count.
    ///   - receive: called for each message. The bytes are valid during the call.
    /// - Throws: `PostgresFailure`, or the errors of `receive`.
    func copyOut(
        _ sql: String,
        timeout seconds: TimeInterval,
        _ receive: (UnsafeRawBufferPointer) throws -> Void
    ) throws {
        try checkForLoss()
        isUnfinished = true
        guard PQexitPipelineMode(connection) == 1,
            PQsendQueryParams(connection, sql, 0, nil, nil, nil, nil, 1) == 1
        else { throw loss }
        try beginCopy(until: Deadline(seconds: seconds))
        while let message = try nextCopyMessage(timeout: seconds) {
            defer { PQfreemem(message.baseAddress) }
            try receive(UnsafeRawBufferPointer(message))
        }
        try endCopy(until: Deadline(seconds: seconds))
        guard PQenterPipelineMode(connection) == 1 else { throw loss }
        isUnfinished = false
    }

    /// Waits until the server has accepted the statement.
    private func beginCopy(until deadline: Deadline) throws {
        guard let result = try next(until: deadline) else {
            throw PostgresFailure(.format, "the server has skipped a statement")
        }
        guard result.status == PGRES_COPY_OUT else { throw result.failure }
    }

    /// Receives the result of the statement after its last bytes: an error if the server could not send all of them.
    private func endCopy(until deadline: Deadline) throws {
        while let result = try next(until: deadline) {
            guard result.status == PGRES_COMMAND_OK else { throw result.failure }
        }
    }

    /// Waits for the next message of a COPY.
    ///
    /// - Returns: bytes that the caller frees by `PQfreemem`; nil at the end.
    private func nextCopyMessage(timeout seconds: TimeInterval) throws -> UnsafeMutableRawBufferPointer? {
        var deadline = Deadline(seconds: seconds)
        var hasRead = false
        while true {
            var bytes: UnsafeMutablePointer<CChar>?
            let count = PQgetCopyData(connection, &bytes, 1)
            if count > 0 { return UnsafeMutableRawBufferPointer(start: bytes, count: Int(count)) }
            if count == -1 { return nil }
            guard count == 0 else { throw loss }
            // A part of a large message counts: the server is not silent. With TLS, libpq may hold bytes of which the
            // socket knows nothing any more, so each wait comes after a read.
            if hasRead, try wait(for: POLLIN, until: deadline, atMost: 200) { deadline = Deadline(seconds: seconds) }
            hasRead.toggle()
            guard PQconsumeInput(connection) == 1 else { throw loss }
        }
    }
}
