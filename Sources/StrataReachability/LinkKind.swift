/// The kind of link by which a remote is reached.
public enum LinkKind: String, Sendable, Hashable, CaseIterable {
    /// The loopback link of this machine.
    case loopback
    /// A cable, or a link that behaves like one, as in most virtual machines.
    case wired
    /// Wi-Fi.
    case wireless
    /// A mobile network.
    case cellular
    /// Another kind, such as a tunnel, or an unknown kind.
    case other
}
