import DequeModule
import Dispatch
import Synchronization

/// A write that waits for the writer. Its caller waits until the write has ended.
///
/// Isolation: used by one thread at a time, first by the caller, then by the thread that runs the write. The lock of
/// ``WaitingWrites`` and the call that wakes the caller order the accesses. This is the proof of `@unchecked Sendable`.
final class WaitingWrite: @unchecked Sendable {
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

    /// Whether the write may share a transaction. False for a write that is known to be large before it runs.
    let mayShare: Bool
    let access: HomeAccess
    /// Whether the write runs a block of the application. Only the writer's own thread runs such a write.
    let isBlock: Bool
    // The functions are released before the caller continues, because they may not outlive the call.
    private var label: (() -> String?)?
    private var body: ((Connection) throws -> [String])?
    private var ended: ((_ isCommitted: Bool) -> Void)?
    /// Nil when the write has ended.
    private(set) var settle: Settling?
    private var outcome: Result<Void, any Error>?
    /// Whether the outcome is set. The order of these accesses is the order of all that the writing thread has done and
    /// of what the caller does afterwards. A continuation orders them as well, but the thread sanitizer does not see it.
    private let isDone = Atomic(false)
    private var waiter = Waiter.leader

    init(
        for context: @escaping () -> String?,
        mayShare: Bool,
        access: HomeAccess = .locked,
        isBlock: Bool = false,
        _ body: @escaping (Connection) throws -> [String],
        ended: @escaping (_ isCommitted: Bool) -> Void,
        settle: @escaping Settling
    ) {
        self.mayShare = mayShare
        self.access = access
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
        isDone.store(true, ordering: .releasing)
        wake()
    }

    var hasEnded: Bool { isDone.load(ordering: .acquiring) }

    /// The outcome of a write that has ended.
    func result() throws { if hasEnded { try outcome?.get() } }

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

/// A block's write that has its place among the writes that wait for the writer.
struct PendingWrite: Sendable {
    let write: WaitingWrite
    let completion: Completion

    /// Waits until the write has ended. Called once.
    ///
    /// - Throws: the error of the write.
    nonisolated(nonsending) func outcome() async throws {
        await completion.wait()
        do { try write.result() } catch { throw StrataError(grdb: error) }
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
    /// The number of changed rows from which on no further write is added. SQLite counts the rows, also those that
    /// blocks, engines and triggers change.
    static let rowLimit = 5_000
    /// The maximum number of rows of a commit that shares a transaction. A larger commit would delay all others.
    static let sharedRowLimit = rowLimit / 10
    /// The number of bytes in bound texts and blobs from which on no further write is added. Checkpoints run between
    /// groups. So the values of a group lengthen the journal by the last write, and by about a quarter of the size from
    /// which a checkpoint runs (``Checkpoints/pages``).
    static let byteLimit = 1 << 20
    /// The time from the first write after which no further one is added. So a slow write delays only the writes that
    /// were added before it.
    static let timeLimit = Duration.milliseconds(5)

    /// The writes that have run, or are running.
    private var writes: [WaitingWrite] = []
    /// The writes that have failed by themselves.
    private var failed: [(write: WaitingWrite, error: any Error, endsTransaction: Bool)] = []
    /// When the transaction began, and the connection's counters at that time; nil before.
    private var start: (time: ContinuousClock.Instant, changes: Int64, bytes: Int)?
    private var joining = HomeJoining.locked
    /// Whether no further write is added, whatever the time is.
    private var isClosed = false
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
    ///
    /// - Parameter joining: how the transaction is joined with the home, if there is one.
    mutating func begin(on connection: Connection, _ joining: HomeJoining) {
        self.joining = joining
        start = (time: ContinuousClock.now, changes: connection.totalChanges, bytes: connection.boundBytes)
    }

    /// Whether a write may be added.
    func hasRoom(for write: WaitingWrite) -> Bool {
        if isEmpty { return true }
        guard !isClosed, write.mayShare, joining.admits(write.access), runsBlocks || !write.isBlock, let start else {
            return false
        }
        return start.time.duration(to: .now) < timeLimit
    }

    mutating func add(_ write: WaitingWrite) {
        writes.append(write)
        if !write.mayShare || count >= Self.countLimit { isClosed = true }
    }

    /// Closes the group if its writes have done much. Called after each write.
    ///
    /// A write that has failed counts like the others, which have waited for it just as long.
    ///
    /// Complexity: O(1).
    mutating func measure(on connection: Connection) {
        guard let start else { return }
        let changes = connection.totalChanges - start.changes
        let bytes = connection.boundBytes &- start.bytes
        if changes >= Self.rowLimit || bytes >= Self.byteLimit { isClosed = true }
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
