#if os(Linux)
    import CStrataNetlink
    import Dispatch
    import Foundation
    import Synchronization

    /// The network as the kernel of Linux knows it: listened to on a queue of its own, for all who want to know.
    ///
    /// Links, addresses and routes are read when it begins, and again whenever a link or an address has changed or messages were lost: the
    /// kernel takes routes away without a word when their link goes down. Changes of routes alone are taken over as they come.
    final class KernelNetwork: Sendable {
        /// That of this process; nil where the system does not allow to listen.
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
        /// - Parameter room: how many bytes of messages may wait; as many as the system says where it is nil.
        /// - Throws: `POSIXError`.
        init(classifier: LinkClassifier = LinkClassifier(), room: Int32? = nil) throws {
            listener = try Listener(classifier: classifier, room: room)
            state.withLock { $0.network = listener.network }
            listener.start { [weak self] network in self?.update(network) }
        }

        deinit { listener.stop() }

        /// What is known now.
        var network: NetworkState { state.withLock { $0.network } }

        /// Keeps a reachability up to date, as long as both are there.
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
