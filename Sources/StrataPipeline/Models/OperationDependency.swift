import Strata

/// A dependency: one operation does not start before another one has been completed or skipped.
///
/// ``QueuedOperation/addDependencies(_:onFailure:)-([QueuedOperation],_)`` creates it. The prerequisite need not be queued yet; until it is, the
/// dependant does not wait for it.
@Model(.index("dependant", "prerequisite"), .index("prerequisite"), table: "OperationDependency")
package final class OperationDependency {
    /// The id number of the operation that waits.
    package internal(set) var dependant: Int64
    /// The id number of the operation that is waited for.
    package internal(set) var prerequisite: Int64
    /// What happens to the dependant when the prerequisite has failed.
    package internal(set) var whenFailed: DependencyPolicy = DependencyPolicy.wait
    /// Whether the engine has derived this dependency from the operations' effects. If the operation between two others
    /// is left out, its dependants then wait for its prerequisites.
    package internal(set) var isImplied: Bool = false
}
