import Testing

@testable import StrataReachability

@Suite struct NetworkStateTests {
    private static func address(_ text: String) throws -> NetworkAddress { try #require(NetworkAddress(text)) }

    private static func route(
        _ prefix: String,
        _ bits: Int,
        by links: [Int32],
        metric: UInt32 = 0,
        kind: NetworkState.Route.Kind = .unicast,
        table: UInt32 = 254
    ) throws -> NetworkState.Route {
        let address = try address(prefix)
        return NetworkState.Route(
            family: address.family,
            kind: kind,
            prefix: bits == 0 ? [] : address.bytes,
            bits: bits,
            metric: metric,
            table: table,
            links: links
        )
    }

    /// The links: loopback (1), a cable (2), Wi-Fi (3), and a tunnel that is down (4).
    private static func state(_ routes: [NetworkState.Route], addresses: [(Int32, String)] = [(2, "192.0.2.5")]) throws
        -> NetworkState
    {
        NetworkState(
            links: [
                1: .init(kind: .loopback, isUp: true), 2: .init(kind: .wired, isUp: true),
                3: .init(kind: .wireless, isUp: true),
                4: .init(kind: .other, isUp: false),
            ],
            addresses: Set(try addresses.map { .init(link: $0, address: try address($1)) }),
            routes: Set(routes)
        )
    }

    private static func status(_ state: NetworkState, _ host: String) -> ReachabilityStatus {
        state.status(to: NetworkTarget(host: host))
    }

    @Test("Without a route, only this machine is reachable")
    func noRoute() throws {
        let state = try Self.state([])
        #expect(Self.status(state, "example.com") == .unreachable)
        #expect(Self.status(state, "198.51.100.1") == .unreachable)
        #expect(Self.status(state, "localhost") == .reachable(.loopback))
        #expect(Self.status(NetworkState(), "::1") == .reachable(.loopback))
    }

    @Test("A default route leads to all addresses of its family")
    func defaultRoute() throws {
        let state = try Self.state([Self.route("0.0.0.0", 0, by: [2])])
        #expect(Self.status(state, "example.com") == .reachable(.wired))
        #expect(Self.status(state, "198.51.100.1") == .reachable(.wired))
        #expect(Self.status(state, "::ffff:198.51.100.1") == .reachable(.wired))
        #expect(Self.status(state, "2001:db8::1") == .unreachable)
    }

    @Test("A route leads only to its own addresses")
    func specificRoute() throws {
        let state = try Self.state([Self.route("198.51.100.128", 25, by: [3])])
        #expect(Self.status(state, "198.51.100.129") == .reachable(.wireless))
        #expect(Self.status(state, "198.51.100.127") == .unreachable)
        #expect(Self.status(state, "example.com") == .unreachable)
        let known = NetworkTarget(host: "nas.local", addresses: ["nonsense", "198.51.100.200"])
        #expect(state.status(to: known) == .reachable(.wireless))
    }

    @Test("The longest prefix decides, then the lowest metric")
    func routeOrder() throws {
        let state = try Self.state([
            Self.route("0.0.0.0", 0, by: [2], metric: 100), Self.route("0.0.0.0", 0, by: [3], metric: 600),
            Self.route("198.51.0.0", 16, by: [3], metric: 900),
        ])
        #expect(Self.status(state, "example.com") == .reachable(.wired))
        #expect(Self.status(state, "198.51.100.1") == .reachable(.wireless))
    }

    @Test("A link that is down leads nowhere, and the next best route is used")
    func linkDown() throws {
        var state = try Self.state([
            Self.route("0.0.0.0", 0, by: [2], metric: 100), Self.route("0.0.0.0", 0, by: [3], metric: 600),
        ])
        state.addresses.insert(.init(link: 3, address: try Self.address("198.51.100.7")))
        state.links[2]?.isUp = false
        #expect(Self.status(state, "example.com") == .reachable(.wireless))
        state.links[3]?.isUp = false
        #expect(Self.status(state, "example.com") == .unreachable)
        let several = try Self.state([Self.route("0.0.0.0", 0, by: [4, 3])])
        #expect(Self.status(several, "example.com") == .reachable(.wireless))
    }

    @Test("Without an address of the family, no route leads anywhere")
    func noAddress() throws {
        let routes = [try Self.route("::", 0, by: [2]), try Self.route("0.0.0.0", 0, by: [2])]
        #expect(Self.status(try Self.state(routes, addresses: []), "example.com") == .unreachable)
        #expect(
            Self.status(try Self.state(routes, addresses: [(1, "127.0.0.1"), (4, "10.0.0.1")]), "example.com")
                == .unreachable
        )
        let onlyLinkLocal = try Self.state(routes + [Self.route("fe80::", 64, by: [2])], addresses: [(2, "fe80::5")])
        #expect(Self.status(onlyLinkLocal, "2001:db8::1") == .unreachable)
        #expect(Self.status(onlyLinkLocal, "fe80::1%eth0") == .reachable(.wired))
        #expect(
            Self.status(try Self.state(routes, addresses: [(2, "2001:db8::5")]), "2001:db8::1") == .reachable(.wired)
        )
    }

    @Test("A refusing route counts in a table that routes everything, and not elsewhere")
    func refusals() throws {
        let state = try Self.state([
            Self.route("0.0.0.0", 0, by: [2]), Self.route("203.0.113.0", 24, by: [], kind: .refusal),
            Self.route("198.51.100.0", 24, by: [], kind: .refusal, table: 77),
        ])
        #expect(Self.status(state, "203.0.113.9") == .unreachable)
        #expect(Self.status(state, "198.51.100.9") == .reachable(.wired))
    }

    @Test("Addresses of this machine are reachable even if links are down")
    func ownAddresses() throws {
        var state = try Self.state([Self.route("192.0.2.5", 32, by: [2], kind: .local, table: 255)])
        state.links[2]?.isUp = false
        #expect(Self.status(state, "192.0.2.5") == .reachable(.loopback))
    }

    @Test(
        "Prefixes are compared bit by bit",
        arguments: [
            ("10.0.0.1", "10.0.0.0", 8, true), ("11.0.0.1", "10.0.0.0", 8, false), ("10.127.0.1", "10.0.0.0", 9, true),
            ("10.128.0.1", "10.0.0.0", 9, false), ("2001:db8::1", "2001:db8::", 32, true),
            ("2001:db9::1", "2001:db8::", 31, true),
            ("1.2.3.4", "1.2.3.4", 32, true), ("1.2.3.5", "1.2.3.4", 32, false),
        ]
    )
    func prefixes(text: String, prefix: String, bits: Int, matches: Bool) throws {
        #expect(try Self.address(text).matches(Self.address(prefix).bytes, bits: bits) == matches)
    }

    @Test(
        "A text that is not an address is a name",
        arguments: ["", "host", "1.2.3", "1.2.3.4.5", "300.1.1.1", ":::", "[::1", "1.2.3.4%eth0", "12345::"]
    )
    func hostNames(text: String) {
        #expect(NetworkAddress(text) == nil)
        #expect(NetworkTarget(host: text) == .anywhere)
    }
}
