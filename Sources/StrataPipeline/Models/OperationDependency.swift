public import Strata

/// One operation that does not start before another one has been completed or skipped.
///
/// Made by ``QueuedOperation/addDependencies(_:)``. The other one need not be queued yet; as long as it is not, it is not
/// waited for.
@Model(.index("dependant", "prerequisite"), .index("prerequisite"), table: "OperationDependency")
public final class OperationDependency {
    /// The number of the id of the operation that waits.
    public internal(set) var dependant: Int64
    /// The number of the id of the operation that is waited for.
    public internal(set) var prerequisite: Int64
    /// What becomes of the one when the other one has failed.
    public internal(set) var whenFailed: DependencyPolicy = DependencyPolicy.wait
    /// Whether it follows from what both do. Then what depends on an operation that is left out waits for what that has waited for.
    public internal(set) var isImplied: Bool = false
}
