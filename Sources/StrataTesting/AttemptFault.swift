public import Strata
public import StrataPipeline
import Synchronization

/// What goes wrong with an attempt that the handler itself knows nothing of.
public enum AttemptFault: Sendable {
    /// The handler is not called, and the attempt fails with this error.
    case error(any Error)
    /// The handler is not called, and the attempt goes on until it is cancelled: by its timeout, when the pipeline is closed, or by a person.
    case hang
    /// The process dies before the handler is called. As with one that does, it is no failed attempt, but counts as a crash: the operation is tried
    /// again at once, until it has lost its process too often.
    case crashBeforeHandler
    /// The process dies when the handler has returned: what that has done outside of the store is done, what it says is lost, the changes of
    /// ``StrataPipeline/Outcome/done(_:)`` included, and it is called once more. A handler that is fit for that does no harm by a second call.
    case crashAfterHandler
}

extension AttemptFault {
    fileprivate func befall(_ handler: () async throws -> Outcome) async throws -> Outcome {
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

/// A fault that was ordered by ``StrataPipeline/OperationRunner/inject(_:times:into:)``.
public final class InjectedFault: Sendable {
    private let left: Mutex<Int>
    fileprivate let fault: AttemptFault
    fileprivate let operation: Int64?

    fileprivate init(_ fault: AttemptFault, _ times: Int, _ operation: Int64?) {
        left = Mutex(max(times, 0))
        (self.fault, self.operation) = (fault, operation)
    }

    /// How many attempts it is still to befall.
    public var remaining: Int { left.withLock { $0 } }

    /// Lets it befall no more attempts.
    public func cancel() { left.withLock { $0 = 0 } }
}

extension InjectedFault: HandlerInterceptor {
    package var isSpent: Bool { remaining == 0 }

    package func replacement(for operation: Int64) -> HandlerReplacement? {
        guard self.operation ?? operation == operation else { return nil }
        let isTaken = left.withLock { left in
            guard left > 0 else { return false }
            left -= 1
            return true
        }
        guard isTaken else { return nil }
        return { [fault] handler in try await fault.befall(handler) }
    }
}

extension OperationRunner {
    /// Has something go wrong with the next attempts that are started here, without a word of it in the handler.
    ///
    /// ```swift
    /// let fault = uploads.inject(.crashAfterHandler)
    /// ```
    ///
    /// Faults that were injected before come first.
    ///
    /// - Parameters:
    ///   - times: how many attempts it befalls.
    ///   - operation: the one whose attempts they are; nil for any. One of another store is never run here.
    /// - Returns: the fault, which knows how many attempts it has yet to befall.
    @discardableResult
    public func inject(
        _ fault: AttemptFault,
        times: Int = 1,
        into operation: ObjectID<QueuedOperation>? = nil
    ) -> InjectedFault {
        // No operation of this store has the number 0.
        let number = operation.map { stack.id($0.number, of: QueuedOperation.self) == $0 ? $0.number : 0 }
        let injected = InjectedFault(fault, times, number)
        intercept(injected)
        return injected
    }
}
