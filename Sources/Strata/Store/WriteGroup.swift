import DequeModule
import Dispatch

/// A write that waits for the writer. Its caller waits until the write has ended.
///
/// Isolation: used by one thread at a time, first by the caller, then by the thread that runs the write. The lock of
/// ``WaitingWrites`` and the call that wakes the caller order the accesses. This is the proof of `@unchecked Sendable`.
final class WaitingWrite: @unchecked Sendable {
    /// Whether a write may share a transaction.
    enum Sharing {
        case alone
        /// The write may share a transaction. The value is the approximate number of its changes.
        case rows(Int)
    }

    /// A function that receives whether a transaction was committed.
    typealias Settling = (_ isCommitted: Bool, Connection) -> Void

    /// How the caller waits until the write has ended.
    private enum Waiter {
        /// The caller's thread leads.
        case leader
        case thread(DispatchSemaphore)
        /// A task continues when the function is called.
        case task(@Sendable () -> Void)
    }

    let sharing: Sharing
    /// Whether the write runs a block of the application. Only the writer's own thread runs such a write.
    let isBlock: Bool
    // The functions are released before the caller continues, because they may not outlive the call.
    private var label: (() -> String?)?
    private var body: ((Connection) throws -> [String])?
    private var ended: ((_ isCommitted: Bool) -> Void)?
    /// Nil when the write has ended.
    private(set) var settle: Settling?
    private var outcome: Result<Void, any Error>?
    private var waiter = Waiter.leader

    init(
        for context: @escaping () -> String?,
        sharing: Sharing,
        isBlock: Bool = false,
        _ body: @escaping (Connection) throws -> [String],
        ended: @escaping (_ isCommitted: Bool) -> Void,
        settle: @escaping Settling
    ) {
        self.sharing = sharing
        self.isBlock = isBlock
        self.settle = settle
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
        (label, body, ended, settle) = (nil, nil, nil, nil)
    }

    /// Lets the caller continue. The last use of this object by the thread that has run the write.
    fileprivate func end(_ outcome: Result<Void, any Error>) {
        self.outcome = outcome
        wake()
    }

    var hasEnded: Bool { outcome != nil }

    /// The outcome of a write that has ended.
    func result() throws { try outcome?.get() }

    /// Prepares the caller's thread for ``wait()``.
    fileprivate func willWait() { waiter = .thread(DispatchSemaphore(value: 0)) }

    /// Blocks the caller's thread until the write has ended, or the thread must lead.
    func wait() { if case .thread(let semaphore) = waiter { semaphore.wait() } }

    /// Lets a task continue when the write has ended.
    func willResume(_ task: @escaping @Sendable () -> Void) { waiter = .task(task) }

    func wake() {
        switch waiter {
        case .leader: break
        case .thread(let semaphore): semaphore.signal()
        case .task(let resume): resume()
        }
    }
}

/// The writes that wait for the writer, in the order of calls.
struct WaitingWrites {
    private var writes: Deque<WaitingWrite> = []
    /// Whether a thread leads: it runs writes, or is about to.
    private(set) var isLed = false

    var count: Int { writes.count }

    /// Adds a write. Returns whether no thread leads yet: then the caller leads, or makes the writer's own thread lead.
    /// Otherwise the caller waits.
    mutating func add(_ write: WaitingWrite) -> Bool {
        writes.append(write)
        defer { isLed = true }
        if isLed, !write.isBlock { write.willWait() }
        return !isLed
    }

    /// Removes and returns the next write of a group; nil if the group is complete.
    mutating func next(for group: WriteGroup) -> WaitingWrite? {
        guard let first = writes.first, group.hasRoom(for: first) else { return nil }
        return writes.removeFirst()
    }

    /// Ends the turn of a leader. Returns the write whose turn it is; nil if no write waits.
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
    private let runsBlocks: Bool

    /// - Parameter runsBlocks: whether the running thread is the writer's own.
    init(timeLimit: Duration, runsBlocks: Bool) {
        self.timeLimit = timeLimit
        self.runsBlocks = runsBlocks
    }

    var count: Int { writes.count + failed.count }

    var isEmpty: Bool { count == 0 }

    /// Notes that the transaction has begun.
    mutating func begin() { start = .now }

    /// Whether a write may be added.
    func hasRoom(for write: WaitingWrite) -> Bool {
        if isEmpty { return true }
        guard let more = Self.share(of: write), rows + more <= Self.rowLimit, count < Self.countLimit,
            runsBlocks || !write.isBlock
        else { return false }
        return start.map { $0.duration(to: .now) < timeLimit } ?? false
    }

    mutating func add(_ write: WaitingWrite) {
        writes.append(write)
        // After a write that shares with no other one, the group is full.
        rows = Self.share(of: write).map { rows + $0 } ?? Self.rowLimit + 1
    }

    /// The number of rows that a write adds to a group; nil if it gets a separate transaction.
    private static func share(of write: WaitingWrite) -> Int? {
        if case .rows(let count) = write.sharing, count <= rowLimit / 10 { count } else { nil }
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
