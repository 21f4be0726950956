import Synchronization

/// Measures the blocks of one origin, such as one kind of handlers, to choose how the next one runs.
///
/// A short block runs inside the transaction, where it needs no snapshot and shares the flush of the disk with other
/// commits. A long block would hold up all other writers meanwhile.
package final class BlockPace: Sendable {
    /// The time below which a block counts as short.
    static let limit = Duration.milliseconds(1)

    private let wasShort: Atomic<Bool>

    /// - Parameter isShort: whether the first block counts as short.
    package init(isShort: Bool = false) { wasShort = Atomic(isShort) }

    /// Whether the last block was short.
    var isShort: Bool { wasShort.load(ordering: .relaxed) }

    /// Runs and measures a block.
    func measure<Value>(_ block: () throws -> Value) rethrows -> Value {
        let start = ContinuousClock.now
        defer { wasShort.store(start.duration(to: .now) < Self.limit, ordering: .relaxed) }
        return try block()
    }
}
