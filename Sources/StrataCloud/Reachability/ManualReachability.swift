public import StrataPipeline

/// A ``Reachability`` that a test or a program sets by hand.
///
/// ```swift
/// let network = ManualReachability()
/// let pipeline = try await Pipeline.open(stack, named: .uploads, constraints: [network.reachability]) { … }
/// network.set(.unreachable)
/// network.set(.reachable(.wireless))  // what has waited is tried again
/// ```
public final class ManualReachability: Sendable {
    /// What is set, as everybody else sees it.
    public let reachability: Reachability

    /// A reachability that is as it says until it is set.
    public init(_ status: ReachabilityStatus = .reachable(.wired), constraint: Constraint = .network) {
        reachability = Reachability(status, constraint: constraint)
    }

    /// Says how it is from now on.
    public func set(_ status: ReachabilityStatus) { reachability.update { status } }
}
