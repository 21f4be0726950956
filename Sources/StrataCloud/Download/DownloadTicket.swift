/// A requested download.
public struct DownloadTicket: Sendable {
    let task: Task<DownloadedFile, any Error>

    /// The file, after it has arrived.
    ///
    /// The first caller must release it. Cancelling a task that waits for the file cancels the download.
    ///
    /// - Throws: `CancellationError` if the download was cancelled; `RemoteError`; ``CloudError``.
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

    /// Cancels the download.
    ///
    /// The transfer ends when all its requests are cancelled. The bytes that have arrived are kept for the next
    /// transfer.
    public func cancel() { task.cancel() }
}
