/// What a context was when a savepoint began.
struct Savepoint {
    let layers: LayerSavepoint
    let failedInserts: [(object: any Model, error: StrataError)]
    let deleteEffects: [Int64: DeleteEffects]
    let undoHistory: UndoHistory
    let hookStates: [Int: HookState]
    /// By entity.
    let usesAfterDelete: [Int: [Int64: UseAfterDelete]]
    /// The last body that was registered to run after a commit.
    let lastCallback: Int
}

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
    /// stays, and what the parent itself has saved on or committed by then. Only rows that were changed in the block are touched. Savepoints may
    /// stand within each other to any depth. The block is synchronous, since nothing can be taken back that others have built on between its
    /// steps. A `rollback()` in it drops what was changed in it. Values in ``state`` and variables of your own are not restored.
    ///
    /// - Returns: what the block returns.
    /// - Throws: what the block throws. A commit or batch in the block is a `misuse`, since what is on disk cannot be taken back. Where the
    ///   store cannot be read to take something back, that goes to ``ContextStack/failures``.
    /// - Complexity: O(rows that are taken back); a block that returns costs O(log changes) beyond itself.
    public func savepoint<Result>(_ body: () throws -> Result) throws -> Result {
        guard !isEnded else { throw Self.endedError }
        noteTurn()
        publish()
        var uses: [Int: [Int64: UseAfterDelete]] = [:]
        for (entity, tracker) in trackers.enumerated() {
            if let tracker, !tracker.usesAfterDelete.isEmpty { uses[entity] = tracker.usesAfterDelete }
        }
        let savepoint = Savepoint(
            layers: store.layers.beginSavepoint(in: id, of: hasParent),
            failedInserts: failedInserts,
            deleteEffects: deleteEffects,
            undoHistory: undoHistory,
            hookStates: hookStates,
            usesAfterDelete: uses,
            lastCallback: store.callbacks.lastID
        )
        savepoints.append(savepoint)
        defer {
            savepoints.removeLast()
            store.layers.endSavepoint(savepoint.layers)
        }
        do {
            let result = try body()
            publish()
            return result
        } catch {
            takeBack(savepoint)
            throw error
        }
    }

    private func takeBack(_ savepoint: Savepoint) {
        for tracker in trackers { tracker?.discard() }
        failedInserts = savepoint.failedInserts
        deleteEffects = savepoint.deleteEffects
        undoHistory = savepoint.undoHistory
        hookStates = savepoint.hookStates
        dropCallbacks(after: savepoint.lastCallback, includesMoved: true)
        restoreFailures(savepoint)
        do {
            try editLayers { try store.layers.restore(savepoint.layers, store.schema, $0) }
        } catch {
            reference.report(error)
        }
    }

    /// Lets the next save tell what had been done to deleted objects before a savepoint.
    func restoreFailures(_ savepoint: Savepoint) {
        for (entity, uses) in savepoint.usesAfterDelete { trackers[entity]?.usesAfterDelete = uses }
    }

    /// - Throws: `misuse` inside of a savepoint.
    func checkNoSavepoint() throws {
        guard !savepoints.isEmpty else { return }
        throw StrataError(
            .misuse,
            "Inside of a savepoint nothing can be committed, since what is on disk cannot be taken back. Commit after it."
        )
    }
}
