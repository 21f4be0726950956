import Dispatch

/// Work that blocks a thread, such as file system calls.
enum BlockingWork {
    /// Runs a body on a thread that may block, and returns its result. The threads of Swift's concurrency are few, and
    /// all other tasks need them.
    static func run<Value: Sendable>(_ body: @escaping @Sendable () throws -> Value) async throws -> Value {
        try await withCheckedThrowingContinuation { continuation in
            DispatchQueue.global().async { continuation.resume(with: Result { try body() }) }
        }
    }
}
