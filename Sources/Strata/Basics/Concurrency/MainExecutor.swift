import Dispatch

/// Checks, without trapping, whether the caller runs on the executor of the main actor.
enum MainExecutor {
    private static let key: DispatchSpecificKey<Bool> = {
        let key = DispatchSpecificKey<Bool>()
        DispatchQueue.main.setSpecific(key: key, value: true)
        return key
    }()

    /// Whether the caller runs on the main actor.
    ///
    /// On Linux, the main queue runs the main actor's jobs, not necessarily on the main thread. The check therefore
    /// asks for the queue.
    static var isCurrent: Bool {
        DispatchQueue.getSpecific(key: key) == true
    }
}
