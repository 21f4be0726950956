/// Which context of a stack is meant, for instance as the parent of a background block.
public enum ContextChoice: Sendable {
    /// The current one; the store where there is none.
    case current

    /// The one with this name.
    case named(ContextName)

    /// This one.
    case context(ContextHandle)
}
