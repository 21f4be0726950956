public import Strata

/// What a pipeline does with an operation that has failed permanently.
public enum FailurePolicy: String, AttributeValue, CaseIterable {
    // The raw values are stored, and older than the names of the cases.

    /// The operation stays, and the later operations of its lane wait until the failed one is retried, completed,
    /// skipped or removed. In an ordering without a sequence, such as `flat`, only its dependants wait.
    case blockLane = "block"
    /// The operation stays, and the later operations of its lane continue.
    case setAside = "park"
    /// The operation is taken off the queue as ``OperationResult/discarded``, and its dependants continue.
    case discard = "drop"
}
