import Strata

/// The options of an operation that apply to its attempts, in place of those of its pipeline. Stored as JSON.
package struct AttemptOptions: Codable, Hashable, AttributeValue {
    /// A ``RetryPolicy`` in its stored form.
    private struct Retry: Codable, Hashable {
        var maxAttempts: Int?
        var base: Duration
        var cap: Duration
    }

    /// How long the handler may take; nil for the pipeline's timeout.
    package let timeout: Duration?
    private let storedRetry: Retry?

    /// Nil if the operation has no such options.
    init?(_ options: OperationOptions) {
        guard options.timeout != nil || options.retry != nil else { return nil }
        timeout = options.timeout
        storedRetry = options.retry.map { Retry(maxAttempts: $0.maxAttempts, base: $0.base, cap: $0.cap) }
    }

    /// When the operation is tried again; nil for the pipeline's policy.
    package var retry: RetryPolicy? {
        storedRetry.map { RetryPolicy(maxAttempts: $0.maxAttempts, base: $0.base, cap: $0.cap) }
    }
}
