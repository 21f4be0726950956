import Strata

/// A constraint that a whole pipeline waits for, such as a server that all of its operations need.
///
/// ```swift
/// let server = ManualConstraint("server", isSatisfied: true)
/// let uploads = try await Pipeline.open(stack, named: .uploads, gate: PipelineGate(server)) { … }
/// server.set(false)  // no operation is claimed any more
/// server.set(true)  // all operations continue
/// ```
///
/// ``Outcome/wait(_:)`` stores the constraint in each waiting operation, and another write wakes each of them. A gate
/// writes nothing: however many operations are queued, they stay pending and continue when the gate opens. Each process
/// has a separate gate.
public struct PipelineGate: Sendable {
    /// The source that knows whether the gate is open.
    public let constraint: any ConstraintSource
    /// The prefix of the keys of operations that the gate does not hold back; nil if the gate holds back all
    /// operations.
    public let exemptKeys: String?

    /// Creates a gate that is open while a constraint is satisfied.
    ///
    /// - Parameters:
    ///   - constraint: the source of the constraint.
    ///   - exemptKeys: the prefix of the keys of operations that do not need the resource that the gate guards.
    public init(_ constraint: any ConstraintSource, exemptKeys: String? = nil) {
        self.constraint = constraint
        self.exemptKeys = exemptKeys
    }

    /// Whether the gate does not hold back an operation with this key.
    func exempts(key: String?) -> Bool {
        guard let key, let exemptKeys else { return false }
        return key.hasBytePrefix(exemptKeys)
    }
}
