import Synchronization

/// What knows whether a constraint is satisfied, and tells when that changes.
public protocol ConstraintObserver: Sendable {
    /// The constraint.
    var constraint: Constraint { get }

    /// Whether it is satisfied now.
    var isSatisfied: Bool { get }

    /// Has `body` called whenever that may have changed, from now on.
    func observe(_ body: @escaping @Sendable () -> Void)
}

/// A constraint that the program sets by hand.
///
/// ```swift
/// let network = ManualConstraint(.network, isSatisfied: false)
/// let pipeline = try await Pipeline.open(stack, named: .uploads, constraints: [network]) { … }
/// network.set(true)  // what has waited for the network is tried again
/// ```
public final class ManualConstraint: ConstraintObserver {
    private struct State {
        var isSatisfied: Bool
        var observers: [@Sendable () -> Void] = []
    }

    /// The constraint.
    public let constraint: Constraint
    private let state: Mutex<State>

    /// A constraint that is satisfied or not until that is set.
    public init(_ constraint: Constraint, isSatisfied: Bool) {
        self.constraint = constraint
        state = Mutex(State(isSatisfied: isSatisfied))
    }

    /// Whether it is satisfied now.
    public var isSatisfied: Bool { state.withLock { $0.isSatisfied } }

    /// Says whether it is satisfied from now on.
    public func set(_ isSatisfied: Bool) {
        let observers = state.withLock { state in
            guard state.isSatisfied != isSatisfied else { return [] as [@Sendable () -> Void] }
            state.isSatisfied = isSatisfied
            return state.observers
        }
        for observer in observers { observer() }
    }

    /// Has `body` called whenever it is set to something else.
    public func observe(_ body: @escaping @Sendable () -> Void) { state.withLock { $0.observers.append(body) } }
}
