/// A download that was asked for.
public struct DownloadTicket: Sendable {
    let task: Task<DownloadedFile, any Error>

    /// The file, when it has arrived; it is for whoever asks first to release it. Where the task that asks is cancelled, so is this.
    ///
    /// - Throws: `CancellationError` where it was cancelled; ``RemoteError``; ``CloudError``.
    public var file: DownloadedFile {
        get async throws {
            let task = task
            return try await withTaskCancellationHandler {
                try await task.value
            } onCancel: {
                task.cancel()
            }
        }
    }

    /// Gives it up. The transfer ends when all that have asked for it have given up; what has arrived by then is kept for the next one.
    public func cancel() { task.cancel() }
}
