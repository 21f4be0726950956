/// A constraint that a whole pipeline waits for, such as a server that all of its operations need.
///
/// ```swift
/// let server = ManualConstraint("server", isSatisfied: true)
/// let uploads = try await Pipeline.open(stack, named: .uploads, gate: PipelineGate(server)) { … }
/// server.set(false)  // nothing is claimed any more
/// server.set(true)  // all operations continue
/// ```
///
/// ``Outcome/wait(_:)`` writes down for one operation that it waits, and wakes each one by another write. A gate writes nothing: however many operations
/// are queued, they stay pending, and go on when the gate opens. Each process has its own gate.
public struct PipelineGate: Sendable {
    /// What knows whether the gate is open.
    public let constraint: any ConstraintObserver
    /// What the keys of operations begin with that the gate does not hold back; nil if it holds back all.
    public let exemptKeys: String?

    /// A gate that is open while a constraint is satisfied.
    ///
    /// - Parameter exemptKeys: the beginning of the keys of operations that do not need the resource that the gate
    ///   guards.
    public init(_ constraint: any ConstraintObserver, exemptKeys: String? = nil) {
        self.constraint = constraint
        self.exemptKeys = exemptKeys
    }
}
