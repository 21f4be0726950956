public import Strata

/// What a pipeline does with an operation that has failed permanently.
public enum FailurePolicy: String, AttributeValue, CaseIterable {
    /// The operation stays, and the later operations of its lane wait until the failed one is retried, completed,
    /// skipped or removed. In an ordering without a sequence, such as `flat`, only its dependants wait.
    case block
    /// The operation stays, and the later operations of its lane continue.
    case park
    /// The operation is taken off the queue as ``OperationResult/dropped``, and its dependants continue.
    case drop
}
