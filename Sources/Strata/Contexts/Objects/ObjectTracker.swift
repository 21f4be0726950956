/// The edits of one object that its context has not published yet.
///
/// The struct is not generic; by convention, `object` is of the tracker's class. An array of these values grows at
/// every insert, and a generic element type would cost a metadata look-up each time.
struct ObjectEdit {
    let object: AnyObject
    var columns: ColumnSet
    var kind: ChangeKind
    /// A ``Base`` with the row before the first of these edits; nil for an insert.
    let base: AnyObject?
}

/// The unpublished edits of one model's objects in a context.
final class ObjectTracker<Object: Model>: AnyTracker {
    let entity: Entity<Object.Row>
    @exclusivity(unchecked) private var edits: [ObjectEdit] = []
    /// Uses of objects after they were deleted here, by number.
    var usesAfterDelete: [Int64: UseAfterDelete] = [:]

    /// The observers of refreshed objects; nil in contexts that are not observable.
    private let observers: ContextObservers?

    init(_ entity: Entity<Object.Row>, _ observers: ContextObservers?) {
        self.entity = entity
        self.observers = observers
    }

    var isEmpty: Bool { edits.isEmpty && usesAfterDelete.isEmpty }

    // By convention, the object and the base are of these types.
    private func object(of edit: ObjectEdit) -> Object { unsafeDowncast(edit.object, to: Object.self) }
    private func base(of edit: ObjectEdit) -> Base<Object.Row>? {
        edit.base.map { unsafeDowncast($0, to: Base<Object.Row>.self) }
    }

    /// The state for the object that ``noteInsert(_:)`` records next.
    var stateOfInsert: ObjectState {
        ObjectState(
            edit: Int32(edits.count),
            entity: UInt16(truncatingIfNeeded: entity.info.index),
            isObserved: observers != nil
        )
    }

    /// Records the insert of an object whose state is ``stateOfInsert``.
    func noteInsert(_ object: Object) {
        edits.append(ObjectEdit(object: object, columns: ColumnSet(), kind: .insert, base: nil))
    }

    /// Whether the insert of an object is among the edits.
    func hasInserted(_ object: Object) -> Bool {
        let index = Int(object._$state.edit)
        return edits.indices.contains(index) && edits[index].object === object && edits[index].kind == .insert
    }

    private func note(_ object: Object, _ kind: ChangeKind, _ columns: ColumnSet, _ sequence: Int64) {
        object._$state.edit = Int32(edits.count)
        let base = Object._$base(object, sequence: sequence)
        edits.append(ObjectEdit(object: object, columns: columns, kind: kind, base: base))
    }

    @inline(__always)
    func willChange(_ object: Object, _ column: Int, in context: ObjectContext) {
        let index = Int(object._$state.edit)
        if object._$state.isDeleted { noteUse(ofDeleted: object, "was changed", by: nil) }
        if index >= 0 {
            edits[index].columns.insert(column)
        } else if !object._$state.isDeleted {
            note(object, .update, ColumnSet(column), context.reading.seenSequence)
        }
    }

    /// Records a use of a deleted object. The next save reports it.
    func noteUse(ofDeleted object: Object, _ use: String, by other: Int64?) {
        let number = object.id.rawValue
        guard usesAfterDelete[number] == nil else { return }
        let message = "\(use) after it had been deleted here"
        let detail = StrataError.Detail(model: entity.info.name, id: number, message: message)
        usesAfterDelete[number] = UseAfterDelete(detail: detail, other: other)
    }

    func delete(_ object: Object, in context: ObjectContext) {
        let index = Int(object._$state.edit)
        object._$state.isDeleted = true
        if index < 0 {
            note(object, .delete, ColumnSet(), context.reading.seenSequence)
        } else {
            edits[index].kind = edits[index].kind == .insert ? .cancelledInsert : .delete
        }
    }

    /// Removes the edits from the tracker and returns them as changes with their bases.
    func flush(_ context: ObjectContext) -> (any AnyRowChanges)? {
        guard !edits.isEmpty else { return nil }
        var bases: BaseFinder<Object.Row>?
        if edits.contains(where: { $0.base != nil }) {
            let found: BaseFinder<Object.Row> = context.baseFinder(entity: entity.info.index)
            if !found.isEmpty { bases = found }
        }
        let count = edits.count
        let derived = entity.info.derived
        let time = entity.info.isStamped ? context.saving.insertTime : nil
        var kinds: ChangeKinds = []
        var ids: [Int64] = []
        ids.reserveCapacity(count)
        let changes = [Change<Object.Row>](unsafeUninitializedCapacity: count) { places, initialized in
            for edit in edits {
                if let time, edit.kind == .insert { stamp(object(of: edit), time) }
                var base = self.base(of: edit)
                if let bases, let known = base { base = bases.base(of: known.original) }
                // A row is restored because it does not exist beneath this layer.
                if edit.kind == .undelete { base = base?.over(.gone) }
                let number = Object._$publish(
                    object(of: edit),
                    // The buffer has as many places as there are edits.
                    to: UnsafeMutableRawPointer(places.baseAddress.unsafelyUnwrapped + initialized),
                    kind: edit.kind.rawValue,
                    edit.kind.isUpdate ? edit.columns.union(derived) : ColumnSet(),
                    base: base
                )
                ids.append(number)
                kinds.formUnion(ChangeKinds(edit.kind))
                initialized += 1
            }
        }
        edits.removeAll()
        if entity.info.isStamped, time == nil || entity.info.updatedAt != nil && !kinds.isDisjoint(with: .updates) {
            context.saving.isStamped = false
        }
        if entity.info.hooks.runBeforeSave { context.hookQueue.noteEdited(ids, entity: entity.info.index) }
        return RowChanges(unsorted: changes, ids: ids, kinds)
    }

    /// Sets the timestamps of a new object.
    private func stamp(_ object: Object, _ time: StoredValue) {
        // Errors cannot occur: the schema refuses timestamp attributes of another type.
        if let updatedAt = entity.info.updatedAt { try? object._$row._$set(time, at: updatedAt) }
        guard let createdAt = entity.info.createdAt, (try? object._$row._$value(at: createdAt)) == .null else { return }
        try? object._$row._$set(time, at: createdAt)
    }

    /// Reverts the rows to their values before the edits, and drops the edits.
    func discard() {
        for edit in edits.reversed() { revert(edit) }
        edits.removeAll()
        usesAfterDelete.removeAll()
    }

    private func revert(_ edit: ObjectEdit) {
        let object = object(of: edit)
        object._$state.edit = -1
        show(base(of: edit)?.original, in: object)
    }

    func forgetFailures(of ids: Set<Int64>) {
        usesAfterDelete = usesAfterDelete.filter { number, use in
            !ids.contains(number) && !(use.other.map(ids.contains) ?? false)
        }
    }

    func failures(_ context: ObjectContext) -> [StrataError.Detail] {
        if usesAfterDelete.isEmpty { return [] }
        // Some of the objects may exist again, because their delete was rolled back.
        usesAfterDelete = usesAfterDelete.filter { number, _ in
            (context.live.identity[number, Object.self] as? Object)?._$state.isDeleted ?? true
        }
        return usesAfterDelete.values.map(\.detail).sorted { $0.id < $1.id }
    }

    func insertAgain(_ number: Int64, _ context: ObjectContext) {
        let layers = context.store.layers.state.withLock { $0.layers }
        let top = layers.top(number, entity: entity.info.index, in: [context.id], Object.Row.self)
        guard let top, top.kind == .cancelledInsert || top.kind == .delete else { return }
        reinsert(top.lastSeen, context)
    }

    /// Inserts an object under its former id.
    func reinsert(_ row: Object.Row, _ context: ObjectContext) {
        let object =
            context.live.identity[row._$id, Object.self] as? Object
            ?? context.register(Object(_$row: row), entity: entity.info.index)
        show(row, in: object)
        object._$state = stateOfInsert
        noteInsert(object)
    }

    /// Takes back the delete of a stored row, either in a parent's layer or in the store. The delete is overruled in
    /// the same way as a delete by another context. Changes that other contexts made to the row since stay.
    func undelete(_ row: Object.Row, _ context: ObjectContext) {
        let object =
            context.live.identity[row._$id, Object.self] as? Object
            ?? context.register(Object(_$row: row), entity: entity.info.index)
        show(row, in: object)
        object._$state.edit = Int32(edits.count)
        let (columns, seen) = hiddenEdits(beneath: row, context)
        let base = Base(inStore: seen, sequence: context.reading.seenSequence)
        edits.append(ObjectEdit(object: object, columns: columns, kind: .undelete, base: base))
    }

    /// The columns that edits on top of the context's layer set in a row which others have deleted since, and the row
    /// with the values of these edits. The undelete must set these columns. Otherwise, the edits would count again once
    /// they are merged with it.
    private func hiddenEdits(beneath row: Object.Row, _ context: ObjectContext) -> (ColumnSet, seen: Object.Row) {
        let layers = context.store.layers.state.withLock { $0.layers }
        var (columns, seen) = (ColumnSet(), row)
        for entry in layers.stack(row._$id, entity: entity.info.index, in: context.id, Object.Row.self).reversed() {
            guard entry.change.kind == .updateOfDeleted else { break }
            seen._$copy(entry.change.columns.subtracting(columns), from: entry.change.row)
            columns.formUnion(entry.change.columns)
        }
        return (columns, seen)
    }

    /// Makes a live object show a row; nil if the row no longer exists.
    func show(_ row: Object.Row?, in object: AnyObject) {
        guard type(of: object) == Object.self else { return }
        let object = unsafeDowncast(object, to: Object.self)  // the class was compared
        if observers != nil { noteDifferences(row, object) }
        guard let row else {
            object._$state.isDeleted = true
            return
        }
        object._$state.isDeleted = false
        object._$row = row
    }

    /// Records for the observers which values of an object a refresh will change.
    @inline(never)
    func noteDifferences(_ row: Object.Row?, _ object: Object) {
        let number = object.id.rawValue
        if object._$state.isDeleted != (row == nil) { observers?.note(number, ContextObservers.Facet.isDeleted) }
        if let row { observers?.note(number, row._$differences(from: object._$row)) }
    }

    /// Refreshes live objects. Each shows its row as the layers have it, otherwise as the commit has left it, otherwise
    /// as it is in the store. Returns the error of the first object that cannot be read; the other objects are
    /// refreshed.
    ///
    /// Complexity: O(objects · layers · log rows).
    func refresh(
        _ objects: [(index: Int, object: AnyObject)],
        of part: any AnyRowChanges,
        isCommitted: Bool,
        _ snapshot: ObjectContext.ReadSnapshot,
        _ path: [Int]
    ) -> (any Error)? {
        // In most cases none of the rows has a live object.
        guard !objects.isEmpty else { return nil }
        let part = part.typed(Object.Row.self)
        return refresh(objects.lazy.map { ($0.object, part.ids[$0.index], $0.index) }, snapshot, path) { index in
            isCommitted ? (part, index) : nil
        }
    }

    /// Makes live objects show the rows of a part.
    func show(_ objects: [(index: Int, object: AnyObject)], of part: any AnyRowChanges) {
        let part = part.typed(Object.Row.self)
        for (index, object) in objects { show(part, index, in: object) }
    }

    /// Refreshes live objects. Each shows its row as the layers have it, otherwise as it is in the store.
    func refresh(_ models: [any Model], _ snapshot: ObjectContext.ReadSnapshot, _ path: [Int]) -> (any Error)? {
        refresh(models.lazy.map { ($0, $0.storedID, 0) }, snapshot, path) { _ in nil }
    }

    private func refresh(
        _ objects: some Sequence<(object: AnyObject, number: Int64, index: Int)>,
        _ snapshot: ObjectContext.ReadSnapshot,
        _ path: [Int],
        committed: (Int) -> (part: RowChanges<Object.Row>, index: Int)?
    ) -> (any Error)? {
        let layers = layers(of: snapshot, path)
        var failure: (any Error)?
        for (object, number, index) in objects {
            if show(number, from: layers, in: object) { continue }
            if let (part, index) = committed(index) {
                show(part, index, in: object)
                continue
            }
            do {
                show(try entity.read(number, on: snapshot.reader.connection), in: object)
            } catch {
                failure = failure ?? error
            }
        }
        return failure
    }

    /// The layers' changes of this entity, the topmost first.
    private func layers(of snapshot: ObjectContext.ReadSnapshot, _ path: [Int]) -> [RowChanges<Object.Row>] {
        snapshot.layers.parts(of: entity.info.index, in: path).reversed().map { $0.typed(Object.Row.self) }
    }

    /// Shows the topmost change of a row. Returns whether one of the layers has a change of the row.
    private func show(_ number: Int64, from layers: [RowChanges<Object.Row>], in object: AnyObject) -> Bool {
        for layer in layers {
            guard let index = layer.index(of: number) else { continue }
            show(layer, index, in: object)
            return true
        }
        return false
    }

    private func show(_ part: RowChanges<Object.Row>, _ index: Int, in object: AnyObject) {
        // The change is read in place, because a subscript of the array would copy the element.
        part.changes.withUnsafeBufferPointer { changes in
            show(changes[index].kind.isVisible ? changes[index].row : nil, in: object)
        }
    }

    func makeObject(_ number: Int64, _ context: ObjectContext) throws -> (any Model)? {
        try context.object(number, entity: entity, Object.self)
    }

    func deletedObject(_ number: Int64, _ layers: LayerSnapshot, _ context: ObjectContext) -> (any Model)? {
        if let object = context.live.identity[number, Object.self] as? Object { return object }
        guard let top = layers.top(number, entity: entity.info.index, in: [context.id], Object.Row.self) else {
            return nil
        }
        // The object is only for reading, so it is not added to the identity map.
        let object = Object(_$row: top.lastSeen)
        object._$link = ObjectLink(context)
        object._$state = ObjectState(entity: UInt16(truncatingIfNeeded: entity.info.index), isObserved: false)
        object._$state.isDeleted = true
        return object
    }
}
