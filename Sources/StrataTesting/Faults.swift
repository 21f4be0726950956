import Synchronization

/// Faults that a test orders and a handler runs into, at the very place where it asks for them. Those that a handler knows nothing of are
/// ordered by ``StrataPipeline/OperationRunner/inject(_:times:into:)``.
///
/// ```swift
/// let faults = Faults()
/// let pipeline = try await Pipeline.open(stack, named: .uploads, clock: clock) { (attempt: Attempt<Upload>) in
///     try faults.next()
///     return .done
/// }
/// faults.fail(times: 2, with: URLError(.timedOut))
/// ```
public final class Faults: Sendable {
    private let orders = Mutex<[any Error]>([])

    /// No faults as yet.
    public init() {}

    /// Has the next calls of ``next()`` throw, after those that were ordered before.
    public func fail(times: Int = 1, with error: any Error) {
        orders.withLock { $0 += Array(repeating: error, count: max(times, 0)) }
    }

    /// How many faults are still to come.
    public var count: Int { orders.withLock { $0.count } }

    /// Throws the next fault, if one was ordered.
    public func next() throws {
        let error = orders.withLock { $0.isEmpty ? nil : $0.removeFirst() }
        if let error { throw error }
    }
}
