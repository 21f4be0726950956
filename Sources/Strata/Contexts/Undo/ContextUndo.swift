/// The earlier states of a context that its undo and its savepoints can restore.
struct ContextUndo {
    /// The edits that can be undone.
    var history = UndoHistory()
    private(set) var isInGroup = false
    /// The savepoints that enclose the running code, each with the state before it.
    var savepoints: [Savepoint] = []

    /// The segments of the context's layer that a rollback in the innermost savepoint keeps.
    var heldSegments: Set<Int> { Set(savepoints.last?.layers.own.map(\.id) ?? []) }

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
