/// Whether a remote can be reached, and by what.
public struct ReachabilityStatus: Sendable, Hashable {
    /// Whether there is a way to it. That a request succeeds is not said thereby.
    public var isReachable: Bool
    /// By which kind of link; nil where it cannot be reached.
    public var link: LinkKind?
    /// Whether what is transferred costs money; nil where it is not known. The kernel of Linux does not know it.
    public var isMetered: Bool?

    /// A status.
    public init(isReachable: Bool, link: LinkKind? = nil, isMetered: Bool? = nil) {
        self.isReachable = isReachable
        self.link = link
        self.isMetered = isMetered
    }

    /// There is no way.
    public static let unreachable = ReachabilityStatus(isReachable: false)

    /// There is a way, by some kind of link.
    public static func reachable(_ link: LinkKind) -> ReachabilityStatus {
        ReachabilityStatus(isReachable: true, link: link)
    }
}
