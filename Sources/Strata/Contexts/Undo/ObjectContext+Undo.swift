extension ObjectContext {
    /// The maximum number of groups of edits that can be undone. The default is 0, because undo keeps the edited rows
    /// in memory.
    public var undoLevels: Int {
        get { undoing.history.levels }
        set {
            publish()
            undoing.history.levels = max(0, newValue)
        }
    }

    /// Whether there are edits to undo.
    public var canUndo: Bool {
        publish()
        return undoing.history.canUndo
    }

    /// Whether there are edits to redo: edits were undone, and no other edits were made since.
    public var canRedo: Bool {
        publish()
        return !undoing.history.redoable.isEmpty
    }

    /// The name of the group that ``undo()`` would undo; nil if the group has no name.
    public var undoName: String? {
        publish()
        return undoing.history.undoName
    }

    /// The name of the group that ``redo()`` would redo; nil if the group has no name.
    public var redoName: String? {
        publish()
        return undoing.history.redoable.last?.name
    }

    /// Makes the edits of a block one group, which is undone as a whole.
    ///
    /// Without an explicit group, all edits in one block of the context, or in one turn of the main actor, form a
    /// group. A group inside another group belongs to the outer one.
    ///
    /// - Parameters:
    ///   - name: the name of the group, for a menu.
    ///   - body: makes the edits.
    public func undoGroup<Result>(named name: String? = nil, _ body: () throws -> Result) rethrows -> Result {
        if undoing.isInGroup { return try body() }
        publish()
        undoing.beginGroup()
        defer {
            publish()
            undoing.endGroup(named: name)
        }
        return try body()
    }

    /// Takes back the latest group of this context's own edits that is not undone yet, whether or not it was saved.
    ///
    /// Changes that other contexts made since stay. A value is restored only if it still equals the value that the edit
    /// set. An object is restored only if no other context has restored it. Undoing makes new edits, which are saved
    /// like any others.
    ///
    /// - Returns: whether there were edits to undo.
    /// - Throws: ``StrataError`` if the store cannot be read. The edits that were already taken back then stay taken
    ///   back.
    @discardableResult
    public func undo() throws -> Bool {
        publish()
        return try carryOut(undoing.history.beginUndo())
    }

    /// Makes the edits again that ``undo()`` has taken back last, under the same conditions as ``undo()``.
    ///
    /// - Returns: whether there were edits to redo.
    /// - Throws: as ``undo()``.
    @discardableResult
    public func redo() throws -> Bool {
        publish()
        return try carryOut(undoing.history.beginRedo())
    }

    /// Reads the externally stored bytes that these changes replace or delete. After the commit, the store no longer
    /// has these bytes.
    func keepBytes(of parts: [Int: any AnyRowChanges]) {
        for (entity, part) in parts where store.schema.keepsBytes[entity] && part.kinds != .insert {
            let entity = store.schema.entities[entity]
            readBytes { try entity.keepBytes(of: part, $0) }
        }
    }

    /// Reads the externally stored bytes that an edit of an object is about to replace or delete, unless a snapshot has
    /// them until the edit is published. Without a snapshot, another context may replace them before that.
    ///
    /// The object keeps showing what it shows. A newer snapshot would refresh it, and hide a conflict with values that
    /// the block has read from it.
    ///
    /// - Parameter column: the column of the edit; nil for a delete.
    @inline(never)
    func keepBytes<Object: Model>(of object: Object, beforeEditing column: Int?) {
        let entity = Int(object._$state.entity)
        guard undoing.history.isOn, reading.snapshot == nil, store.schema.keepsBytes[entity], !saving.isRunning else {
            return
        }
        let externals = store.schema.entities[entity].info.externals
        for column in column.map({ externals.intersection(ColumnSet($0)) }) ?? externals {
            guard let external = object._$row._$external(at: column), external.data == nil else { continue }
            readBytes { connection in
                if let content = try connection.content(of: external) { external.keep(content) }
            }
        }
    }

    /// Calls a body with the connection of the current snapshot or, without one, with the newest state.
    private func readBytes(_ body: (Connection) throws -> Void) {
        do {
            if let connection = (reading.snapshot?.reader ?? reading.transaction)?.connection {
                try body(connection)
            } else {
                try store.reading(for: reference.label) { connection, _ in try body(connection) }
            }
        } catch {
            reference.report(error)
        }
    }

    private func carryOut(_ group: UndoHistory.Group?) throws -> Bool {
        guard let group else { return false }
        noteTurn()
        defer {
            publish()
            undoing.history.end(group)
        }
        // Join rows come last, because by then the objects at both ends are restored.
        for isJoin in [false, true] {
            for step in group.steps.reversed() {
                for (entity, part) in step where store.schema.entities[entity].info.isJoin == isJoin {
                    let tracker: (any AnyTracker)? = isJoin ? joinTracker(entity) : anyTracker(entity)
                    try tracker?.undo(part, of: group, self)
                }
            }
        }
        return true
    }
}

extension Entity {
    func keepBytes(of part: any AnyRowChanges, _ connection: Connection) throws {
        for change in part.typed(Row.self).changes where change.kind != .insert {
            let before = change.kind == .delete ? change.lastSeen : change.base?.original
            let columns = change.kind == .delete ? info.externals : info.externals.intersection(change.columns)
            for column in columns {
                guard let external = before?._$external(at: column), external.data == nil else { continue }
                if let content = try connection.content(of: external) { external.keep(content) }
            }
        }
    }
}

extension ObjectTracker {
    func undo(_ part: any AnyRowChanges, of group: UndoHistory.Group, _ context: ObjectContext) throws {
        let part = part.typed(Object.Row.self)
        for change in part.changes {
            switch change.kind {
            case .insert, .undelete: try undoInsert(change, context)
            case .update, .updateOfDeleted: try undoUpdate(change, context)
            // `undoDeletes` handles all deletes at once, below.
            case .delete: break
            // The object was inserted and deleted within the same publication.
            case .cancelledInsert: break
            }
        }
        if part.kinds.contains(.delete) { try undoDeletes(part.changes.filter { $0.kind == .delete }, context) }
    }

    private func undoInsert(_ change: Change<Object.Row>, _ context: ObjectContext) throws {
        guard let object = try context.object(change.row._$id, entity: entity, Object.self) else { return }
        // The delete rules are not applied here. Undoing the edits that followed the insert has the same effect.
        noteDifferences(nil, object)
        delete(object, in: context)
    }

    private func undoUpdate(_ change: Change<Object.Row>, _ context: ObjectContext) throws {
        guard let before = change.base?.original,
            let object = try context.object(change.row._$id, entity: entity, Object.self)
        else { return }
        let lost = try lostBytes(of: before, in: change.columns, context)
        let columns = change.columns.subtracting(object._$row._$differences(from: change.row)).subtracting(lost)
        for column in columns.intersection(before._$differences(from: change.row)) {
            object._$willChange(column)
            object._$row._$copy(ColumnSet(column), from: before)
        }
    }

    /// The columns whose external bytes in an earlier version of a row are gone: others had replaced them before the
    /// context could read them. An undo leaves these columns as they are.
    private func lostBytes(
        of before: Object.Row,
        in columns: ColumnSet,
        _ context: ObjectContext
    ) throws -> ColumnSet {
        var lost = ColumnSet()
        for column in entity.info.externals.intersection(columns) {
            guard let external = before._$external(at: column), external.data == nil else { continue }
            if try context.currentConnection().content(of: external) == nil { lost.insert(column) }
        }
        return lost
    }

    /// Restores deleted rows that are still missing.
    ///
    /// If the delete is in this context's own layer, the delete is removed, as if it had never been made. If the row is
    /// still missing after that, an edit restores it. This happens if the delete was saved, or if other contexts have
    /// deleted the row too.
    private func undoDeletes(_ deletes: [Change<Object.Row>], _ context: ObjectContext) throws {
        let index = entity.info.index
        let gone = try deletes.filter { try context.object($0.row._$id, entity: entity, Object.self) == nil }
        context.publish()
        let layers = context.store.layers.state.withLock { $0.layers }
        var own: [Change<Object.Row>] = []
        var others: [Change<Object.Row>] = []
        for change in gone {
            let number = change.row._$id
            if layers.isInserted(number, entity: index, by: context.id) {
                reinsert(change.lastSeen, context)
            } else if layers.topKind(of: number, entity: index, in: [context.id]) == .delete {
                own.append(change)
            } else {
                others.append(change)
            }
        }
        if !own.isEmpty {
            let back = try context.cancelDeletes(of: RowChanges(unsorted: own), entity: index)
            others += own.filter { !back.contains($0.row._$id) }
            let undone = own.filter { back.contains($0.row._$id) }
            // The removal is not an edit, but redo must know of it.
            if !undone.isEmpty {
                context.undoing.history.record([index: RowChanges(unsorted: undone.map { .insert($0.lastSeen) })])
            }
        }
        for change in others { undelete(change.lastSeen, context) }
    }
}

extension ObjectContext {
    /// Removes deletes from this context's layer, so that their rows are visible again. Returns the ids of the rows
    /// that this context shows.
    func cancelDeletes<Row: StoredRow>(of part: RowChanges<Row>, entity: Int) throws -> Set<Int64> {
        var back: Set<Int64> = []
        try editLayer { reading in
            guard
                let done = try store.layers.cancelDeletes(
                    of: part,
                    entity: entity,
                    in: id,
                    held: undoing.heldSegments,
                    store.schema,
                    reading
                )
            else { return nil }
            back = done.back
            undoing.record(done.cancelled)
            // The rows that are visible again may have unique values that other checked changes have too.
            if !store.schema.entities[entity].info.isJoin {
                undoing.forgetChecks(ofAny: done.segments)
            }
            return !done.taken.isEmpty
        }
        guard reading.isPinned, let snapshot = reading.snapshot else { return back }
        // The pinned snapshot may still contain a delete by a parent that the parent has rolled back since.
        let info = store.schema.entities[entity].info
        return try back.filter { number in
            try snapshot.layers.topKind(of: number, entity: entity, in: path).map(\.isVisible)
                ?? snapshot.reader.connection.exists(number, in: info)
        }
    }
}

extension JoinTracker {
    func undo(_ part: any AnyRowChanges, of group: UndoHistory.Group, _ context: ObjectContext) throws {
        // If several rows represented the same member, the row that queries showed is restored first.
        for change in part.typed(JoinRow.self).changes.sorted(by: comesFirst) {
            let rows = try context.joinRows(entity, JoinRow.Column.left, change.row.left)
                .filter { $0.right == change.row.right }
            // A parent context may have added the same member with a different row.
            let own = rows.first { $0._$id == change.row._$id }
            let current = own ?? rows.first
            switch change.kind {
            case .insert, .undelete: if let current { delete(current, context) }
            case .update, .updateOfDeleted: if let current { undoMove(change, current, context) }
            case .delete:
                if current == nil {
                    try undoRemoval(of: change.lastSeen, context)
                } else if own == nil, rows.contains(where: { group.hasDeleted($0._$id, of: entity) }) {
                    // Both rows are restored as they were.
                    try context.restoreDuplicate(change.lastSeen, entity)
                }
            case .cancelledInsert: break
            }
        }
    }

    /// Whether queries showed `first` rather than `second`, if both rows represent the same member (see
    /// ``Overlay/row(ofPair:_:entity:)``). For rows of different members the order does not matter.
    private func comesFirst(_ first: Change<JoinRow>, _ second: Change<JoinRow>) -> Bool {
        func isPending(_ change: Change<JoinRow>) -> Bool { change.base.map { !$0.storeEqualsOriginal } ?? true }
        return isPending(first) == isPending(second) ? first.row._$id > second.row._$id : isPending(first)
    }

    /// Moves a member back to its earlier position, unless it was moved again since.
    private func undoMove(_ change: Change<JoinRow>, _ current: JoinRow, _ context: ObjectContext) {
        guard let before = change.base?.original else { return }
        var row = current
        row._$copy(change.columns.subtracting(current._$differences(from: change.row)), from: before)
        update(current, to: row, context)
    }

    private func undoRemoval(of row: JoinRow, _ context: ObjectContext) throws {
        // A removal is not undone if the object at either end no longer exists.
        for reference in context.store.schema.entities[entity].info.outgoing {
            guard try context.anyObject(row.end(reference.column), entity: reference.destination) != nil else { return }
        }
        if try context.restoreMember(row, entity) { context.recordUndelete(row, entity) }
    }
}
