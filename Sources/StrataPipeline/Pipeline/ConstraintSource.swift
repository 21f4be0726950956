import Synchronization

/// Knows whether a constraint is satisfied, and notifies when that changes.
public protocol ConstraintSource: Sendable {
    /// The constraint whose state this object knows.
    var constraint: Constraint { get }

    /// Whether the constraint is satisfied now.
    var isSatisfied: Bool { get }

    /// Registers `body` to be called whenever ``isSatisfied`` may have changed, from now on.
    func observe(_ body: @escaping @Sendable () -> Void)
}

/// A constraint that the program sets by hand.
///
/// ```swift
/// let network = ManualConstraint(.network, isSatisfied: false)
/// let options = PipelineOptions(constraints: [network])
/// let pipeline = try await Pipeline.open(stack, named: .uploads, options: options) { … }
/// network.set(true)  // operations that wait for the network are tried again
/// ```
public final class ManualConstraint: ConstraintSource {
    private struct State {
        var isSatisfied: Bool
        var observers: [@Sendable () -> Void] = []
    }

    /// The constraint that the program sets.
    public let constraint: Constraint
    private let state: Mutex<State>

    /// Creates a constraint that keeps its value until ``set(_:)`` changes it.
    public init(_ constraint: Constraint, isSatisfied: Bool) {
        self.constraint = constraint
        state = Mutex(State(isSatisfied: isSatisfied))
    }

    /// Whether the constraint is satisfied now.
    public var isSatisfied: Bool { state.withLock { $0.isSatisfied } }

    /// Sets whether the constraint is satisfied, and calls the observers if the value has changed.
    public func set(_ isSatisfied: Bool) {
        let observers = state.withLock { state in
            guard state.isSatisfied != isSatisfied else { return [] as [@Sendable () -> Void] }
            state.isSatisfied = isSatisfied
            return state.observers
        }
        for observer in observers { observer() }
    }

    /// Registers `body` to be called whenever ``set(_:)`` changes the value.
    public func observe(_ body: @escaping @Sendable () -> Void) { state.withLock { $0.observers.append(body) } }
}
