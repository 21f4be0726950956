import Strata

/// The target whose reachability is observed.
enum NetworkTarget: Hashable, Sendable {
    /// This machine.
    case here
    /// One of these addresses.
    case addresses([NetworkAddress])
    /// A host name with unknown addresses. It counts as reachable by a default route.
    case anywhere

    /// Creates the target for a host.
    ///
    /// - Parameters:
    ///   - host: a name or an address.
    ///   - addresses: the known addresses of the host. Invalid addresses are ignored.
    init(host: String, addresses: [String] = []) {
        let name = host.lowercased()
        let isLocal =
            name == "localhost" || name == "localhost." || name.hasByteSuffix(".localhost")
            || name.hasByteSuffix(".localhost.")
        let known = addresses.compactMap(NetworkAddress.init) + [NetworkAddress(host)].compactMap(\.self)
        if isLocal || known.contains(where: \.isLoopback) {
            self = .here
        } else {
            self = known.isEmpty ? .anywhere : .addresses(known)
        }
    }
}
