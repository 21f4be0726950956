import CStrataSQLite
import Synchronization

/// A flag that the caller sets when it gives up waiting for a store. SQLite checks the flag while a statement runs.
final class Cancellation: Sendable {
    private let flag = Atomic(false)
    private let isOver = Atomic(false)
    private let end = Mutex<ContinuousClock.Instant?>(nil)

    func cancel() { flag.store(true, ordering: .relaxed) }
    var isCancelled: Bool { flag.load(ordering: .relaxed) && !isOver.load(ordering: .relaxed) }

    /// Ends the effect of a cancellation, because the store is open. From then on, users of the store wait for the full
    /// time that the store allows, even if the task that opened the store is cancelled.
    func finish() { isOver.store(true, ordering: .relaxed) }

    /// Limits the wait for a lock: the wait ends at this instant, however long the store waits otherwise.
    ///
    /// - Parameter end: nil if only the store's own limit applies.
    func wait(until end: ContinuousClock.Instant?) { self.end.withLock { $0 = end } }
    var isLate: Bool { end.withLock { $0.map { ContinuousClock.now >= $0 } ?? false } }

    func check() throws {
        if isCancelled { throw PassedError(CancellationError()) }
    }

    /// Runs a body whose statements end with an error soon after the cancellation.
    func interrupting<Value>(_ connection: Connection, _ body: () throws -> Value) throws -> Value {
        try check()
        let place = Unmanaged.passUnretained(self).toOpaque()
        sqlite3_progress_handler(
            connection.pointer,
            10_000,
            { place in
                guard let place else { return 0 }
                return Unmanaged<Cancellation>.fromOpaque(place).takeUnretainedValue().isCancelled ? 1 : 0
            },
            place
        )
        defer { sqlite3_progress_handler(connection.pointer, 0, nil, nil) }
        do {
            return try body()
        } catch {
            try check()
            throw error
        }
    }
}

/// An error that is thrown unchanged because Strata did not make it: a migration step's own error, or a cancellation.
struct PassedError: Error {
    let error: any Error

    init(_ error: any Error) { self.error = (error as? PassedError)?.error ?? error }
}
