public import Foundation
public import Strata

extension ContextStack {
    /// Waits until an operation has ended, and returns the value that its handler has returned with
    /// ``Outcome/done(result:)`` or ``Outcome/doneWithResult(_:)``.
    ///
    /// ```swift
    /// let receipt = try await stack.result(of: id, as: Receipt.self, deadline: .now + 30)
    /// ```
    ///
    /// Any process may run the operation. This stack needs neither an open pipeline nor a handler, and may be open to
    /// read only. The operation must be committed. A failed operation counts as ended, although it can be retried.
    ///
    /// A handler that waits for another operation keeps its own place in its pipeline meanwhile. If the other operation
    /// needs this place, only the deadline ends the wait.
    ///
    /// - Parameters:
    ///   - id: the id that the operation had while it was queued.
    ///   - type: the type of the value. It may differ from the handler's type if it reads the same JSON.
    ///   - deadline: when the call stops waiting; nil for never. The operation stays queued.
    ///   - clock: the clock for the deadline.
    /// - Isolation: any. Not inside a block of this stack, and not in a task that such a block has started, before the
    ///   end of the block. The block would keep its snapshot and its place among the readers, and the handler may need
    ///   them.
    /// - Throws: ``PipelineError`` with `operationFailed`, `operationSkipped`, `operationDiscarded` or
    ///   `operationExpired` for an operation that has ended without completion; `noResult` for one that has no result,
    ///   or whose record the store does not have (any more); `undecodableResult`; `deadlineExceeded`; `modelsMissing`;
    ///   `closed` if the stack is closed, or is closed during the wait. `StrataError` with `insideBlock` or
    ///   `idOfOtherStore`; `CancellationError`; the store's errors.
    /// - Complexity: one look-up at first, and one for each commit that changes the operation. Each other commit costs
    ///   O(log changed rows).
    public func result<Value: Decodable & Sendable>(
        of id: ObjectID<QueuedOperation>,
        as type: Value.Type = Value.self,
        deadline: Date? = nil,
        clock: any PipelineClock = .system
    ) async throws -> Value {
        let wait = OperationResultWait(stack: self, id: id, deadline: deadline, clock: clock)
        return try ResultValue.decode(await wait.value(), as: type, of: id.rawValue)
    }
}

extension OperationRunner {
    /// Waits until an operation has ended, and returns the value that its handler has returned, as
    /// ``Strata/ContextStack/result(of:as:deadline:clock:)`` does.
    ///
    /// The operation may be in any pipeline of the store. The deadline counts by the clock of the runner.
    ///
    /// - Parameters:
    ///   - id: the id that the operation had while it was queued.
    ///   - type: the type of the value. It may differ from the handler's type if it reads the same JSON.
    ///   - deadline: when the call stops waiting; nil for never.
    /// - Throws: as the method of the stack.
    public func result<Value: Decodable & Sendable>(
        of id: ObjectID<QueuedOperation>,
        as type: Value.Type = Value.self,
        deadline: Date? = nil
    ) async throws -> Value {
        try await stack.result(of: id, as: type, deadline: deadline, clock: handle.engine.callerClock)
    }
}
