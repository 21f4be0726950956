#if os(Linux)
    import CNetworkNamespace
    import Foundation
    import Synchronization

    @testable import StrataReachability

    /// A separate network, in which a test takes links up and down.
    ///
    /// A namespace belongs to a thread, so a test runs on a thread of its own, which ends with the test. Processes and
    /// sockets that this thread creates belong to the same namespace.
    struct NetworkNamespace {
        /// Whether this process may create a namespace. Containers often forbid it.
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

        /// Runs a test in a separate network that contains only the loopback link.
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

        /// Runs commands of the program `ip`, one per line.
        ///
        /// - Throws: an error if a command fails.
        func ip(_ commands: String) throws {
            guard network_namespace_ip(commands + "\n") == 0 else { throw Unexpected("ip: \(commands)") }
        }
    }

    /// A failure on a thread that the testing library does not know.
    struct Unexpected: Error, CustomStringConvertible {
        let description: String

        init(_ description: String) { self.description = description }
    }

    /// Waits until a reachability has a certain status.
    struct StatusWaiter {
        let reachability: Reachability
        private let changed = DispatchSemaphore(value: 0)

        init(_ target: NetworkTarget, in network: KernelNetwork) {
            let reachability = Reachability(.unreachable, constraint: .network)
            self.reachability = reachability
            reachability.observe { [changed] in changed.signal() }
            network.watch(target, for: reachability)
        }

        /// - Throws: an error if the status is not reached within ten seconds after the last change.
        func wait(for status: ReachabilityStatus, line: Int = #line) throws {
            for _ in 0..<1000 where reachability.status != status {
                guard changed.wait(timeout: .now() + 10) == .success else { break }
            }
            try check(status, line: line)
        }

        /// - Throws: an error if the present status is another one.
        func check(_ status: ReachabilityStatus, line: Int = #line) throws {
            let present = reachability.status
            guard present == status else { throw Unexpected("line \(line): \(present), not \(status)") }
        }
    }
#endif
