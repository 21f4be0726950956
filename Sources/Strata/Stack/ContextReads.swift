/// What a context shows above the store.
public enum ContextReads: Sendable {
    /// The edits of its parents too, as far as they are published. The default.
    case parents
    /// What is committed, and its own edits: nothing unfinished of its parents. It saves to its parent all the same.
    case committed
}
