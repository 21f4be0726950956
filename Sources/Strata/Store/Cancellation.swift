import CStrataSQLite
import Synchronization

/// Whether whoever waits for a store has given up. Asked by SQLite itself while a statement runs.
final class Cancellation: Sendable {
    private let flag = Atomic(false)
    private let isOver = Atomic(false)
    private let end = Mutex<ContinuousClock.Instant?>(nil)

    func cancel() { flag.store(true, ordering: .relaxed) }
    var isCancelled: Bool { flag.load(ordering: .relaxed) && !isOver.load(ordering: .relaxed) }

    /// The store is open. Whoever uses it waits as long as it says, be the task that opened it cancelled or not.
    func finish() { isOver.store(true, ordering: .relaxed) }

    /// Has a lock be waited for until then at the longest, however long the store waits otherwise; nil for that alone.
    func wait(until end: ContinuousClock.Instant?) { self.end.withLock { $0 = end } }
    var isLate: Bool { end.withLock { $0.map { ContinuousClock.now >= $0 } ?? false } }

    func check() throws {
        if isCancelled { throw PassedError(CancellationError()) }
    }

    /// Runs something whose statements end with an error soon after the cancellation.
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

/// An error that is thrown as it is, since it is not Strata's: a step's own, or a cancellation.
struct PassedError: Error {
    let error: any Error

    init(_ error: any Error) { self.error = (error as? PassedError)?.error ?? error }
}
