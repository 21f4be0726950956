/// The state of a context when a savepoint began.
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
    /// Runs a block whose changes count only if it returns. If the block throws, objects and layers are restored to
    /// their state before the block.
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
    /// The restore covers all changes that this context made in the block, including changes that it saved to its
    /// parent. Of these, changes that the parent itself has already saved or committed stay. Changes that other
    /// contexts made meanwhile also stay. Only rows that were changed in the block are touched.
    ///
    /// Savepoints can be nested to any depth. The block is synchronous, because changes cannot be taken back if other
    /// contexts build on them between the block's steps. A `rollback()` in the block drops the changes made in the
    /// block. Values in ``state`` and your own variables are not restored.
    ///
    /// - Returns: the result of the block.
    /// - Throws: errors thrown by the block. A commit or batch in the block throws `invalidState`, because changes on
    ///   disk cannot be taken back. If the store cannot be read during the restore, ``ContextStack/failures`` reports
    ///   the error.
    /// - Complexity: O(restored rows). A block that returns adds O(log changes) to its own cost.
    public func savepoint<Result>(_ body: () throws -> Result) throws -> Result {
        guard !isEnded else { throw Self.endedError }
        noteTurn()
        publish()
        var uses: [Int: [Int64: UseAfterDelete]] = [:]
        for (entity, tracker) in live.trackers.enumerated() {
            if let tracker, !tracker.usesAfterDelete.isEmpty { uses[entity] = tracker.usesAfterDelete }
        }
        let savepoint = Savepoint(
            layers: store.layers.beginSavepoint(in: id, of: hasParent),
            failedInserts: saving.failedInserts,
            deleteEffects: deleteEffects.effects,
            undoHistory: undoing.history,
            hookStates: hookQueue.states,
            usesAfterDelete: uses,
            lastCallback: store.callbacks.lastID
        )
        undoing.savepoints.append(savepoint)
        defer {
            undoing.savepoints.removeLast()
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
        for tracker in live.trackers { tracker?.discard() }
        saving.failedInserts = savepoint.failedInserts
        deleteEffects.effects = savepoint.deleteEffects
        undoing.history = savepoint.undoHistory
        hookQueue.states = savepoint.hookStates
        dropCallbacks(after: savepoint.lastCallback, includesMoved: true)
        restoreFailures(savepoint)
        do {
            try editLayers { try store.layers.restore(savepoint.layers, store.schema, $0) }
        } catch {
            reference.report(error)
        }
    }

    /// Restores the recorded uses of deleted objects from before a savepoint, so that the next save reports them.
    func restoreFailures(_ savepoint: Savepoint) {
        for (entity, uses) in savepoint.usesAfterDelete { live.trackers[entity]?.usesAfterDelete = uses }
    }

    /// Refuses a commit inside a savepoint.
    ///
    /// - Throws: `invalidState` inside a savepoint.
    func checkNoSavepoint() throws {
        guard !undoing.savepoints.isEmpty else { return }
        throw StrataError(
            .invalidState,
            "A commit inside a savepoint is not possible, because a savepoint cannot undo it. Commit after the "
                + "savepoint."
        )
    }
}
