public import Strata

/// What an operation does when another one that it depends on has failed for good.
public enum DependencyPolicy: String, AttributeValue, CaseIterable {
    /// It waits until somebody has retried, completed, skipped or removed the other one.
    case wait
    /// It fails as well, and so do those that depend on it in this way.
    case fail
    /// It runs all the same.
    case run
}
