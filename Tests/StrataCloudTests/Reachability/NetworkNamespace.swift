#if os(Linux)
    import CNetworkNamespace
    import Foundation
    import Synchronization

    @testable import StrataCloud

    /// A network of one's own, in which a test takes links up and down.
    ///
    /// Such a namespace belongs to a thread, so everything that has to do with it is done by a thread that ends with it; a process that this one
    /// starts, and a socket that it makes, are in the same.
    struct NetworkNamespace {
        /// Whether this process may have one; containers often do not allow it.
        static let isAllowed: Bool = {
            let isAllowed = Mutex(false)
            let isDone = DispatchSemaphore(value: 0)
            Thread.detachNewThread {
                let network = NetworkNamespace()
                isAllowed.withLock { $0 = (try? network?.ip("link add one type veth peer name other")) != nil }
                isDone.signal()
            }
            isDone.wait()
            return isAllowed.withLock(\.self)
        }()

        /// Runs a test in a network of its own, in which there is nothing but loopback.
        static func run(_ body: @escaping @Sendable (NetworkNamespace) throws -> Void) async throws {
            try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Void, any Error>) in
                Thread.detachNewThread {
                    guard let network = NetworkNamespace() else {
                        continuation.resume(throwing: POSIXError(.EPERM))
                        return
                    }
                    continuation.resume(with: Result { try body(network) })
                }
            }
        }

        /// Moves the calling thread into a new network.
        private init?() {
            guard network_namespace_enter() == 0, (try? ip("link set lo up")) != nil else { return nil }
        }

        /// Gives commands to the program `ip`, one in each line.
        ///
        /// - Throws: where one of them fails.
        func ip(_ commands: String) throws {
            guard network_namespace_ip(commands + "\n") == 0 else { throw Unexpected("ip: \(commands)") }
        }
    }

    /// What a test on a thread of its own, of which the testing library knows nothing, has found wrong.
    struct Unexpected: Error, CustomStringConvertible {
        let description: String

        init(_ description: String) { self.description = description }
    }

    /// Waits for what a reachability becomes.
    struct StatusWaiter {
        let reachability: Reachability
        private let changed = DispatchSemaphore(value: 0)

        init(_ target: NetworkTarget, in network: KernelNetwork) {
            let reachability = Reachability(.unreachable, constraint: .network)
            self.reachability = reachability
            reachability.observe { [changed] in changed.signal() }
            network.watch(target, for: reachability)
        }

        /// - Throws: where it has not become so within ten seconds of the last change.
        func wait(for status: ReachabilityStatus, line: Int = #line) throws {
            for _ in 0..<1000 where reachability.status != status {
                guard changed.wait(timeout: .now() + 10) == .success else { break }
            }
            try check(status, line: line)
        }

        /// - Throws: where it is not so now.
        func check(_ status: ReachabilityStatus, line: Int = #line) throws {
            let present = reachability.status
            guard present == status else { throw Unexpected("line \(line): \(present), not \(status)") }
        }
    }
#endif
