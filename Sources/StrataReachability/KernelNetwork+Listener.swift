#if os(Linux)
    import CStrataNetlink
    import Dispatch
    import Foundation
    import Synchronization

    extension KernelNetwork {
        /// Reads the messages of the kernel on a separate dispatch queue, so that no thread blocks.
        final class Listener: Sendable {
            private struct State: ~Copyable {
                /// Receives the changes that the kernel reports on its own.
                let events: NetlinkSocket
                /// Sends requests for lists, and receives the answers.
                let questions: NetlinkSocket
                var network = NetworkState()
            }

            private let state: Mutex<State>
            private let source = Mutex<(any DispatchSourceRead)?>(nil)
            private let classifier: LinkClassifier

            init(classifier: LinkClassifier, room: Int32?) throws {
                self.classifier = classifier
                // Listening begins before the lists are read, so that no change between the two is missed.
                let events = try NetlinkSocket(groups: strata_netlink_groups, room: room)
                state = Mutex(State(events: events, questions: try NetlinkSocket(groups: 0)))
                try state.withLock { try Self.readAll(&$0, classifier) }
            }

            var network: NetworkState { state.withLock { $0.network } }

            /// - Parameter body: is called on the queue with each new state.
            func start(_ body: @escaping @Sendable (NetworkState) -> Void) {
                source.withLock { source in
                    let queue = DispatchQueue(label: "strata.reachability")
                    let descriptor = state.withLock { $0.events.descriptor }
                    let new = DispatchSource.makeReadSource(fileDescriptor: descriptor, queue: queue)
                    // The source retains the listener, and its sockets, until the source is cancelled.
                    new.setEventHandler { body(self.read()) }
                    new.setCancelHandler { withExtendedLifetime(self) {} }
                    new.activate()
                    source = new
                }
            }

            func stop() {
                source.withLock { source in
                    source?.cancel()
                    source = nil
                }
            }

            /// Applies all messages that have arrived.
            private func read() -> NetworkState {
                state.withLock { state in
                    var isStale = false
                    // After 1,000 receives, the next call reads the rest.
                    for _ in 0..<1000 {
                        guard let received = try? state.events.receive() else { break }
                        if case .nothing = received { break }
                        guard case .bytes(let bytes) = received else {
                            isStale = true
                            continue
                        }
                        for message in NetlinkMessage.all(in: bytes[...]) {
                            switch message {
                            case .route(let route): state.network.routes.insert(route)
                            case .routeGone(let route): state.network.routes.remove(route)
                            case .link, .address, .otherChange, .interrupted: isStale = true
                            case .done, .error, .ignored: break
                            }
                        }
                    }
                    if isStale { try? Self.readAll(&state, classifier) }
                    return state.network
                }
            }

            // MARK: Lists

            /// Reads all lists again. If a request fails, the known state stays.
            private static func readAll(_ state: inout State, _ classifier: LinkClassifier) throws {
                // If a list changes while it is read, the lists are read again, at most ten times. After that, the
                // kernel's messages report the remaining changes.
                for _ in 0..<10 {
                    var network = NetworkState()
                    var isWhole = true
                    for type in [RTM_GETLINK, RTM_GETADDR, RTM_GETROUTE] {
                        isWhole = try read(type, state.questions, into: &network, classifier) && isWhole
                    }
                    state.network = network
                    if isWhole { return }
                }
            }

            /// - Returns: whether the list has not changed while it was read.
            private static func read(
                _ type: Int,
                _ socket: borrowing NetlinkSocket,
                into network: inout NetworkState,
                _ classifier: LinkClassifier
            ) throws -> Bool {
                // Discards the rest of a list that was not read to its end.
                for _ in 0..<1000 { if case .nothing = try socket.receive() { break } }
                try socket.ask(type)
                var isWhole = true
                while true {
                    switch try socket.receive() {
                    case .nothing: guard socket.wait(milliseconds: 2000) else { throw POSIXError(.ETIMEDOUT) }
                    case .overrun: isWhole = false
                    case .bytes(let bytes):
                        for message in NetlinkMessage.all(in: bytes[...]) {
                            switch message {
                            case .done: return isWhole
                            case .error(let number): throw POSIXError(POSIXErrorCode(rawValue: number) ?? .EIO)
                            case .interrupted: isWhole = false
                            default: network.add(message, classifier)
                            }
                        }
                    }
                }
            }
        }
    }

    extension NetworkState {
        /// Adds an entry of a list.
        mutating func add(_ message: NetlinkMessage, _ classifier: LinkClassifier) {
            switch message {
            case .link(let index, let name, let hardware, let isUp):
                links[index] = Link(kind: classifier.kind(name: name, hardware: hardware), isUp: isUp)
            case .address(let address): addresses.insert(address)
            case .route(let route): routes.insert(route)
            case .routeGone, .otherChange, .done, .error, .interrupted, .ignored: break
            }
        }
    }
#endif
