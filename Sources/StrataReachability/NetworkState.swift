/// The links, addresses and routes that the kernel has reported.
struct NetworkState: Hashable, Sendable {
    struct Link: Hashable, Sendable {
        var kind: LinkKind
        /// Whether the link is up and running.
        var isUp: Bool
    }

    struct Address: Hashable, Sendable {
        var link: Int32
        var address: NetworkAddress
    }

    struct Route: Hashable, Sendable {
        enum Kind: Hashable, Sendable {
            /// The route leads to other machines.
            case unicast
            /// The route leads to this machine.
            case local
            /// The route rejects packets: its destination is unreachable.
            case refusal
        }

        var family: NetworkAddress.Family
        var kind: Kind
        /// The prefix of the destination addresses.
        var prefix: [UInt8]
        /// The length of the prefix in bits.
        var bits: Int
        /// The metric. Routes with a lower metric are preferred.
        var metric: UInt32
        var table: UInt32
        /// The links of the route.
        var links: [Int32]
    }

    var links: [Int32: Link] = [:]
    var addresses: Set<Address> = []
    var routes: Set<Route> = []

    /// Whether a target can be reached, and by which kind of link.
    ///
    /// **Complexity**: linear in the number of routes.
    func status(to target: NetworkTarget) -> ReachabilityStatus {
        switch target {
        case .here:
            return .reachable(.loopback)
        case .addresses(let addresses):
            return addresses.lazy.compactMap { self.link(to: $0) }.first.map { .reachable($0) } ?? .unreachable
        case .anywhere:
            let defaults = NetworkAddress.Family.allCases.lazy.compactMap { family in
                self.link(by: self.routes.filter { $0.family == family && $0.bits == 0 }, toLinkLocal: false)
            }
            return defaults.first.map { .reachable($0) } ?? .unreachable
        }
    }

    private func link(to address: NetworkAddress) -> LinkKind? {
        let routes = routes.filter { $0.family == address.family && address.matches($0.prefix, bits: $0.bits) }
        return link(by: routes, toLinkLocal: address.isLinkLocal)
    }

    /// The kind of link of the best route, chosen as the kernel does: the longest prefix, and then the lowest metric.
    ///
    /// Routing tables that apply only to some packets count too, because trying a route that may not be used is better
    /// than never trying. Routes that reject packets count only in the tables that apply to all packets.
    private func link(by routes: Set<Route>, toLinkLocal: Bool) -> LinkKind? {
        let usable = routes.filter { route in
            switch route.kind {
            case .local: return true
            case .refusal: return Self.mainTables.contains(route.table)
            case .unicast:
                return route.links.contains { links[$0]?.isUp == true }
                    && hasAddress(route.family, onlyLinkLocal: toLinkLocal)
            }
        }
        guard let best = usable.max(by: { ($0.bits, $1.metric) < ($1.bits, $0.metric) }) else { return nil }
        switch best.kind {
        case .local: return .loopback
        case .refusal: return nil
        case .unicast: return best.links.compactMap { links[$0] }.first(where: \.isUp)?.kind
        }
    }

    /// Whether this machine has an address that can receive answers.
    ///
    /// A link-local address is sufficient only for targets on that link.
    private func hasAddress(_ family: NetworkAddress.Family, onlyLinkLocal: Bool) -> Bool {
        addresses.contains { address in
            guard address.address.family == family, !address.address.isLoopback else { return false }
            guard let link = links[address.link], link.isUp, link.kind != .loopback else { return false }
            return family == .v4 || onlyLinkLocal || !address.address.isLinkLocal
        }
    }

    /// The tables default, main and local, see ip-route(8).
    private static let mainTables: Set<UInt32> = [253, 254, 255]
}
