#if canImport(Network)
    import Dispatch
    import Network
    import Synchronization

    /// The network state of `NWPathMonitor` on Apple systems. All remotes share one path.
    final class PathNetwork: Sendable {
        static let shared = PathNetwork()

        private struct Watcher {
            weak var reachability: Reachability?
        }

        private struct State {
            var status = ReachabilityStatus.reachable(.other)
            var watchers: [Watcher] = []
        }

        private let monitor = NWPathMonitor()
        private let state = Mutex(State())

        private init() {
            monitor.pathUpdateHandler = { [weak self] path in self?.update(path) }
            monitor.start(queue: DispatchQueue(label: "strata.reachability"))
        }

        func watch(_ reachability: Reachability) {
            state.withLock { state in
                state.watchers.removeAll { $0.reachability == nil }
                state.watchers.append(Watcher(reachability: reachability))
            }
            reachability.update { status }
        }

        private var status: ReachabilityStatus { state.withLock { $0.status } }

        private func update(_ path: NWPath) {
            let watchers = state.withLock { state in
                state.status = Self.status(path)
                return state.watchers
            }
            for watcher in watchers { watcher.reachability?.update { status } }
        }

        private static func status(_ path: NWPath) -> ReachabilityStatus {
            guard path.status == .satisfied else { return .unreachable }
            let link: LinkKind =
                if path.usesInterfaceType(.wiredEthernet) {
                    .wired
                } else if path.usesInterfaceType(.wifi) {
                    .wireless
                } else if path.usesInterfaceType(.cellular) {
                    .cellular
                } else if path.usesInterfaceType(.loopback) {
                    .loopback
                } else {
                    .other
                }
            return ReachabilityStatus(isReachable: true, link: link, isMetered: path.isExpensive)
        }
    }
#endif
