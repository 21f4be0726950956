import Dispatch
import Foundation
import Strata

/// Prevents all other writes to a store until it is released.
final class HeldWriter: Sendable {
    private let semaphore = DispatchSemaphore(value: 0)

    /// Returns when the writer holds the store.
    init(_ stack: ContextStack) async {
        let (held, hold) = AsyncStream.makeStream(of: Never.self)
        let semaphore = semaphore
        Thread.detachNewThread {
            try? stack.transact(author: "test") { _ in
                hold.finish()
                semaphore.wait()
            }
        }
        for await _ in held {}
    }

    func release() { semaphore.signal() }
}
