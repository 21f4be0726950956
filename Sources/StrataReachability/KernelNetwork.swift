#if os(Linux)
    import CStrataNetlink
    import Dispatch
    import Foundation
    import Synchronization

    /// The network state of the Linux kernel.
    ///
    /// One listener on a separate dispatch queue serves all instances of ``Reachability``.
    ///
    /// Links, addresses and routes are read at the start, and again after a link or an address has changed, or after
    /// messages were lost. This is necessary because the kernel removes routes without a message when their link goes
    /// down. Changes of routes alone are applied as they arrive.
    final class KernelNetwork: Sendable {
        /// The instance of this process; nil if the system does not allow listening.
        static let shared: KernelNetwork? = try? KernelNetwork()

        private struct Watcher {
            weak var reachability: Reachability?
            let target: NetworkTarget
        }

        private struct State {
            var network = NetworkState()
            var watchers: [Watcher] = []
        }

        private let state = Mutex(State())
        let listener: Listener

        /// Begins to listen, in the network namespace of the calling thread.
        ///
        /// - Parameters:
        ///   - classifier: determines the kind of each link.
        ///   - room: the size of the receive buffer in bytes; nil for the system's default.
        /// - Throws: `POSIXError`.
        init(classifier: LinkClassifier = LinkClassifier(), room: Int32? = nil) throws {
            listener = try Listener(classifier: classifier, room: room)
            state.withLock { $0.network = listener.network }
            listener.start { [weak self] network in self?.update(network) }
        }

        deinit { listener.stop() }

        /// The current state.
        var network: NetworkState { state.withLock { $0.network } }

        /// Keeps a reachability up to date, as long as both objects exist.
        func watch(_ target: NetworkTarget, for reachability: Reachability) {
            state.withLock { state in
                state.watchers.removeAll { $0.reachability == nil }
                state.watchers.append(Watcher(reachability: reachability, target: target))
            }
            reachability.update { network.status(to: target) }
        }

        private func update(_ network: NetworkState) {
            let watchers = state.withLock { state in
                state.network = network
                return state.watchers
            }
            for watcher in watchers {
                watcher.reachability?.update { self.network.status(to: watcher.target) }
            }
        }
    }
#endif
