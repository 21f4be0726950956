import Dispatch
import Foundation
import Strata

/// Keeps everybody from writing to a store, until it is released.
final class HeldWriter: Sendable {
    private let semaphore = DispatchSemaphore(value: 0)

    /// Returns when it has the store.
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
