/// Selects a context of a stack, for example the parent of a background block.
public enum ContextChoice: Sendable {
    /// The current context, or the store if there is no current context.
    case current

    /// The context with this name.
    case named(ContextName)

    /// The context of this handle.
    case context(ContextHandle)
}
