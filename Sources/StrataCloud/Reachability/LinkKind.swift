/// By what kind of link something is reached.
public enum LinkKind: String, Sendable, Hashable, CaseIterable {
    /// This machine itself.
    case loopback
    /// A cable, or what behaves like one, as most virtual machines have it.
    case wired
    /// Wi-Fi.
    case wireless
    /// A mobile network.
    case cellular
    /// Something else, such as a tunnel, or it is not known.
    case other
}
