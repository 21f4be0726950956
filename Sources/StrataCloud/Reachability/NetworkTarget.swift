import Strata

/// What is to be reached.
enum NetworkTarget: Hashable, Sendable {
    /// This machine.
    case here
    /// One of these addresses.
    case addresses([NetworkAddress])
    /// A name whose addresses are not known: somewhere behind a default route.
    case anywhere

    /// - Parameters:
    ///   - host: a name or an address.
    ///   - addresses: what is known to be the host's; those that are none are passed over.
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
