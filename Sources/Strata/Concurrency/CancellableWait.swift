import Synchronization

/// Waiting that ends with what is waited for, or with the task.
enum CancellableWait {
    typealias Waiter = CheckedContinuation<Void, Never>

    private static let last = Atomic(0)

    /// - Parameters:
    ///   - add: keeps the waiter under its number, and says whether it did: not where there is nothing to wait for. Asks, under the same
    ///     lock, whether the task is cancelled: a cancellation after that finds the waiter.
    ///   - remove: gives up the waiter of a number, if it is there still.
    nonisolated(nonsending) static func wait(
        add: (Int, Waiter) -> Bool,
        remove: @Sendable (Int) -> Waiter?
    ) async {
        let number = last.add(1, ordering: .relaxed).newValue
        await withTaskCancellationHandler {
            await withCheckedContinuation { waiter in
                if !add(number, waiter) { waiter.resume() }
            }
        } onCancel: {
            remove(number)?.resume()
        }
    }
}
