/// Where a context works and what it stands on.
public enum ContextKind: Hashable, Sendable {
    /// The private context on the store, over which the others stand. There is one at most, named `.root`.
    case root

    /// The context of the main actor. There is one at most, named `.main`.
    case main

    /// A context with a queue of its own.
    case `private`

    /// The name that a context of this kind bears by itself.
    var ownName: ContextName? {
        switch self {
        case .root: .root
        case .main: .main
        case .private: nil
        }
    }
}
