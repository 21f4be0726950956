/// A nested layer of a context: the segments above those that the context's own layer had when the savepoint began.
///
/// The value also holds the other state of the context at that time, which a failure of the savepoint restores.
struct Savepoint {
    /// The ids of the segments below the savepoint.
    var segments: Set<Int>
    let failedInserts: [(object: any Model, error: StrataError)]
    let deleteEffects: [Int64: DeleteEffects]
    let undoHistory: UndoHistory
    let hookStates: [Int: HookState]
    /// By entity.
    let usesAfterDelete: [Int: [Int64: UseAfterDelete]]
    /// The last body that was registered to run after a commit.
    let lastCallback: Int
    /// The segments that saves in the enclosing savepoints have checked.
    let checkedSegments: Set<Int>
    /// Deletes that an undo in the savepoint has removed from the segments below it, or from segments that children
    /// have saved in it.
    var cancelledDeletes: [CancelledDeletes] = []
    /// The merge policy of the last save in the savepoint; nil without a save.
    var postponedSave: MergePolicy?
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
    /// The restore covers all changes that this context made in the block. Changes that other contexts made meanwhile
    /// stay. Only rows that were changed in the block are touched.
    ///
    /// A ``SavingContext/save()`` in the block checks the changes since the last save of the block at once, and throws
    /// the errors of a save. The changes reach the parent when the outermost savepoint returns, together with later
    /// changes of the block and with children's saves. All of them are then checked again, because the block may have
    /// changed more, and other contexts the parent. If this check fails, the outermost savepoint throws the error, and
    /// all of its changes are dropped.
    ///
    /// Savepoints can be nested to any depth. The block is synchronous, because changes cannot be taken back if other
    /// contexts build on them between the block's steps. A `rollback()` in the block drops the changes and the saves of
    /// the block. Values in ``state`` and your own variables are not restored.
    ///
    /// - Returns: the result of the block.
    /// - Throws: errors thrown by the block, and the errors of a save that the block has made. A commit or batch in the
    ///   block throws `invalidState`, because changes on disk cannot be taken back. If the store cannot be read during
    ///   the restore, ``ContextStack/failures`` reports the error.
    /// - Complexity: O(restored rows). A block that returns adds O(log changes) to its own cost, and the cost of a save
    ///   if it has saved. All saves in the block together check O(log changes) times as many rows as the block changes.
    public func savepoint<Result>(_ body: () throws -> Result) throws -> Result {
        guard !isEnded else { throw Self.endedError }
        noteTurn()
        publish()
        var uses: [Int: [Int64: UseAfterDelete]] = [:]
        for (entity, tracker) in live.trackers.enumerated() {
            if let tracker, !tracker.usesAfterDelete.isEmpty { uses[entity] = tracker.usesAfterDelete }
        }
        let savepoint = Savepoint(
            segments: store.layers.beginSavepoint(in: id),
            failedInserts: saving.failedInserts,
            deleteEffects: deleteEffects.effects,
            undoHistory: undoing.history,
            hookStates: hookQueue.states,
            usesAfterDelete: uses,
            lastCallback: store.callbacks.lastID,
            checkedSegments: undoing.checkedSegments
        )
        undoing.savepoints.append(savepoint)
        defer {
            _ = undoing.mergeSavepoint()
            store.layers.endSavepoint(in: id)
        }
        do {
            let result = try body()
            publish()
            if undoing.savepoints.count == 1 { try carryOutPostponedSave() }
            return result
        } catch {
            // Afterwards the savepoint has nothing left to pass on to the enclosing one.
            rollback()
            throw error
        }
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
