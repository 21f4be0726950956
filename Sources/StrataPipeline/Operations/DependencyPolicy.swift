public import Strata

/// What an operation does when one of its prerequisites has failed permanently.
public enum DependencyPolicy: String, AttributeValue, CaseIterable {
    /// The operation waits until the failed prerequisite is retried, completed, skipped or removed.
    case wait
    /// The operation fails as well, and so do its dependants with this policy. It also fails if the prerequisite has
    /// expired: see ``OperationOptions/expires``. With the other policies, an expired prerequisite counts as done.
    case fail
    /// The operation runs anyway.
    case run
}
