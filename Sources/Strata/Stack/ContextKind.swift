/// The kind of a context, which determines its executor and its place above the store.
public enum ContextKind: Hashable, Sendable {
    /// The private context on the store, which the other contexts are based on. A stack has at most one, named `.root`.
    case root

    /// The context of the main actor. A stack has at most one, named `.main`.
    case main

    /// A context with a separate queue.
    case `private`

    /// The fixed name of contexts of this kind; nil for private contexts.
    var ownName: ContextName? {
        switch self {
        case .root: .root
        case .main: .main
        case .private: nil
        }
    }
}
