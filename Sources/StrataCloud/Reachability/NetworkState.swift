/// What the kernel has said of links, addresses and routes.
struct NetworkState: Hashable, Sendable {
    struct Link: Hashable, Sendable {
        var kind: LinkKind
        /// Whether it is up and running.
        var isUp: Bool
    }

    struct Address: Hashable, Sendable {
        var link: Int32
        var address: NetworkAddress
    }

    struct Route: Hashable, Sendable {
        enum Kind: Hashable, Sendable {
            /// Leads somewhere.
            case unicast
            /// To this machine itself.
            case local
            /// Says that there is no way.
            case refusal
        }

        var family: NetworkAddress.Family
        var kind: Kind
        /// The beginning of the addresses that it is for.
        var prefix: [UInt8]
        /// How many bits of that count.
        var bits: Int
        /// Lower ones are preferred.
        var metric: UInt32
        var table: UInt32
        /// By which links it leads.
        var links: [Int32]
    }

    var links: [Int32: Link] = [:]
    var addresses: Set<Address> = []
    var routes: Set<Route> = []

    /// Whether something can be reached, and by what.
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

    /// The link of the best route, as the kernel chooses: the longest prefix, and then the lowest metric.
    ///
    /// Tables by which only some packets are routed are looked at too: a way that is perhaps not taken is better than one that is never tried. Refusals
    /// count in the tables that everything is routed by.
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

    /// Whether this machine has an address to be answered at. One that is valid on one link only is enough for talking on that link.
    private func hasAddress(_ family: NetworkAddress.Family, onlyLinkLocal: Bool) -> Bool {
        addresses.contains { address in
            guard address.address.family == family, !address.address.isLoopback else { return false }
            guard let link = links[address.link], link.isUp, link.kind != .loopback else { return false }
            return family == .v4 || onlyLinkLocal || !address.address.isLinkLocal
        }
    }

    /// default, main and local, see ip-route(8).
    private static let mainTables: Set<UInt32> = [253, 254, 255]
}
