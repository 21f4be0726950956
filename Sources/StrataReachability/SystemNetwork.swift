/// The network state of the operating system.
enum SystemNetwork {
    /// Keeps a reachability up to date with the operating system, as long as the reachability exists.
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
