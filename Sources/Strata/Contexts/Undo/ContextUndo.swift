/// The earlier states of a context that its undo and its savepoints can restore.
struct ContextUndo {
    /// The edits that can be undone.
    var history = UndoHistory()
    private(set) var isInGroup = false
    /// The savepoints that enclose the running code, each with the state before it.
    var savepoints: [Savepoint] = []

    /// The segments of the context's layer that a rollback in the innermost savepoint keeps.
    var heldSegments: Set<Int> { savepoints.last?.segments ?? [] }

    /// Records deletes that an undo has removed. Only deletes from before the innermost savepoint matter: a failure
    /// drops the others anyway.
    mutating func record(_ deletes: [CancelledDeletes]) {
        guard let innermost = savepoints.indices.last else { return }
        let held = heldSegments
        savepoints[innermost].cancelledDeletes += deletes.filter { held.contains($0.segment.id) }
    }

    /// Records that the outermost savepoint must save the context when it returns.
    mutating func postponeSave(_ policy: MergePolicy) {
        guard let innermost = savepoints.indices.last else { return }
        savepoints[innermost].postponedSave = policy
    }

    /// Resets the innermost savepoint to its beginning, after a rollback. Returns the deletes that an undo has removed,
    /// and that the rollback puts back.
    mutating func restartSavepoint() -> [CancelledDeletes] {
        guard let innermost = savepoints.indices.last else { return [] }
        let deletes = savepoints[innermost].cancelledDeletes
        savepoints[innermost].cancelledDeletes = []
        savepoints[innermost].postponedSave = nil
        return deletes
    }

    /// Ends the innermost savepoint, whose changes stay. Its postponed save and its removed deletes pass to the
    /// enclosing savepoint. Returns the ended savepoint, which may own objects.
    mutating func mergeSavepoint() -> Savepoint? {
        guard let ended = savepoints.popLast() else { return nil }
        guard let enclosing = savepoints.indices.last else { return ended }
        record(ended.cancelledDeletes)
        savepoints[enclosing].postponedSave = ended.postponedSave ?? savepoints[enclosing].postponedSave
        return ended
    }

    /// Begins an explicit group of edits.
    mutating func beginGroup() {
        history.closeGroup()
        isInGroup = true
    }

    /// Ends the explicit group, after its edits were published.
    mutating func endGroup(named name: String?) {
        history.name(name)
        history.closeGroup()
        isInGroup = false
    }
}
