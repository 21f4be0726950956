/// Whether a remote can be reached, and by which kind of link.
public struct ReachabilityStatus: Sendable, Hashable {
    /// Whether there is a route to the remote. A request may still fail.
    public var isReachable: Bool
    /// The kind of link; nil if the remote cannot be reached.
    public var link: LinkKind?
    /// Whether transfers cost money; nil if this is unknown. The Linux kernel does not know it.
    public var isMetered: Bool?

    /// Creates a status.
    public init(isReachable: Bool, link: LinkKind? = nil, isMetered: Bool? = nil) {
        self.isReachable = isReachable
        self.link = link
        self.isMetered = isMetered
    }

    /// The remote cannot be reached.
    public static let unreachable = ReachabilityStatus(isReachable: false)

    /// The remote can be reached by this kind of link.
    public static func reachable(_ link: LinkKind) -> ReachabilityStatus {
        ReachabilityStatus(isReachable: true, link: link)
    }
}
