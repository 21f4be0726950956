import Dispatch
import Foundation
import Synchronization

/// A function that runs on a new thread.
package final class HomeThread<Value: Sendable>: Sendable {
    private let result = Mutex<Result<Value, any Error>?>(nil)
    private let hasEnded = DispatchSemaphore(value: 0)

    package init(_ body: @escaping @Sendable () throws -> Value) {
        Thread.detachNewThread { [self] in
            let ended = Result { try body() }
            result.withLock { $0 = ended }
            hasEnded.signal()
        }
    }

    /// The result of the function. May be called once.
    ///
    /// - Throws: the error of the function; ``HomeFailure`` if it has not returned after a number of seconds.
    package func value(within seconds: Double = 60) throws -> Value {
        _ = hasEnded.wait(timeout: .now() + seconds)
        guard let result = self.result.withLock({ $0 }) else {
            throw HomeFailure(description: "A call has not returned within \(seconds) seconds.")
        }
        return try result.get()
    }
}
