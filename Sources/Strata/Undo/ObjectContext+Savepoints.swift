extension ObjectContext {
    /// Runs a block whose changes count only if it returns: where it throws, objects and layers are as they were before it.
    ///
    /// ```swift
    /// for line in lines {
    ///     do {
    ///         try context.savepoint { try importLine(line, context) }
    ///     } catch {
    ///         rejected.append(line)
    ///     }
    /// }
    /// ```
    ///
    /// Taken back is what this context has changed in the block, also what it has saved to its parent; what others have done meanwhile
    /// stays. Only rows that were changed in the block are touched. Savepoints may stand within each other to any depth. The block is
    /// synchronous, since nothing can be taken back that others have built on between its steps. A `rollback()` in it drops what was
    /// changed in it. Values in ``state`` and variables of your own are not restored.
    ///
    /// - Returns: what the block returns.
    /// - Throws: what the block throws. A commit or batch in the block is a `misuse`, since what is on disk cannot be taken back.
    /// - Complexity: O(rows that are taken back); a block that returns costs O(log changes) beyond itself.
    public func savepoint<Result>(_ body: () throws -> Result) throws -> Result {
        guard !isEnded else { throw Self.endedError }
        noteTurn()
        publish()
        let savepoint = store.layers.beginSavepoint(in: id, of: hasParent)
        let (inserts, effects, undo) = (failedInserts, deleteEffects, undoHistory)
        savepointDepth += 1
        defer { savepointDepth -= 1 }
        do {
            let result = try body()
            publish()
            store.layers.endSavepoint(savepoint)
            return result
        } catch {
            for tracker in trackers { tracker?.discard() }
            (failedInserts, deleteEffects, undoHistory) = (inserts, effects, undo)
            do {
                try editLayer { store.layers.restore(savepoint, store.schema, $0) }
            } catch {
                reference.report(error)
            }
            store.layers.endSavepoint(savepoint)
            throw error
        }
    }

    /// - Throws: `misuse` inside of a savepoint.
    func checkNoSavepoint() throws {
        guard savepointDepth > 0 else { return }
        throw StrataError(
            .misuse,
            "Inside of a savepoint nothing can be committed, since what is on disk cannot be taken back. Commit after it."
        )
    }
}
