import Dispatch
import Foundation
import Strata
import Synchronization

/// A thread that waits, on a separate connection, for the notifications of a home.
///
/// A lost connection is made again, after pauses that grow up to 30 s.
final class NotificationListener: Sendable {
    /// The payload of this process's notifications, which the listener does not report.
    let ownPayload = UUID().uuidString

    private enum State {
        case idle, running, ended
    }

    private let settings: ConnectionSettings
    private let statement: PostgresStatement
    private let timeout: TimeInterval
    private let state = Mutex(State.idle)
    /// Contains the thread while it runs.
    private let threads = DispatchGroup()
    /// The thread.
    private let thread = Mutex<pthread_t?>(nil)
    // Nothing is written to this pipe. Its end wakes the thread.
    private let endSignal = Pipe()

    private static let shortestPause: TimeInterval = 0.1
    private static let longestPause: TimeInterval = 30

    /// - Parameter statement: subscribes to the notifications.
    init(_ settings: ConnectionSettings, _ statement: PostgresStatement, timeout: TimeInterval) {
        self.settings = settings
        self.statement = statement
        self.timeout = timeout
    }

    /// Starts the thread. Only the first call of an object does.
    ///
    /// - Parameter notify: called on the thread, after notifications and after each new connection.
    func start(_ notify: @escaping @Sendable () -> Void) {
        let isFirst = state.withLock { state in
            guard state == .idle else { return false }
            state = .running
            return true
        }
        guard isFirst else { return }
        threads.enter()
        Thread.detachNewThread {
            self.thread.withLock { $0 = pthread_self() }
            self.run(notify)
            self.threads.leave()
        }
    }

    /// Ends the thread, and waits for its end, so that no thread uses libpq any more. libpq and OpenSSL release what
    /// they share when the process ends, and a thread that connects at this moment would crash.
    ///
    /// The thread itself does not wait, if `notify` has held the last reference to the home. A look-up of a host name
    /// cannot be ended, so the wait has a limit.
    ///
    /// - Parameter seconds: how long to wait.
    func end(within seconds: TimeInterval) {
        let isFirst = state.withLock { state in
            defer { state = .ended }
            return state != .ended
        }
        if isFirst { try? endSignal.fileHandleForWriting.close() }
        let isOwnThread = thread.withLock { $0 == pthread_self() }
        if !isOwnThread { _ = threads.wait(timeout: .now() + seconds) }
    }

    private var hasEnded: Bool { state.withLock { $0 == .ended } }
    private var endDescriptor: Int32 { endSignal.fileHandleForReading.fileDescriptor }

    private func run(_ notify: () -> Void) {
        var pause = Self.shortestPause
        while !hasEnded {
            // Strata asks for transactions once a second, so a failure needs no report.
            try? listen {
                pause = Self.shortestPause
                notify()
            }
            sleep(pause)
            pause = min(pause * 2, Self.longestPause)
        }
    }

    /// Connects, and reports notifications until the connection is lost or the listener ends.
    private func listen(_ notify: () -> Void) throws {
        let deadline = Deadline(seconds: timeout, orEndOf: endDescriptor)
        let connection = try PostgresConnection.open(settings, preparesStatements: false, until: deadline)
        try connection.run([statement], until: deadline)
        // Transactions may have come before the subscription.
        notify()
        while !hasEnded {
            let payloads = try connection.notifications(or: endDescriptor)
            if payloads.contains(where: { !$0.hasSameBytes(as: ownPayload) }) { notify() }
        }
    }

    /// Waits, but not beyond the end of the listener.
    private func sleep(_ seconds: TimeInterval) {
        var descriptor = pollfd(fd: endDescriptor, events: Int16(POLLIN), revents: 0)
        poll(&descriptor, 1, Deadline(seconds: seconds).milliseconds)
    }
}
