import Dispatch
import Logging
import Synchronization

/// Warns of a block that holds the writer for long while other writes wait.
///
/// Such a block may wait for one of these writes, for example by a semaphore that another task signals after its
/// commit. Then neither ever ends. Strata cannot know what a block waits for, so the watch logs a warning.
///
/// A block inside a transaction costs the watch two locks, and no timer. A timer begins only when a write waits. There
/// is one for each writer, and it fires once in each ``patience``. Without a logger, the watch does nothing.
///
/// Isolation: any.
final class BlockWatch: Sendable {
    /// The time from which a block is reported.
    static let patience = Duration.seconds(5)

    private struct Running {
        let queue: String
        let begin: ContinuousClock.Instant
        /// The age of the block at its next warning. It doubles, so that a block that never ends does not fill the log.
        var nextWarning: Duration
    }

    /// The block inside the running transaction.
    private let running = Mutex<Running?>(nil)
    private let hasTimer = Atomic(false)
    /// See ``BlockWatch/patience``. Tests set another one.
    let patience = Mutex(BlockWatch.patience)
    private let logger: Logger?

    init(_ logger: Logger?) { self.logger = logger }

    /// Whether a block runs inside the transaction.
    var hasBlock: Bool { running.withLock { $0 != nil } }

    /// Whether a timer will fire.
    var hasStarted: Bool { hasTimer.load(ordering: .relaxed) }

    /// Runs a block of the application inside a transaction.
    ///
    /// - Parameter queue: the label of the block's queue.
    func watch(queue: String, _ block: () -> Void) {
        guard logger != nil else { return block() }
        let patience = patience.withLock { $0 }
        running.withLock { $0 = Running(queue: queue, begin: .now, nextWarning: patience) }
        block()
        running.withLock { $0 = nil }
    }

    /// Starts the timer unless it is running. Called when a write waits.
    ///
    /// - Parameter waiting: returns the number of writes that wait. The timer ends when no write waits and no block
    ///   runs.
    func start(_ waiting: @escaping @Sendable () -> Int) {
        guard logger != nil, !hasTimer.exchange(true, ordering: .sequentiallyConsistent) else { return }
        let pause = patience.withLock { $0 } / Duration.nanoseconds(1)
        DispatchQueue.global(qos: .utility).asyncAfter(deadline: .now() + .nanoseconds(Int(pause))) { [weak self] in
            guard let self else { return }
            warnIfLate()
            // A write that is added after the next line starts a timer itself: the lock of the waiting writes orders
            // the two.
            hasTimer.store(false, ordering: .sequentiallyConsistent)
            if waiting() > 0 || hasBlock { start(waiting) }
        }
    }

    private func warnIfLate() {
        let late = running.withLock { running -> (block: Running, age: Duration)? in
            guard let block = running else { return nil }
            let age = block.begin.duration(to: .now)
            guard age >= block.nextWarning else { return nil }
            running?.nextWarning = age * 2
            return (block, age)
        }
        guard let late else { return }
        let seconds = LogKey.text(late.age)
        logger?.warning(
            """
            A block of the queue \(late.block.queue) has run inside its transaction for \(seconds) seconds, and other \
            writes wait for it. If the block waits for another commit, neither ever ends. Wait for the commit before \
            or after the block. Do long work outside of the block.
            """,
            metadata: [LogKey.queue: "\(late.block.queue)", LogKey.duration: "\(seconds)"]
        )
    }
}
