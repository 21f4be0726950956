import Synchronization

/// Measures the blocks of one origin, such as one kind of handlers, to choose how the next one runs.
///
/// The last block decides. If an origin has short and long blocks, a long one may therefore run inside a transaction.
///
/// A short block runs inside the transaction, where it needs no snapshot and shares the flush of the disk with other
/// commits. A long block would hold up all other writers meanwhile.
package final class BlockPace: Sendable {
    /// The time below which a block counts as short.
    static let limit = Duration.milliseconds(1)

    private let wasShort: Atomic<Bool>
    /// See ``limit``. Tests set another one.
    let timeLimit = Mutex(BlockPace.limit)

    /// - Parameter isShort: whether the first block counts as short.
    package init(isShort: Bool = false) { wasShort = Atomic(isShort) }

    /// Whether the last block was short.
    var isShort: Bool {
        get { wasShort.load(ordering: .relaxed) }
        set { wasShort.store(newValue, ordering: .relaxed) }
    }

    /// Runs and measures a block.
    ///
    /// A block that throws does not count as short. It may have ended early, for example because its task was
    /// cancelled.
    func measure<Value>(_ block: () throws -> Value) rethrows -> Value {
        let limit = timeLimit.withLock { $0 }
        let start = ContinuousClock.now
        var hasReturned = false
        defer {
            let isBelowLimit = start.duration(to: .now) < limit
            if hasReturned || !isBelowLimit { isShort = isBelowLimit }
        }
        let value = try block()
        hasReturned = true
        return value
    }
}
