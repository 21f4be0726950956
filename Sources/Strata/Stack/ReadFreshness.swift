/// How new the committed state is that a block sees. An option of ``ContextStack/background(parent:reads:_:)-87j27``.
public enum ReadFreshness: Sendable {
    /// The newest state of the file on this machine, with the commits of all of its processes. The default.
    ///
    /// In a store with a home, commits of other machines usually arrive in the file some milliseconds after they were
    /// made.
    case local
    /// A state that is at least as new as that of the home was at the moment of the call. A store without a home has
    /// all of its commits in the file, so this is the same as ``local``.
    case newest
}
