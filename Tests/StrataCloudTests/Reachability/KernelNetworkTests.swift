#if os(Linux)
    import Foundation
    import Synchronization
    import Testing

    @testable import StrataReachability

    @Suite(
        .enabled(
            if: NetworkNamespace.isAllowed,
            "needs network namespaces of its own: unshare(2) with CLONE_NEWNET, and the program ip of iproute2"
        ),
        .timeLimit(.minutes(1))
    )
    struct KernelNetworkTests {
        private static let cable = """
            link add wan type veth peer name far
            link set far up
            link set wan up
            addr add 192.0.2.5/24 dev wan
            """

        @Test("A remote becomes reachable with a route, and unreachable when a route, link or address is removed")
        func routesAndLinks() async throws {
            try await NetworkNamespace.run { namespace in
                let network = try KernelNetwork()
                let anywhere = StatusWaiter(NetworkTarget(host: "example.com"), in: network)
                let neighbour = StatusWaiter(NetworkTarget(host: "192.0.2.77"), in: network)
                let fence = StatusWaiter(NetworkTarget(host: "198.51.100.1"), in: network)
                try anywhere.check(.unreachable)
                try neighbour.check(.unreachable)

                // The test adds a cable first, and then a route out of the local network.
                try namespace.ip(Self.cable)
                try neighbour.wait(for: .reachable(.wired))
                try anywhere.check(.unreachable)
                try namespace.ip("route add default via 192.0.2.1")
                try anywhere.wait(for: .reachable(.wired))

                // The cable is pulled out at the other end, and plugged in again: the kernel keeps the routes.
                try namespace.ip("link set far down")
                try anywhere.wait(for: .unreachable)
                try namespace.ip("link set far up")
                try anywhere.wait(for: .reachable(.wired))

                // The link is taken down, and the kernel forgets its routes without a message.
                try namespace.ip("link set wan down")
                try anywhere.wait(for: .unreachable)
                try namespace.ip("link set wan up\nroute add 198.51.100.0/24 via 192.0.2.1")
                try fence.wait(for: .reachable(.wired))
                try anywhere.check(.unreachable)
                try namespace.ip("route add default via 192.0.2.1")
                try anywhere.wait(for: .reachable(.wired))

                // The test removes the route, then the address with its remaining routes, then the link.
                try namespace.ip("route del default")
                try anywhere.wait(for: .unreachable)
                try namespace.ip("addr flush dev wan")
                try neighbour.wait(for: .unreachable)
                try namespace.ip("addr add 192.0.2.6/24 dev wan")
                try neighbour.wait(for: .reachable(.wired))
                try namespace.ip("link del wan")
                try neighbour.wait(for: .unreachable)
            }
        }

        @Test("The initial state is known at once")
        func initialState() async throws {
            try await NetworkNamespace.run { namespace in
                try namespace.ip(Self.cable + "\nroute add default via 192.0.2.1\nroute add unreachable 203.0.113.0/24")
                let network = try KernelNetwork()
                try StatusWaiter(NetworkTarget(host: "example.com"), in: network).check(.reachable(.wired))
                try StatusWaiter(NetworkTarget(host: "203.0.113.4"), in: network).check(.unreachable)
                try StatusWaiter(NetworkTarget(host: "192.0.2.5"), in: network).check(.reachable(.loopback))
            }
        }

        @Test("An IPv6 address counts once the kernel has found no duplicate")
        func duplicateAddressDetection() async throws {
            try await NetworkNamespace.run { namespace in
                let network = try KernelNetwork()
                let neighbour = StatusWaiter(NetworkTarget(host: "2001:db8::77"), in: network)
                try namespace.ip("link add wan type veth peer name far\nlink set far up\nlink set wan up")
                // The kernel needs one or two seconds to check for duplicate addresses.
                try namespace.ip("addr add 2001:db8::5/64 dev wan")
                try neighbour.wait(for: .reachable(.wired))
                try namespace.ip("link set wan down")
                try neighbour.wait(for: .unreachable)
            }
        }

        @Test("Lost kernel messages are replaced by a new query")
        func lostMessages() async throws {
            try await NetworkNamespace.run { namespace in
                try namespace.ip(Self.cable)
                // Without IPv6 addresses, the kernel sends no further messages later. Only the overflow must lead to a
                // second look at the network.
                try namespace.ip(
                    "link set wan addrgenmode none\naddr flush dev wan scope link\nlink set far addrgenmode none\naddr flush dev far"
                )
                let network = try KernelNetwork(room: 2048)
                let anywhere = StatusWaiter(NetworkTarget(host: "example.com"), in: network)
                let fence = StatusWaiter(NetworkTarget(host: "198.51.100.1"), in: network)
                // The reader is blocked during this time, and the buffer for messages is far too small for these
                // routes.
                let isFull = DispatchSemaphore(value: 0)
                fence.reachability.observe { isFull.wait() }
                let routes = (0..<200).map { "route add 10.0.\($0).0/24 via 192.0.2.1" }
                try namespace.ip("route add 198.51.100.0/24 via 192.0.2.1")
                try fence.wait(for: .reachable(.wired))
                try namespace.ip(routes.joined(separator: "\n") + "\nroute add default via 192.0.2.1")
                for _ in 0..<10 { isFull.signal() }
                try anywhere.wait(for: .reachable(.wired))
                let count = network.network.routes.count { $0.prefix.first == 10 }
                guard count == 200 else { throw Unexpected("\(count) routes") }
            }
        }

        @Test("No socket stays open when no one listens anymore")
        func closedSockets() async throws {
            try await NetworkNamespace.run { _ in
                weak var gone: KernelNetwork.Listener?
                for _ in 0..<5 {
                    let network = try KernelNetwork()
                    gone = network.listener
                }
                // The queue releases the listener a moment later.
                for _ in 0..<1_000_000 where gone != nil { sched_yield() }
                guard gone == nil else { throw Unexpected("a listener that nobody has") }
            }
        }
    }
#endif
