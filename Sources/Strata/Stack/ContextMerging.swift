/// When the objects and queries of a context start to show saves and commits by other contexts.
public enum ContextMerging: Sendable {
    /// Immediately, even while no block runs in the context. The main context merges in this way.
    case now
    /// When the next block on the context begins. The default of private contexts.
    case atNextBlock
    /// Never by itself. All blocks show the state of the first read, with the context's own edits on top.
    /// ``ObjectContext/merge()`` moves the context to the newest state, and so does a save or commit. If a child or a
    /// save of the whole stack commits changes of this context, the context moves when its next block begins, or when
    /// a block undoes or rolls back.
    ///
    /// A pinned context holds a read transaction, so the write-ahead log of the store grows until the context ends. If
    /// no other context is pinned, the log also stops growing when the context merges.
    case pinned
}
