/// The groups of a context's own published edits that it can undo and redo.
///
/// Undo makes ordinary edits. The inverse of each edit is made in the same way as an edit by the application, and redo
/// takes back these inverse edits. Both therefore work on edits that were saved or committed since, and on top of
/// changes by other contexts.
struct UndoHistory {
    struct Group {
        var name: String?
        /// In the order in which they were made; each step by entity.
        var steps: [[Int: any AnyRowChanges]] = []

        func hasDeleted(_ id: Int64, of entity: Int) -> Bool {
            steps.contains { step in
                guard let part = step[entity], let index = part.index(of: id) else { return false }
                return part.kind(at: index) == .delete
            }
        }
    }

    private enum Mode { case editing, undoing, redoing }

    /// The maximum number of groups; 0 if undo is off.
    var levels = 0 {
        didSet { trim() }
    }

    private(set) var undoable: [Group] = []
    private(set) var redoable: [Group] = []
    /// The current group, until its block or turn ends.
    private var open: Group?
    private var mode = Mode.editing

    var isOn: Bool { levels > 0 }
    var undoName: String? { open == nil ? undoable.last?.name : open?.name }
    var canUndo: Bool { open != nil || !undoable.isEmpty }

    mutating func record(_ parts: [Int: any AnyRowChanges]) {
        open = open ?? Group()
        open?.steps.append(parts)
        if mode == .editing { redoable.removeAll() }
    }

    mutating func name(_ name: String?) {
        if let name { open?.name = name }
    }

    /// Ends the current group. Later edits belong to another group.
    mutating func closeGroup() {
        guard let group = open else { return }
        open = nil
        if mode == .undoing { redoable.append(group) } else { undoable.append(group) }
        trim()
    }

    mutating func beginUndo() -> Group? {
        closeGroup()
        guard let group = undoable.popLast() else { return nil }
        mode = .undoing
        return group
    }

    mutating func beginRedo() -> Group? {
        closeGroup()
        guard let group = redoable.popLast() else { return nil }
        mode = .redoing
        return group
    }

    /// Ends an undo or redo, after the inverse edits of the group were made and published.
    mutating func end(_ group: Group) {
        name(group.name)
        closeGroup()
        mode = .editing
    }

    mutating func removeAll() {
        (undoable, redoable, open) = ([], [], nil)
    }

    private mutating func trim() {
        if levels == 0 { removeAll() }
        if undoable.count > levels { undoable.removeFirst(undoable.count - levels) }
        if redoable.count > levels { redoable.removeFirst(redoable.count - levels) }
    }
}
