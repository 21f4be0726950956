import Dispatch
public import Strata
import Synchronization

extension ContextStack {
    /// Commits the changes of a block in another context, and returns after the commit.
    ///
    /// A test calls this method in a block or hook of the stack, so that another context commits between two steps of
    /// that block. The calling thread waits. The other block runs in another task and does not need that thread.
    ///
    /// - Throws: the error of the block or of its commit.
    public func meanwhile(_ body: @escaping @Sendable (SavingContext) throws -> Void) throws {
        try waitForTask {
            try await self.background { context in
                try body(context)
                try context.commit()
            }
        }
    }
}

/// Runs an asynchronous body in another task, and waits on the calling thread until the body has ended.
///
/// - Throws: the error of the body.
public func waitForTask(_ body: @escaping @Sendable () async throws -> Void) throws {
    let failure = Mutex<(any Error)?>(nil)
    let hasEnded = DispatchSemaphore(value: 0)
    Task.detached {
        defer { hasEnded.signal() }
        do { try await body() } catch { failure.withLock { $0 = error } }
    }
    hasEnded.wait()
    if let error = failure.withLock({ $0 }) { throw error }
}
