extension ObjectContext {
    /// How many groups of edits can be undone. None unless this is set: to be able to undo costs the rows that were edited.
    public var undoLevels: Int {
        get { undoHistory.levels }
        set {
            publish()
            undoHistory.levels = max(0, newValue)
        }
    }

    /// Whether there is anything to undo.
    public var canUndo: Bool {
        publish()
        return undoHistory.canUndo
    }

    /// Whether there is anything to redo: something was undone, and nothing edited since.
    public var canRedo: Bool {
        publish()
        return !undoHistory.redoable.isEmpty
    }

    /// The name of the group that ``undo()`` would undo, if it has one.
    public var undoName: String? {
        publish()
        return undoHistory.undoName
    }

    /// The name of the group that ``redo()`` would redo, if it has one.
    public var redoName: String? {
        publish()
        return undoHistory.redoable.last?.name
    }

    /// Makes the edits of a block one group, to be undone together. Without it, all edits of a block of the context, or of a turn of
    /// the main actor, are one. A group within a group belongs to the outer one.
    ///
    /// - Parameter name: what the group is called, for a menu.
    public func undoGroup<Result>(named name: String? = nil, _ body: () throws -> Result) rethrows -> Result {
        if isInUndoGroup { return try body() }
        publish()
        undoHistory.closeGroup()
        isInUndoGroup = true
        defer {
            publish()
            undoHistory.name(name)
            undoHistory.closeGroup()
            isInUndoGroup = false
        }
        return try body()
    }

    /// Takes back the last group of this context's own edits that was not taken back yet, whether it was saved since or not.
    ///
    /// What others have done since stays: a value is set back only where it still is what the edit made it, an object is brought back
    /// only where nobody else has. What is undone is an edit again, to be saved as any other.
    ///
    /// - Returns: whether there was anything to undo.
    /// - Throws: ``StrataError`` if the store cannot be read; then what was taken back so far stays.
    @discardableResult
    public func undo() throws -> Bool {
        publish()
        return try carryOut(undoHistory.beginUndo())
    }

    /// Makes the edits again that were last undone, in the way in which ``undo()`` takes them back.
    ///
    /// - Returns: whether there was anything to redo.
    /// - Throws: as ``undo()``.
    @discardableResult
    public func redo() throws -> Bool {
        publish()
        return try carryOut(undoHistory.beginRedo())
    }

    /// Reads the bytes outside of rows that these changes give up: once they are committed, the store does not have them any more.
    func keepBytes(of parts: [Int: any AnyPart]) {
        for (entity, part) in parts where store.schema.keepsBytes[entity] && part.kinds != .insert {
            let entity = store.schema.entities[entity]
            do {
                if let connection = view?.reader.connection {
                    try entity.keepBytes(of: part, connection)
                } else {
                    try store.reading(for: reference.label) { connection, _ in
                        try entity.keepBytes(of: part, connection)
                    }
                }
            } catch {
                reference.report(error)
            }
        }
    }

    private func carryOut(_ group: UndoHistory.Group?) throws -> Bool {
        guard let group else { return false }
        noteTurn()
        defer {
            publish()
            undoHistory.end(group)
        }
        // Members last: by then the objects at both ends are there again.
        for isJoin in [false, true] {
            for step in group.steps.reversed() {
                for (entity, part) in step where store.schema.entities[entity].info.isJoin == isJoin {
                    if isJoin { _ = joinTracker(entity) } else if trackers[entity] == nil { makeTracker(entity) }
                    try trackers[entity]?.undo(part, of: group, self)
                }
            }
        }
        return true
    }
}

extension Entity {
    func keepBytes(of part: any AnyPart, _ connection: Connection) throws {
        for change in part.typed(Row.self).changes where change.kind != .insert {
            let before = change.kind == .delete ? change.lastSeen : change.base?.seen
            let columns = change.kind == .delete ? info.externals : info.externals.intersection(change.columns)
            for column in columns {
                guard let external = before?._$external(at: column), external.data == nil else { continue }
                if let content = try connection.content(of: external) { external.keep(content) }
            }
        }
    }
}

extension ObjectTracker {
    func undo(_ part: any AnyPart, of group: UndoHistory.Group, _ context: ObjectContext) throws {
        let part = part.typed(Object.Row.self)
        for change in part.changes {
            switch change.kind {
            case .insert, .restore: try undoInsert(change, context)
            case .update, .orphan: try undoUpdate(change, context)
            // All of them at once.
            case .delete: break
            // It was inserted and deleted at once.
            case .withdrawn: break
            }
        }
        if part.kinds.contains(.delete) { try undoDeletes(part.changes.filter { $0.kind == .delete }, context) }
    }

    private func undoInsert(_ change: Change<Object.Row>, _ context: ObjectContext) throws {
        guard let object = try context.object(change.row._$number, entity: entity, Object.self) else { return }
        // Without the rules: what they would do is done by undoing what was edited after the insert.
        noteDifferences(nil, object)
        delete(object, in: context)
    }

    private func undoUpdate(_ change: Change<Object.Row>, _ context: ObjectContext) throws {
        guard let before = change.base?.seen,
            let object = try context.object(change.row._$number, entity: entity, Object.self)
        else { return }
        let columns = change.columns.subtracting(object._$row._$differences(from: change.row))
        for column in columns.intersection(before._$differences(from: change.row)) {
            object._$willChange(column)
            object._$row._$copy(ColumnSet(column), from: before)
        }
    }

    /// Brings rows back that are not there.
    ///
    /// A delete that lies in this context's own layer is taken out, as if it had never been made. A row that is not there then is
    /// brought back by an edit: the delete was saved, or others have deleted the row too.
    private func undoDeletes(_ deletes: [Change<Object.Row>], _ context: ObjectContext) throws {
        let index = entity.info.index
        let gone = try deletes.filter { try context.object($0.row._$number, entity: entity, Object.self) == nil }
        context.publish()
        let layers = context.store.layers.state.withLock { $0.layers }
        var own: [Change<Object.Row>] = []
        var others: [Change<Object.Row>] = []
        for change in gone {
            let number = change.row._$number
            if layers.isInserted(number, entity: index, by: context.id) {
                bringBack(change.lastSeen, context)
            } else if layers.topKind(of: number, entity: index, in: [context.id]) == .delete {
                own.append(change)
            } else {
                others.append(change)
            }
        }
        if !own.isEmpty {
            let back = try context.takeBackDeletes(of: Part(unsorted: own), entity: index)
            others += own.filter { !back.contains($0.row._$number) }
            let undone = own.filter { back.contains($0.row._$number) }
            // No edits of their own, and yet to be redone.
            if !undone.isEmpty {
                context.undoHistory.record([index: Part(unsorted: undone.map { .insert($0.lastSeen) })])
            }
        }
        for change in others { restore(change.lastSeen, context) }
    }
}

extension ObjectContext {
    /// Takes deletes out of this context's layer, so that their rows are there again. Gives the numbers of those that are.
    func takeBackDeletes<Row: StoredRow>(of part: Part<Row>, entity: Int) throws -> Set<Int64> {
        var back: Set<Int64> = []
        try editLayer { reading in
            guard let done = try store.layers.takeBackDeletes(of: part, entity: entity, in: id, store.schema, reading)
            else { return nil }
            back = done.back
            return !done.taken.isEmpty
        }
        return back
    }
}

extension JoinTracker {
    func undo(_ part: any AnyPart, of group: UndoHistory.Group, _ context: ObjectContext) throws {
        // Of a member that was there by several rows, the one comes first by which it was shown.
        for change in part.typed(JoinRow.self).changes.sorted(by: comesFirst) {
            let rows = try context.joinRows(entity, JoinRow.Column.left, change.row.left)
                .filter { $0.right == change.row.right }
            // A parent may have added the same member, by a row of its own (H25).
            let own = rows.first { $0._$number == change.row._$number }
            let current = own ?? rows.first
            switch change.kind {
            case .insert, .restore: if let current { delete(current, context) }
            case .update, .orphan: if let current { undoMove(change, current, context) }
            case .delete:
                if current == nil {
                    try undoRemoval(of: change.lastSeen, context)
                } else if own == nil, rows.contains(where: { group.hasDeleted($0._$number, of: entity) }) {
                    // Both are there again, as they were.
                    try context.restoreDuplicate(change.lastSeen, entity)
                }
            case .withdrawn: break
            }
        }
    }

    /// Whether of two rows of one member queries showed the first (see ``Overlay/row(ofPair:_:entity:)``); of others it does not matter.
    private func comesFirst(_ first: Change<JoinRow>, _ second: Change<JoinRow>) -> Bool {
        func isPending(_ change: Change<JoinRow>) -> Bool { change.base.map { !$0.isStoredAsSeen } ?? true }
        return isPending(first) == isPending(second) ? first.row._$number > second.row._$number : isPending(first)
    }

    /// Puts a member back where it was, unless it has been moved since.
    private func undoMove(_ change: Change<JoinRow>, _ current: JoinRow, _ context: ObjectContext) {
        guard let before = change.base?.seen else { return }
        var row = current
        row._$copy(change.columns.subtracting(current._$differences(from: change.row)), from: before)
        update(current, to: row, context)
    }

    private func undoRemoval(of row: JoinRow, _ context: ObjectContext) throws {
        // Of a member that is gone there is nothing to bring back.
        for reference in context.store.schema.entities[entity].info.outgoing {
            guard try context.anyObject(row.end(reference.column), entity: reference.destination) != nil else { return }
        }
        if try context.restoreMember(row, entity) { context.recordBroughtBack(row, entity) }
    }
}
