public import Strata

/// What an operation does when one of its prerequisites has failed permanently.
public enum DependencyPolicy: String, AttributeValue, CaseIterable {
    /// The operation waits until the failed prerequisite is retried, completed, skipped or removed.
    case wait
    /// The operation fails as well, and so do its dependants with this policy.
    case fail
    /// The operation runs anyway.
    case run
}
