import Synchronization

/// A wait that ends with the awaited event or with the cancellation of the task.
enum CancellableWait {
    typealias Waiter = CheckedContinuation<Void, Never>

    private static let last = Atomic(0)

    /// - Parameters:
    ///   - add: stores the waiter under its number and returns true, or returns false if there is no event to wait for.
    ///     Under the same lock, it checks whether the task is cancelled; a later cancellation then finds the waiter.
    ///   - remove: removes and returns the waiter with a number, if it is still stored.
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
