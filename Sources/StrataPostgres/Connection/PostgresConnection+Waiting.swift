import CStrataPostgres
import Foundation

extension PostgresConnection {
    /// Waits until the socket is ready.
    ///
    /// - Parameters:
    ///   - events: `POLLIN`, `POLLOUT` or both.
    ///   - limit: the milliseconds after which the call returns without an error.
    /// - Returns: false if the socket is not ready at the end of this limit.
    @discardableResult
    func wait(for events: Int32, until deadline: Deadline, atMost limit: Int32 = .max) throws -> Bool {
        // poll(2) leaves out negative descriptors.
        var descriptors = [
            pollfd(fd: socket, events: Int16(events), revents: 0),
            pollfd(fd: deadline.endDescriptor, events: Int16(POLLIN), revents: 0),
        ]
        guard descriptors[0].fd >= 0 else { throw loss }
        while true {
            let count = poll(&descriptors, 2, min(deadline.milliseconds, limit))
            if descriptors[1].revents != 0 { throw Deadline.ended }
            if count > 0 { return true }
            if count < 0 {
                guard errno == EINTR else { throw PostgresFailure(.connection, String(cString: strerror(errno))) }
            } else if deadline.hasPassed {
                throw PostgresFailure(.timeout, "the server did not answer in time")
            } else if limit < .max {
                return false
            }
        }
    }

    /// Waits for the next result. Sends the pending bytes in the meantime.
    ///
    /// - Returns: nil at the end of the results of a message.
    func next(until deadline: Deadline) throws -> PostgresRows? {
        while true {
            let pending = PQflush(connection)
            guard pending >= 0 else { throw loss }
            if pending == 0 { pendingBytes = 0 }
            if PQisBusy(connection) == 0 { return PQgetResult(connection).map { PostgresRows($0) } }
            // With TLS, libpq may hold bytes of which the socket knows nothing any more. Reading finds them.
            try wait(for: pending == 0 ? POLLIN : POLLIN | POLLOUT, until: deadline, atMost: 200)
            guard PQconsumeInput(connection) == 1 else { throw loss }
        }
    }

    /// Waits until all pending bytes are sent.
    ///
    /// The results that arrive in the meantime are read, because the server stops reading until it can write them.
    func flush(until deadline: Deadline) throws {
        while true {
            let pending = PQflush(connection)
            guard pending >= 0 else { throw loss }
            if pending == 0 {
                pendingBytes = 0
                return
            }
            try wait(for: POLLIN | POLLOUT, until: deadline)
            guard PQconsumeInput(connection) == 1 else { throw loss }
        }
    }

    /// Finds a connection that the server has ended since the last call, before anything is sent.
    func checkForLoss() throws {
        while isUsable {
            var descriptor = pollfd(fd: socket, events: Int16(POLLIN), revents: 0)
            guard poll(&descriptor, 1, 0) > 0 else { return }
            guard PQconsumeInput(connection) == 1 else { throw loss }
            // Reads the message that was received, so that the end of the connection comes next.
            _ = PQisBusy(connection)
        }
        throw loss
    }

    /// Waits for notifications, without a deadline.
    ///
    /// - Parameter descriptor: a file whose end also ends the waiting.
    /// - Returns: the payloads of the notifications that have arrived; empty if none has.
    func notifications(or descriptor: Int32) throws -> [String] {
        var payloads = receivedNotifications()
        guard payloads.isEmpty else { return payloads }
        var descriptors = [
            pollfd(fd: socket, events: Int16(POLLIN), revents: 0),
            pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0),
        ]
        guard poll(&descriptors, 2, -1) >= 0 || errno == EINTR else {
            throw PostgresFailure(.connection, String(cString: strerror(errno)))
        }
        guard PQconsumeInput(connection) == 1 else { throw loss }
        payloads = receivedNotifications()
        return payloads
    }

    /// The payloads of the notifications that libpq has received and kept, without waiting. libpq forgets them.
    func receivedNotifications() -> [String] {
        var payloads: [String] = []
        while let notification = PQnotifies(connection) {
            payloads.append(notification.pointee.extra.map { String(cString: $0) } ?? "")
            PQfreemem(notification)
        }
        return payloads
    }
}
