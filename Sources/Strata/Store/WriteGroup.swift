import DequeModule
import Dispatch

/// A write that waits for the writer. Its caller's thread is blocked until the write has ended.
///
/// Isolation: used by one thread at a time, first by the caller, then by the thread that runs the write. The lock of
/// ``WaitingWrites`` and the semaphore order the accesses. This is the proof of `@unchecked Sendable`.
final class WaitingWrite: @unchecked Sendable {
    /// Whether a write may share a transaction.
    enum Sharing {
        case alone
        /// The write may share a transaction. The value is the approximate number of its changes.
        case rows(Int)
    }

    let sharing: Sharing
    // The functions are released before the caller continues, because they may not outlive the call.
    private var label: (() -> String?)?
    private var body: ((Connection) throws -> [String])?
    private var ended: ((_ isCommitted: Bool) -> Void)?
    private var outcome: Result<Void, any Error>?
    /// The caller waits on this semaphore. Nil if the caller is the leader from the start.
    fileprivate var semaphore: DispatchSemaphore?

    init(
        _ context: @escaping () -> String?,
        _ sharing: Sharing,
        _ body: @escaping (Connection) throws -> [String],
        _ ended: @escaping (_ isCommitted: Bool) -> Void
    ) {
        self.sharing = sharing
        label = context
        self.body = body
        self.ended = ended
    }

    /// The name of the context that writes.
    func context() -> String? { label?() }

    /// Writes, and returns the names of the changed tables.
    func run(_ connection: Connection) throws -> [String] { try body?(connection) ?? [] }

    /// Notes that the write was committed, or is not in the store.
    fileprivate func conclude(_ isCommitted: Bool) {
        ended?(isCommitted)
        (label, body, ended) = (nil, nil, nil)
    }

    /// Lets the caller continue. The last use of this object by the thread that has run the write.
    fileprivate func end(_ outcome: Result<Void, any Error>) {
        self.outcome = outcome
        wake()
    }

    var hasEnded: Bool { outcome != nil }

    /// The outcome of a write that has ended.
    func result() throws { try outcome?.get() }

    /// Waits until the write has ended, or its caller must lead.
    func wait() { semaphore?.wait() }

    func wake() { semaphore?.signal() }
}

/// The writes that wait for the writer, in the order of calls.
struct WaitingWrites {
    private var writes: Deque<WaitingWrite> = []
    /// Whether a thread leads: it runs writes, or is about to.
    private(set) var isLed = false

    var count: Int { writes.count }

    /// Adds a write. Returns whether its caller leads; otherwise the caller waits.
    mutating func add(_ write: WaitingWrite) -> Bool {
        writes.append(write)
        defer { isLed = true }
        if isLed { write.semaphore = DispatchSemaphore(value: 0) }
        return !isLed
    }

    /// Removes and returns the next write of a group; nil if the group is complete.
    mutating func next(for group: WriteGroup) -> WaitingWrite? {
        guard let first = writes.first, group.hasRoom(for: first) else { return nil }
        return writes.removeFirst()
    }

    /// Ends the turn of a leader. Returns the write whose caller leads next; nil if no write waits.
    mutating func nextLeader() -> WaitingWrite? {
        isLed = !writes.isEmpty
        return writes.first
    }
}

/// The writes that share a transaction.
struct WriteGroup {
    /// The maximum number of writes.
    static let countLimit = 64
    /// The maximum number of rows. A single write with more than a tenth of them gets a separate transaction.
    static let rowLimit = 5_000
    /// The time from the first write after which no further one is added. So a slow write delays only the writes that
    /// were added before it.
    static let timeLimit = Duration.milliseconds(5)

    /// The writes that have run, or are running.
    private var writes: [WaitingWrite] = []
    /// The writes that have failed by themselves.
    private var failed: [(write: WaitingWrite, error: any Error, endsTransaction: Bool)] = []
    private var rows = 0
    /// When the transaction began.
    private var start: ContinuousClock.Instant?
    private let timeLimit: Duration

    init(timeLimit: Duration) { self.timeLimit = timeLimit }

    var count: Int { writes.count + failed.count }

    var isEmpty: Bool { count == 0 }

    /// Notes that the transaction has begun.
    mutating func begin() { start = .now }

    /// Whether a write may be added.
    func hasRoom(for write: WaitingWrite) -> Bool {
        if isEmpty { return true }
        guard rows < Self.rowLimit, case .rows(let more) = write.sharing, more <= Self.rowLimit / 10,
            count < Self.countLimit, rows + more <= Self.rowLimit
        else { return false }
        return start.map { $0.duration(to: .now) < timeLimit } ?? false
    }

    mutating func add(_ write: WaitingWrite) {
        writes.append(write)
        if case .rows(let more) = write.sharing, more <= Self.rowLimit / 10 {
            rows += more
        } else {
            rows = Self.rowLimit
        }
    }

    /// Notes that the write that was added last has failed. Its caller continues when the transaction has ended:
    /// otherwise it might try again before it can see the commits that have made it fail.
    mutating func failLast(_ error: any Error, endsTransaction: Bool) {
        let write = writes.removeLast()
        write.conclude(false)
        failed.append((write, error, endsTransaction))
    }

    /// Ends all writes with the outcome of the transaction.
    func end(_ outcome: Result<Void, any Error>) {
        var isCommitted = false
        if case .success = outcome { isCommitted = true }
        for write in writes { write.conclude(isCommitted) }
        for write in writes { write.end(outcome) }
        // If the transaction has failed, an error may name commits that are undone. Then the caller gets the reason of
        // the transaction's failure.
        for entry in failed {
            entry.write.end(isCommitted || entry.endsTransaction ? .failure(entry.error) : outcome)
        }
    }
}
