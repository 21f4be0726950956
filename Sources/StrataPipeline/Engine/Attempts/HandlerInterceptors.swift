import Synchronization

/// A function that is called instead of a handler. It receives the handler.
package typealias HandlerReplacement = @Sendable (() async throws -> Outcome) async throws -> Outcome

/// Intercepts the calls from an engine to a handler, for the tests of programs.
package protocol HandlerInterceptor: Sendable {
    /// The function to call instead of the handler for an attempt that starts; nil to call the handler.
    func replacement(for operation: Int64) -> HandlerReplacement?

    /// Whether this interceptor will not replace any further call.
    var isSpent: Bool { get }
}

/// The interceptors of one pipeline or broker, asked at the start of each attempt, in the order in which they were
/// added.
final class HandlerInterceptors: Sendable {
    private let all = Mutex<[any HandlerInterceptor]>([])

    func append(_ interceptor: any HandlerInterceptor) { all.withLock { $0.append(interceptor) } }

    /// The replacement from the first interceptor that returns one.
    func replacement(for operation: Int64) -> HandlerReplacement? {
        all.withLock { all in
            all.removeAll(where: \.isSpent)
            for interceptor in all {
                if let replacement = interceptor.replacement(for: operation) { return replacement }
            }
            return nil
        }
    }
}
