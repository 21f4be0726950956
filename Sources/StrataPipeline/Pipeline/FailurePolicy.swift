public import Strata

/// What a pipeline does with an operation that has failed for good.
public enum FailurePolicy: String, AttributeValue, CaseIterable {
    /// It stays, and those that come after it in its lane wait until somebody has retried, completed, skipped or removed it. Where there is
    /// no order, as in `flat`, nobody waits but those that depend on it.
    case block
    /// It stays, and those that come after it in its lane go on.
    case park
    /// It is taken off the queue as ``OperationResult/dropped``; those that depend on it go on.
    case drop
}
