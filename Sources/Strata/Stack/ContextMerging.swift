/// When a context's objects and queries come to show what others have saved and committed.
public enum ContextMerging: Sendable {
    /// As soon as it has happened, also while nothing runs in the context. Main merges in this way.
    case now
    /// When the next block on the context begins. The default of private contexts.
    case atNextBlock
    /// Not at all: all blocks show the state of the first read, with the context's own edits on top. ``ObjectContext/merge()`` moves
    /// on to the newest state, and so does a save or commit.
    ///
    /// A pinned context holds a read transaction, so that the journal beside the file grows until it ends or, where it is the only one, merges.
    case pinned
}
