/// The network as the system knows it.
enum SystemNetwork {
    /// Keeps a reachability as the system says, as long as there is one.
    static func watch(_ target: NetworkTarget, for reachability: Reachability) {
        guard target != .here else {
            reachability.update { .reachable(.loopback) }
            return
        }
        #if os(Linux)
            KernelNetwork.shared?.watch(target, for: reachability)
        #elseif canImport(Network)
            PathNetwork.shared.watch(reachability)
        #endif
    }
}
