import Dispatch

enum Disk {
    /// Runs work that waits for the disk, without blocking a thread of the caller.
    nonisolated(nonsending) static func run<Value: Sendable>(
        _ body: @escaping @Sendable () throws -> Value
    ) async throws -> Value {
        try await withCheckedThrowingContinuation { continuation in
            DispatchQueue.global().async { continuation.resume(with: Result { try body() }) }
        }
    }
}
