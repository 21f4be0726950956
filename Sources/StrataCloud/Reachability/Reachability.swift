public import StrataPipeline
import Synchronization

/// Whether a remote can be reached, now and whenever that changes.
///
/// ```swift
/// let reachability = Reachability(host: "cloud.example.com")
/// for await status in reachability.changes { … }
/// ```
///
/// It is a ``ConstraintObserver``, so that a pipeline is woken when the remote can be reached again:
///
/// ```swift
/// let pipeline = try await Pipeline.open(stack, named: .uploads, constraints: [reachability]) { … .wait(.network) … }
/// ```
///
/// On Linux it listens to the kernel (rtnetlink): a remote counts as reachable while the kernel has a route to it by a link that is up and
/// running, and this machine has an address of the same family by another link than loopback. On Apple systems it is what
/// `NWPathMonitor` says. Nothing is sent, and nobody is asked, so a server that is down counts as reachable. Where the system does not let
/// itself be asked, everything does: work that is tried in vain is tried again, work that is never tried is lost.
///
/// Isolation: any.
public final class Reachability: ConstraintObserver {
    private struct State {
        var status: ReachabilityStatus
        var observers: [@Sendable () -> Void] = []
        var iterators: [Int: AsyncStream<ReachabilityStatus>.Continuation] = [:]
        var lastIterator = 0
    }

    /// The constraint that is satisfied while the remote can be reached.
    public let constraint: Constraint
    private let state: Mutex<State>

    init(_ status: ReachabilityStatus, constraint: Constraint) {
        self.constraint = constraint
        state = Mutex(State(status: status))
    }

    deinit {
        // Loops over changes end with what they are about.
        for iterator in state.withLock({ $0.iterators.values }) { iterator.finish() }
    }

    /// Of what is on this machine: a folder, or a server on loopback.
    public static func always(constraint: Constraint = .network) -> Reachability {
        Reachability(.reachable(.loopback), constraint: constraint)
    }

    /// The reachability of a host, by what the system knows of its network.
    ///
    /// - Parameters:
    ///   - host: a name, or an address as text (RFC 4291 for IPv6, with or without brackets and zone). Of `localhost` and addresses of
    ///     loopback it is always reachable. Names are not looked up: they count as reachable where there is a default route.
    ///   - addresses: addresses of the host, as text, where a default route is not what leads there: a server in the local network.
    ///   - constraint: what a pipeline is to wait for.
    public convenience init(host: String, addresses: [String] = [], constraint: Constraint = .network) {
        self.init(.reachable(.other), constraint: constraint)
        SystemNetwork.watch(NetworkTarget(host: host, addresses: addresses), for: self)
    }

    /// What is known now.
    public var status: ReachabilityStatus { state.withLock { $0.status } }

    /// Whether the remote can be reached now.
    public var isSatisfied: Bool { status.isReachable }

    /// Has `body` called whenever the status changes, from now on. It is called from any thread, and should return soon.
    public func observe(_ body: @escaping @Sendable () -> Void) { state.withLock { $0.observers.append(body) } }

    /// The status now, and each later one. Whoever reads slowly misses what lies between, and never the newest.
    ///
    /// Any number of loops may run at once; each begins with the present status. They end when the `Reachability` is gone.
    public var changes: ReachabilityChanges { ReachabilityChanges(self) }

    // MARK: What drives it

    /// Sets the status to what a function says, which is asked in turn: the newest answer counts, whoever asks first.
    func update(_ newStatus: () -> ReachabilityStatus) {
        let observers = state.withLock { state in
            let status = newStatus()
            guard status != state.status else { return [] as [@Sendable () -> Void] }
            state.status = status
            for iterator in state.iterators.values { iterator.yield(status) }
            return state.observers
        }
        for observer in observers { observer() }
    }

    func addIterator(_ continuation: AsyncStream<ReachabilityStatus>.Continuation) {
        let number = state.withLock { state in
            state.lastIterator += 1
            state.iterators[state.lastIterator] = continuation
            continuation.yield(state.status)
            return state.lastIterator
        }
        continuation.onTermination = { [weak self] _ in self?.removeIterator(number) }
    }

    /// How many loops listen.
    var iteratorCount: Int { state.withLock { $0.iterators.count } }

    private func removeIterator(_ number: Int) {
        // What is taken out goes when the lock is free again.
        _ = state.withLock { $0.iterators.removeValue(forKey: number) }
    }
}
