import Synchronization

/// Faults that a test schedules, and that a handler triggers where it calls ``next()``.
///
/// To inject a fault without code in the handler, use ``StrataPipeline/OperationRunner/inject(_:times:into:)``.
///
/// ```swift
/// let faults = FaultInjector()
/// let options = PipelineOptions(clock: clock)
/// let pipeline = try await Pipeline.open(stack, named: .uploads, options: options) { (attempt: Attempt<Upload>) in
///     try faults.next()
///     return .done
/// }
/// faults.fail(times: 2, with: URLError(.timedOut))
/// ```
public final class FaultInjector: Sendable {
    private let orders = Mutex<[any Error]>([])

    /// Creates an injector without faults.
    public init() {}

    /// Makes the next `times` calls of ``next()`` throw `error`, after the faults that were scheduled earlier.
    public func fail(times: Int = 1, with error: any Error) {
        orders.withLock { $0 += Array(repeating: error, count: max(times, 0)) }
    }

    /// The number of faults that are still scheduled.
    public var count: Int { orders.withLock { $0.count } }

    /// Throws the next scheduled fault, if any.
    public func next() throws {
        let error = orders.withLock { $0.isEmpty ? nil : $0.removeFirst() }
        if let error { throw error }
    }
}
