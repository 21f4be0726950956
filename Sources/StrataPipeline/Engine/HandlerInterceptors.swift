import Synchronization

/// What is called instead of a handler, with that.
package typealias HandlerReplacement = @Sendable (() async throws -> Outcome) async throws -> Outcome

/// Stands between an engine and a handler: for the tests of programs.
package protocol HandlerInterceptor: Sendable {
    /// Gives what is called instead of the handler for an attempt of an operation that is started; nil where the handler is.
    func replacement(for operation: Int64) -> HandlerReplacement?

    /// Whether it replaces nothing any more.
    var isSpent: Bool { get }
}

/// Those who are asked at the start of each attempt of one pipeline or broker, the first one first.
final class HandlerInterceptors: Sendable {
    private let all = Mutex<[any HandlerInterceptor]>([])

    func append(_ interceptor: any HandlerInterceptor) {
        all.withLock { all in
            all.removeAll(where: \.isSpent)
            all.append(interceptor)
        }
    }

    /// What the first one that wants an attempt calls instead of the handler.
    func replacement(for operation: Int64) -> HandlerReplacement? {
        all.withLock { all in
            if all.isEmpty { return nil }
            all.removeAll(where: \.isSpent)
            for interceptor in all {
                if let replacement = interceptor.replacement(for: operation) { return replacement }
            }
            return nil
        }
    }
}
