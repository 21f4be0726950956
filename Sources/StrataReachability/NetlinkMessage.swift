#if os(Linux)
    import CStrataNetlink
    import Foundation

    /// A message of the kernel about the network, see rtnetlink(7).
    enum NetlinkMessage: Hashable, Sendable {
        /// A link exists, or has changed.
        case link(index: Int32, name: String, hardware: UInt16, isUp: Bool)
        /// An address exists.
        case address(NetworkState.Address)
        case route(NetworkState.Route)
        case routeGone(NetworkState.Route)
        /// Another change of links or addresses, including their removal.
        case otherChange
        /// The end of a list.
        case done
        /// The kernel has refused a request, with an error number of errno(3).
        case error(Int32)
        /// The list has changed while it was read.
        case interrupted
        /// A message that is not relevant here.
        case ignored

        /// The messages in received bytes. Incomplete and invalid messages are skipped.
        static func all(in bytes: ArraySlice<UInt8>) -> [NetlinkMessage] {
            var rest = NetlinkBytes(bytes)
            var messages: [NetlinkMessage] = []
            while let message = rest.nextMessage() {
                if message.flags & UInt16(NLM_F_DUMP_INTR) != 0 { messages.append(.interrupted) }
                messages.append(NetlinkMessage(type: message.type, body: message.body) ?? .ignored)
            }
            return messages
        }

        private init?(type: UInt16, body: NetlinkBytes) {
            switch Int(type) {
            case RTM_NEWLINK: self.init(link: body)
            case RTM_NEWADDR: self.init(address: body)
            case RTM_NEWROUTE:
                guard let route = Self.route(body) else { return nil }
                self = .route(route)
            case RTM_DELROUTE:
                guard let route = Self.route(body) else { return nil }
                self = .routeGone(route)
            case RTM_DELLINK, RTM_DELADDR: self = .otherChange
            case Int(NLMSG_DONE): self = .done
            case Int(NLMSG_ERROR): self = .error(-(body.int32(at: 0) ?? -EIO))
            default: return nil
            }
        }

        /// Parses `struct ifinfomsg` and its attributes.
        private init?(link body: NetlinkBytes) {
            guard let hardware = body.uint16(at: 2), let index = body.int32(at: 4), let flags = body.uint32(at: 8)
            else { return nil }
            var name = ""
            for attribute in body.attributes(after: MemoryLayout<ifinfomsg>.size) where attribute.type == IFLA_IFNAME {
                name = String(decoding: attribute.value.bytes.prefix { $0 != 0 }, as: UTF8.self)
            }
            let wanted = UInt32(IFF_UP.rawValue | IFF_RUNNING.rawValue)
            self = .link(index: index, name: name, hardware: hardware, isUp: flags & wanted == wanted)
        }

        /// Parses `struct ifaddrmsg` and its attributes.
        private init?(address body: NetlinkBytes) {
            guard let flags = body.uint8(at: 2), let index = body.int32(at: 4) else { return nil }
            var all = UInt32(flags)
            var peer: NetworkAddress?
            var local: NetworkAddress?
            for attribute in body.attributes(after: MemoryLayout<ifaddrmsg>.size) {
                switch Int(attribute.type) {
                case Int(IFA_FLAGS): all = attribute.value.uint32(at: 0) ?? all
                case Int(IFA_ADDRESS): peer = NetworkAddress(bytes: Array(attribute.value.bytes))
                // On point-to-point links, this is the own address, and `IFA_ADDRESS` is the address of the other end.
                case Int(IFA_LOCAL): local = NetworkAddress(bytes: Array(attribute.value.bytes))
                default: break
                }
            }
            // A tentative address may be a duplicate, so it does not count yet.
            guard all & UInt32(IFA_F_TENTATIVE | IFA_F_DADFAILED) == 0 || all & UInt32(IFA_F_OPTIMISTIC) != 0 else {
                self = .otherChange
                return
            }
            guard let address = local ?? peer else { return nil }
            self = .address(NetworkState.Address(link: index, address: address))
        }

        /// Parses `struct rtmsg` and its attributes.
        private static func route(_ body: NetlinkBytes) -> NetworkState.Route? {
            guard let family = body.uint8(at: 0), let bits = body.uint8(at: 1), let table = body.uint8(at: 4),
                let type = body.uint8(at: 7), let flags = body.uint32(at: 8)
            else { return nil }
            // Cloned entries belong to the route cache and are derived from other routes.
            guard flags & UInt32(RTM_F_CLONED) == 0, flags & UInt32(RTNH_F_DEAD | RTNH_F_LINKDOWN) == 0 else {
                return nil
            }
            guard let family = self.family(family), let kind = kind(type) else { return nil }
            var route = NetworkState.Route(
                family: family,
                kind: kind,
                prefix: [],
                bits: Int(bits),
                metric: 0,
                table: UInt32(table),
                links: []
            )
            for attribute in body.attributes(after: MemoryLayout<rtmsg>.size) {
                let value = attribute.value
                switch UInt32(attribute.type) {
                case RTA_DST.rawValue: route.prefix = Array(value.bytes)
                case RTA_OIF.rawValue: route.links += value.int32(at: 0).map { [$0] } ?? []
                case RTA_PRIORITY.rawValue: route.metric = value.uint32(at: 0) ?? 0
                case RTA_TABLE.rawValue: route.table = value.uint32(at: 0) ?? route.table
                case RTA_MULTIPATH.rawValue: route.links += value.nextHops
                default: break
                }
            }
            guard route.prefix.count * 8 >= route.bits else { return nil }
            return route
        }

        private static func family(_ value: UInt8) -> NetworkAddress.Family? {
            switch Int32(value) {
            case AF_INET: .v4
            case AF_INET6: .v6
            default: nil
            }
        }

        private static func kind(_ type: UInt8) -> NetworkState.Route.Kind? {
            switch Int(type) {
            case RTN_UNICAST: .unicast
            case RTN_LOCAL: .local
            case RTN_BLACKHOLE, RTN_UNREACHABLE, RTN_PROHIBIT: .refusal
            default: nil
            }
        }
    }
#endif
