/// The uncommitted edits that a context shows on top of the store.
public enum ContextReads: Sendable {
    /// The published edits of its parents, and its own edits. The default.
    case parents
    /// Its own edits only, on top of committed data: no uncommitted edits of its parents. The context still saves to
    /// its parent.
    case committed
}
