public import StrataPipeline
import Synchronization

/// Reports whether a remote can be reached, now and after each change.
///
/// ```swift
/// let reachability = Reachability(host: "cloud.example.com")
/// for await status in reachability.changes { … }
/// ```
///
/// The class is a `ConstraintSource`, so that a pipeline continues when the remote can be reached again:
///
/// ```swift
/// let options = PipelineOptions(constraints: [reachability])
/// let pipeline = try await Pipeline.open(stack, named: .uploads, options: options) { … .wait(.network) … }
/// ```
///
/// On Linux the class listens to the kernel (rtnetlink). A remote counts as reachable if two conditions hold. The
/// kernel has a route to it by a link that is up and running. This machine has an address of the same family on a link
/// other than loopback. On Apple systems, `NWPathMonitor` provides the status.
///
/// No packets are sent, so a server that is down counts as reachable. If the system does not allow this observation,
/// every remote counts as reachable: a failed attempt is retried, but work that is never attempted is lost.
///
/// Isolation: any.
public final class Reachability: ConstraintSource {
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
        // Loops over `changes` end when this object is deallocated.
        for iterator in state.withLock({ $0.iterators.values }) { iterator.finish() }
    }

    /// The reachability of a remote on this machine: a folder, or a server on loopback.
    public static func always(constraint: Constraint = .network) -> Reachability {
        Reachability(.reachable(.loopback), constraint: constraint)
    }

    /// Creates the reachability of a host, from the system's network state.
    ///
    /// - Parameters:
    ///   - host: a name, or an address as text (RFC 4291 for IPv6, with or without brackets and zone). `localhost` and
    ///     loopback addresses are always reachable. Names are not resolved: they count as reachable if there is a
    ///     default route.
    ///   - addresses: addresses of the host, as text. Pass them for a host that is not reached by a default route, such
    ///     as a server in the local network.
    ///   - constraint: the constraint that pipelines wait for.
    public convenience init(host: String, addresses: [String] = [], constraint: Constraint = .network) {
        let target = NetworkTarget(host: host, addresses: addresses)
        self.init(.reachable(target == .here ? .loopback : .other), constraint: constraint)
        if target == .here { return }
        #if os(Linux)
            KernelNetwork.shared?.watch(target, for: self)
        #elseif canImport(Network)
            PathNetwork.shared.watch(self)
        #endif
    }

    /// The current status.
    public var status: ReachabilityStatus { state.withLock { $0.status } }

    /// Whether the remote can be reached now.
    public var isSatisfied: Bool { status.isReachable }

    /// Calls `body` after each change of the status, from now on.
    ///
    /// The call comes from any thread, and `body` must return quickly.
    public func observe(_ body: @escaping @Sendable () -> Void) { state.withLock { $0.observers.append(body) } }

    /// The current status, followed by each later one.
    ///
    /// A slow reader misses intermediate states, but never the newest one.
    ///
    /// Any number of loops may run at once; each begins with the current status. The loops end when the `Reachability`
    /// is deallocated.
    public var changes: ReachabilityChanges { ReachabilityChanges(self) }

    // MARK: What drives it

    /// Sets the status to the result of `newStatus`.
    ///
    /// Concurrent updates run it one after the other under the lock, so the newest result wins.
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

    /// The number of loops over `changes`.
    var iteratorCount: Int { state.withLock { $0.iterators.count } }

    private func removeIterator(_ number: Int) {
        // The removed continuation must be released outside of the lock, so the closure returns it.
        _ = state.withLock { $0.iterators.removeValue(forKey: number) }
    }
}
