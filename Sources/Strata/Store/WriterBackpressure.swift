import Dispatch
import Synchronization

/// Makes other writers of this process wait for a block whose reads their commits have made stale again and again.
///
/// Isolation: any.
final class WriterBackpressure: Sendable {
    private let holders = DispatchGroup()
    private let isHeld = Atomic(false)
    private let state = Mutex((count: 0, isForced: false))

    /// The maximum wait. A writer that has waited this long continues, and all other writers with it: the holder may be
    /// waiting for that writer.
    private static let patience = DispatchTimeInterval.seconds(2)

    /// Waits until no block holds other writers back. Blocks the thread.
    func waitWhileHeld() {
        guard isHeld.load(ordering: .acquiring), !state.withLock({ $0.isForced }) else { return }
        guard holders.wait(timeout: .now() + Self.patience) == .timedOut else { return }
        state.withLock { $0.isForced = $0.count > 0 }
    }

    func acquire() {
        holders.enter()
        state.withLock { state in
            state.count += 1
            isHeld.store(true, ordering: .releasing)
        }
    }

    func release() {
        state.withLock { state in
            state.count -= 1
            guard state.count == 0 else { return }
            state.isForced = false
            isHeld.store(false, ordering: .releasing)
        }
        holders.leave()
    }
}
