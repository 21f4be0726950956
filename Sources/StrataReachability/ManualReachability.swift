public import StrataPipeline

/// A ``Reachability`` that a test or a program sets manually.
///
/// ```swift
/// let network = ManualReachability()
/// let options = PipelineOptions(constraints: [network.reachability])
/// let pipeline = try await Pipeline.open(stack, named: .uploads, options: options) { … }
/// network.set(.unreachable)
/// network.set(.reachable(.wireless))  // the waiting operations are retried
/// ```
public final class ManualReachability: Sendable {
    /// The reachability that this object controls, for use by other code.
    public let reachability: Reachability

    /// Creates a reachability with an initial status.
    public init(_ status: ReachabilityStatus = .reachable(.wired), constraint: Constraint = .network) {
        reachability = Reachability(status, constraint: constraint)
    }

    /// Sets the status.
    public func set(_ status: ReachabilityStatus) { reachability.update { status } }
}
