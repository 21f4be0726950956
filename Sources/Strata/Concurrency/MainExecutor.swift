import Dispatch

/// Asks, without trapping, whether the caller runs on the executor of the main actor.
enum MainExecutor {
    private static let key: DispatchSpecificKey<Bool> = {
        let key = DispatchSpecificKey<Bool>()
        DispatchQueue.main.setSpecific(key: key, value: true)
        return key
    }()

    /// Whether the caller runs on the main actor.
    ///
    /// The main actor of Linux is drained by the main queue, and that need not be the main thread, so the queue is asked.
    static var isCurrent: Bool {
        DispatchQueue.getSpecific(key: key) == true
    }
}
