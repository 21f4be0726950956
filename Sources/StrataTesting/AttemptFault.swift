public import Strata
public import StrataPipeline
import Synchronization

/// A fault that an attempt suffers, without any code in the handler.
public enum AttemptFault: Sendable {
    /// The handler is not called, and the attempt fails with this error.
    case error(any Error)
    /// The handler is not called, and the attempt runs until it is cancelled: by its timeout, by closing the pipeline,
    /// or by a person.
    case hang
    /// The process dies before the handler is called.
    ///
    /// As after a real crash, the attempt does not count as failed but as a crash. The operation is tried again at
    /// once, until its number of crashes reaches the limit.
    case crashBeforeHandler
    /// The process dies after the handler has returned.
    ///
    /// The handler's effects outside of the store remain. Its outcome is lost, including the changes of
    /// `Outcome.done(_:)`, and the handler is called once more. A correct handler does no harm when it
    /// is called twice.
    case crashAfterHandler
}

extension AttemptFault {
    fileprivate func run(_ handler: () async throws -> Outcome) async throws -> Outcome {
        switch self {
        case .error(let error): throw error
        case .hang:
            while true { try await Task.sleep(for: .seconds(3600)) }
        case .crashBeforeHandler: throw AttemptCrash()
        case .crashAfterHandler:
            _ = try? await handler()
            throw AttemptCrash()
        }
    }
}

/// A fault that ``StrataPipeline/OperationRunner/inject(_:times:into:)`` has scheduled.
public final class FaultInjection: Sendable {
    private let left: Mutex<Int>
    fileprivate let fault: AttemptFault
    fileprivate let operation: Int64?

    fileprivate init(_ fault: AttemptFault, _ times: Int, _ operation: Int64?) {
        left = Mutex(max(times, 0))
        (self.fault, self.operation) = (fault, operation)
    }

    /// The number of attempts that the fault will still affect.
    public var remaining: Int { left.withLock { $0 } }

    /// Cancels the fault, so that it affects no further attempts.
    public func cancel() { left.withLock { $0 = 0 } }
}

extension FaultInjection: HandlerInterceptor {
    package var isSpent: Bool { remaining == 0 }

    package func replacement(for operation: Int64) -> HandlerReplacement? {
        guard self.operation ?? operation == operation else { return nil }
        let isTaken = left.withLock { left in
            guard left > 0 else { return false }
            left -= 1
            return true
        }
        guard isTaken else { return nil }
        return { [fault] handler in try await fault.run(handler) }
    }
}

extension OperationRunner {
    /// Injects a fault into the next attempts that this runner starts. The handler needs no code for it.
    ///
    /// ```swift
    /// let fault = uploads.inject(.crashAfterHandler)
    /// ```
    ///
    /// Faults that were injected earlier take effect first.
    ///
    /// - Parameters:
    ///   - fault: the fault.
    ///   - times: the number of attempts that the fault affects.
    ///   - operation: the operation whose attempts the fault affects; nil for every operation. An operation of another
    ///     store never runs here.
    /// - Returns: the fault, which reports how many attempts it will still affect.
    @discardableResult
    public func inject(
        _ fault: AttemptFault,
        times: Int = 1,
        into operation: ObjectID<QueuedOperation>? = nil
    ) -> FaultInjection {
        // No operation of this store has the id 0.
        let number = operation.map { stack.id($0.rawValue, of: QueuedOperation.self) == $0 ? $0.rawValue : 0 }
        let injected = FaultInjection(fault, times, number)
        intercept(injected)
        return injected
    }
}
