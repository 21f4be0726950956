/// The earlier states of a context that its undo and its savepoints can restore.
struct ContextUndo {
    /// The edits that can be undone.
    var history = UndoHistory()
    private(set) var isInGroup = false
    /// The savepoints that enclose the running code, each with the state before it.
    var savepoints: [Savepoint] = []

    /// The deletes that the running rollback puts back.
    var returningDeletes: [CancelledDeletes] = []

    /// The segments that the last save in the open savepoints has checked. Segments that are merged or dropped later
    /// lose their ids, so they need no care here. If single changes of checked segments are removed, or if later changes
    /// are dropped with which they were checked, the checks are forgotten.
    private(set) var checkedSegments: Set<Int> = []

    /// The segments of the context's layer that a rollback in the innermost savepoint keeps.
    var heldSegments: Set<Int> { savepoints.last?.segments ?? [] }

    /// Records deletes that an undo has removed. A failure drops the context's own deletes in the innermost savepoint
    /// anyway, so these do not matter. Deletes that children have saved there must return.
    mutating func record(_ deletes: [CancelledDeletes]) {
        guard let innermost = savepoints.indices.last else { return }
        for deletes in deletes {
            for index in savepoints.indices where savepoints[index].segments.contains(deletes.segment.id) {
                savepoints[index].segments.insert(deletes.spare)
            }
            guard !deletes.isOwn || heldSegments.contains(deletes.segment.id) else { continue }
            savepoints[innermost].cancelledDeletes.append(deletes)
        }
    }

    /// Applies the deletes of merged members to the rows that represent the members now. The context is about to show
    /// these rows, and no longer the former ones.
    ///
    /// - Parameter merged: the members that commits have merged, by entity and former row.
    mutating func moveMembers(_ merged: [Int: [Int64: MergedMember]]) {
        for index in savepoints.indices {
            savepoints[index].cancelledDeletes = savepoints[index].cancelledDeletes.map { $0.moved(onto: merged) }
        }
        returningDeletes = returningDeletes.map { $0.moved(onto: merged) }
    }

    /// Records that the outermost savepoint must save the context when it returns.
    ///
    /// - Parameter checked: the segments of the layer, which the save has checked.
    mutating func postponeSave(_ policy: MergePolicy, checked: Set<Int>) {
        guard let innermost = savepoints.indices.last else { return }
        savepoints[innermost].postponedSave = policy
        checkedSegments = checked
    }

    /// The part of the context's layer that a save checks: all of it or, in a savepoint, the segments above the ones
    /// that an earlier save has checked.
    func unchecked(_ level: [ChangeSegment]) -> ArraySlice<ChangeSegment> {
        if checkedSegments.isEmpty { return level[...] }
        return level[(level.firstIndex { !checkedSegments.contains($0.id) } ?? level.endIndex)...]
    }

    /// Lets the next save check all changes.
    mutating func forgetChecks() { checkedSegments = [] }

    /// Lets the next save check all changes if the last save had another merge policy. The policy of the last save
    /// counts for all changes.
    mutating func forgetChecks(unlessWith policy: MergePolicy) {
        let last = savepoints.last { $0.postponedSave != nil }
        if last?.postponedSave != policy { forgetChecks() }
    }

    /// Lets the next save check all changes if one of these segments was checked.
    mutating func forgetChecks(ofAny segments: some Sequence<Int>) {
        if segments.contains(where: checkedSegments.contains) { forgetChecks() }
    }

    /// Resets the innermost savepoint to its beginning, for a rollback, which puts back ``returningDeletes``.
    ///
    /// - Parameter dropsSaved: whether the rollback also drops changes that children have saved in the savepoint.
    mutating func restartSavepoint(dropsSaved: Bool) {
        guard let innermost = savepoints.indices.last else { return }
        let held = heldSegments
        returningDeletes = savepoints[innermost].cancelledDeletes.filter { !dropsSaved || held.contains($0.segment.id) }
        savepoints[innermost].cancelledDeletes = []
        savepoints[innermost].postponedSave = nil
        // Later saves have checked the changes from before the savepoint together with changes that are dropped now.
        checkedSegments = savepoints[innermost].checkedSegments
    }

    /// Ends the innermost savepoint, whose changes stay. Its postponed save and its removed deletes pass to the
    /// enclosing savepoint. Returns the ended savepoint, which may own objects.
    mutating func mergeSavepoint() -> Savepoint? {
        guard let ended = savepoints.popLast() else { return nil }
        guard let enclosing = savepoints.indices.last else {
            forgetChecks()
            return ended
        }
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
