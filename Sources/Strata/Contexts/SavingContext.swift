/// An object context that can be saved: the context of blocks like ``ContextStack/on(_:_:)-3668o``, and the main
/// context.
///
/// The blocks of ``ContextStack/write(ifChanged:_:)`` and of live sequences, the handlers' `.done` blocks and the hooks
/// of models get an ``ObjectContext`` instead, because their changes are committed after them, or never. A function
/// whose parameter is an ``ObjectContext`` thus neither saves nor commits, and can be called in all blocks.
///
/// Isolation: as ``ObjectContext``.
public final class SavingContext: ObjectContext {
    /// Moves this context's changes to its parent. If the save throws, no change is moved.
    ///
    /// For a context directly over the store, this is a ``commit()``. The save includes changes that children have
    /// saved here. Attributes marked as timestamps are set. In a ``ObjectContext/savepoint(_:)``, the changes are only
    /// checked. They move when the outermost savepoint returns.
    ///
    /// - Throws: ``StrataError`` with `validation`, `conflict`, `notUnique`, `deleteDenied` or `missingReference`,
    ///   which lists every object and column concerned; and errors thrown by hooks. The context is then as it was
    ///   before, except that values set back to their original value no longer count as changes.
    /// - Complexity: O(changed rows), and a look-up in the store for each value that must be unique and for each
    ///   destination of a changed relationship.
    public func save() throws {
        guard hasParent else { return try commit() }
        try saveOrPostpone()
    }

    /// Writes this context's changes through all parents to the store, in one transaction. If the commit throws, no
    /// change is written.
    ///
    /// The commit includes changes that this context saved to its parents earlier, and objects that parents have
    /// inserted and these changes refer to. Other edits of the parents stay where they are. When the method returns,
    /// the changes are on disk.
    ///
    /// Isolation: blocks this context's executor while the disk is busy. For the main context, commit from outside:
    /// `try await stack.commit(.main)` leaves the main actor free meanwhile.
    ///
    /// - Throws: as ``save()``, and errors that the store reports: `diskFull`, `busy`, …
    public func commit() throws { try commit(with: [:]) }

    /// Commits this context's changes together with the prepared changes of other contexts in a chain.
    ///
    /// - Parameter others: the prepared layers, by context.
    func commit(with others: [Int: PreparedLayer]) throws {
        try checkCommits()
        try carryOut(try beginCommit(with: others))
    }
}
