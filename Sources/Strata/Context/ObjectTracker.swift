/// What a context has done to one object since it has last published its edits.
///
/// Not generic, and of the object's class only by agreement: an array of these is appended to at every insert, and what is
/// generic would be looked up each time.
struct ObjectEdit {
    let object: AnyObject
    var columns: ColumnSet
    var kind: ChangeKind
    /// A ``Base`` with the row before the first of these edits; nil for an insert.
    let base: AnyObject?
}

/// The edits that a context has not published yet, of the objects of one model.
final class ObjectTracker<Object: Model>: AnyTracker {
    let entity: Entity<Object.Row>
    @exclusivity(unchecked) private var edits: [ObjectEdit] = []
    /// What was done to objects though they had been deleted here, by number, and for which other object it was.
    var usesAfterDelete: [Int64: UseAfterDelete] = [:]

    /// Who is told of what objects show anew; nil in contexts that are not observable.
    private let observers: ContextObservers?

    init(_ entity: Entity<Object.Row>, _ observers: ContextObservers?) {
        self.entity = entity
        self.observers = observers
    }

    var isEmpty: Bool { edits.isEmpty && usesAfterDelete.isEmpty }

    // Both are of these types by agreement.
    private func object(of edit: ObjectEdit) -> Object { unsafeDowncast(edit.object, to: Object.self) }
    private func base(of edit: ObjectEdit) -> Base<Object.Row>? {
        edit.base.map { unsafeDowncast($0, to: Base<Object.Row>.self) }
    }

    /// The state of an object that is inserted next, by ``noteInsert(_:)``.
    var stateOfInsert: ObjectState {
        ObjectState(
            edit: Int32(edits.count),
            entity: UInt16(truncatingIfNeeded: entity.info.index),
            isObserved: observers != nil
        )
    }

    /// Notes the insert of an object that has been given ``stateOfInsert``.
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
            note(object, .update, ColumnSet(column), context.seenSequence)
        }
    }

    /// Lets the next save tell what was done to an object that had been deleted (C7).
    func noteUse(ofDeleted object: Object, _ use: String, by other: Int64?) {
        let number = object.id.number
        guard usesAfterDelete[number] == nil else { return }
        let message = "\(use) after it had been deleted here"
        let detail = StrataError.Detail(model: entity.info.name, number: number, message: message)
        usesAfterDelete[number] = UseAfterDelete(detail: detail, other: other)
    }

    func delete(_ object: Object, in context: ObjectContext) {
        let index = Int(object._$state.edit)
        object._$state.isDeleted = true
        if index < 0 {
            note(object, .delete, ColumnSet(), context.seenSequence)
        } else {
            edits[index].kind = edits[index].kind == .insert ? .withdrawn : .delete
        }
    }

    /// What has been edited, as changes with their bases; nothing is left here.
    func takePart(_ context: ObjectContext) -> (any AnyPart)? {
        guard !edits.isEmpty else { return nil }
        var bases: BaseFinder<Object.Row>?
        if edits.contains(where: { $0.base != nil }) {
            let found: BaseFinder<Object.Row> = context.baseFinder(entity: entity.info.index)
            if !found.isEmpty { bases = found }
        }
        let count = edits.count
        let derived = entity.info.derived
        let time = entity.info.isStamped ? context.insertTime : nil
        var kinds: ChangeKinds = []
        var numbers: [Int64] = []
        numbers.reserveCapacity(count)
        let changes = [Change<Object.Row>](unsafeUninitializedCapacity: count) { places, initialized in
            for edit in edits {
                if let time, edit.kind == .insert { stamp(object(of: edit), time) }
                var base = self.base(of: edit)
                if let bases, let known = base { base = bases.base(of: known.seen) }
                // A row is brought back because there is none beneath.
                if edit.kind == .restore { base = base?.over(.gone) }
                let number = Object._$publish(
                    object(of: edit),
                    // There are as many places as edits.
                    to: UnsafeMutableRawPointer(places.baseAddress.unsafelyUnwrapped + initialized),
                    kind: edit.kind.rawValue,
                    edit.kind.isUpdate ? edit.columns.union(derived) : ColumnSet(),
                    base: base
                )
                numbers.append(number)
                kinds.formUnion(ChangeKinds(edit.kind))
                initialized += 1
            }
        }
        edits.removeAll()
        if entity.info.isStamped, time == nil || entity.info.updatedAt != nil && !kinds.isDisjoint(with: .updates) {
            context.isStamped = false
        }
        if entity.info.hooks.runBeforeSave { context.noteForHooks(numbers, entity: entity.info.index) }
        return Part(unsorted: changes, numbers: numbers, kinds)
    }

    /// Sets the timestamps of an object that is new.
    private func stamp(_ object: Object, _ time: StoredValue) {
        // Attributes of another type than a time are refused when the schema is made.
        if let updatedAt = entity.info.updatedAt { try? object._$row._$set(time, at: updatedAt) }
        guard let createdAt = entity.info.createdAt, (try? object._$row._$value(at: createdAt)) == .null else { return }
        try? object._$row._$set(time, at: createdAt)
    }

    /// Puts the rows back to what they were, and forgets.
    func discard() {
        for edit in edits.reversed() { revert(edit) }
        edits.removeAll()
        usesAfterDelete.removeAll()
    }

    private func revert(_ edit: ObjectEdit) {
        let object = object(of: edit)
        object._$state.edit = -1
        show(base(of: edit)?.seen, in: object)
    }

    func forgetFailures(of numbers: Set<Int64>) {
        usesAfterDelete = usesAfterDelete.filter { number, use in
            !numbers.contains(number) && !(use.other.map(numbers.contains) ?? false)
        }
    }

    func failures(_ context: ObjectContext) -> [StrataError.Detail] {
        if usesAfterDelete.isEmpty { return [] }
        // Some may be there again, since what had deleted them was rolled back.
        usesAfterDelete = usesAfterDelete.filter { number, _ in
            (context.identity[number, Object.self] as? Object)?._$state.isDeleted ?? true
        }
        return usesAfterDelete.values.map(\.detail).sorted { $0.number < $1.number }
    }

    func insertAgain(_ number: Int64, _ context: ObjectContext) {
        let layers = context.store.layers.state.withLock { $0.layers }
        let top = layers.top(number, entity: entity.info.index, in: [context.id], Object.Row.self)
        guard let top, top.kind == .withdrawn || top.kind == .delete else { return }
        bringBack(top.lastSeen, context)
    }

    /// Inserts an object under the id that it had.
    func bringBack(_ row: Object.Row, _ context: ObjectContext) {
        let object =
            context.identity[row._$number, Object.self] as? Object
            ?? context.register(Object(_$row: row), entity: entity.info.index)
        show(row, in: object)
        object._$state = stateOfInsert
        noteInsert(object)
    }

    /// Takes back the delete of a stored row, be it in a parent's layer or in the store, in the way in which others' deletes are
    /// overruled: what others have made of the row since stays.
    func restore(_ row: Object.Row, _ context: ObjectContext) {
        let object =
            context.identity[row._$number, Object.self] as? Object
            ?? context.register(Object(_$row: row), entity: entity.info.index)
        show(row, in: object)
        note(object, .restore, ColumnSet(), context.seenSequence)
    }

    /// Lets a live object show the row that the layers show now; nil where it is gone.
    func show(_ row: Object.Row?, in object: AnyObject) {
        guard type(of: object) == Object.self else { return }
        let object = unsafeDowncast(object, to: Object.self)  // its type was compared
        if observers != nil { noteDifferences(row, object) }
        guard let row else {
            object._$state.isDeleted = true
            return
        }
        object._$state.isDeleted = false
        object._$row = row
    }

    /// Notes what an object is about to show anew.
    @inline(never)
    func noteDifferences(_ row: Object.Row?, _ object: Object) {
        let number = object.id.number
        if object._$state.isDeleted != (row == nil) { observers?.note(number, ContextObservers.Facet.isDeleted) }
        if let row { observers?.note(number, row._$differences(from: object._$row)) }
    }

    func show(_ part: any AnyPart, _ number: Int64, in object: AnyObject) {
        if let change = part.typed(Object.Row.self)[number] { show(change.row, in: object) }
    }

    /// Lets live objects show their rows: as the layers have them, else as the commit has left them, else as they are in the
    /// store. Gives the error of the first that cannot be read; the others are shown.
    ///
    /// Complexity: O(objects · layers · log rows).
    func refresh(
        _ objects: [(index: Int, object: AnyObject)],
        of part: any AnyPart,
        isCommitted: Bool,
        _ view: ObjectContext.View,
        _ path: [Int]
    ) -> (any Error)? {
        // Most often none of the rows lives here.
        guard !objects.isEmpty else { return nil }
        let part = part.typed(Object.Row.self)
        return refresh(objects.lazy.map { ($0.object, part.numbers[$0.index], $0.index) }, view, path) { index in
            isCommitted ? (part, index) : nil
        }
    }

    /// Lets live objects show the rows of a part.
    func show(_ objects: [(index: Int, object: AnyObject)], of part: any AnyPart) {
        let part = part.typed(Object.Row.self)
        for (index, object) in objects { show(part, index, in: object) }
    }

    /// Lets live objects show their rows as the layers have them, else as they are in the store.
    func refresh(_ models: [any Model], _ view: ObjectContext.View, _ path: [Int]) -> (any Error)? {
        refresh(models.lazy.map { ($0, $0.storedNumber, 0) }, view, path) { _ in nil }
    }

    private func refresh(
        _ objects: some Sequence<(object: AnyObject, number: Int64, index: Int)>,
        _ view: ObjectContext.View,
        _ path: [Int],
        committed: (Int) -> (part: Part<Object.Row>, index: Int)?
    ) -> (any Error)? {
        let layers = layers(of: view, path)
        var failure: (any Error)?
        for (object, number, index) in objects {
            if show(number, from: layers, in: object) { continue }
            if let (part, index) = committed(index) {
                show(part, index, in: object)
                continue
            }
            do {
                show(try entity.read(number, on: view.reader.connection), in: object)
            } catch {
                failure = failure ?? error
            }
        }
        return failure
    }

    /// The layers' changes of this entity, the topmost first.
    private func layers(of view: ObjectContext.View, _ path: [Int]) -> [Part<Object.Row>] {
        view.layers.parts(of: entity.info.index, in: path).reversed().map { $0.typed(Object.Row.self) }
    }

    /// Says whether one of the layers has a change of the row.
    private func show(_ number: Int64, from layers: [Part<Object.Row>], in object: AnyObject) -> Bool {
        for layer in layers {
            guard let index = layer.index(of: number) else { continue }
            show(layer, index, in: object)
            return true
        }
        return false
    }

    private func show(_ part: Part<Object.Row>, _ index: Int, in object: AnyObject) {
        // Where it lies, since an element of an array would be copied.
        part.changes.withUnsafeBufferPointer { changes in
            show(changes[index].kind.isVisible ? changes[index].row : nil, in: object)
        }
    }

    func makeObject(_ number: Int64, _ context: ObjectContext) throws -> (any Model)? {
        try context.object(number, entity: entity, Object.self)
    }

    func deletedObject(_ number: Int64, _ layers: Layers, _ context: ObjectContext) -> (any Model)? {
        if let object = context.identity[number, Object.self] as? Object { return object }
        guard let top = layers.top(number, entity: entity.info.index, in: [context.id], Object.Row.self) else {
            return nil
        }
        // Only to be looked at, so it lives nowhere.
        let object = Object(_$row: top.lastSeen)
        object._$link = ObjectLink(context)
        object._$state = ObjectState(entity: UInt16(truncatingIfNeeded: entity.info.index), isObserved: false)
        object._$state.isDeleted = true
        return object
    }
}

/// What was done to an object though it had been deleted, and for which other object it was.
struct UseAfterDelete {
    let detail: StrataError.Detail
    let other: Int64?
}

/// An ``ObjectTracker`` of whichever model, or a ``JoinTracker``.
protocol AnyTracker: AnyObject {
    var isEmpty: Bool { get }
    /// By number.
    var usesAfterDelete: [Int64: UseAfterDelete] { get set }
    func takePart(_ context: ObjectContext) -> (any AnyPart)?
    func discard()
    func failures(_ context: ObjectContext) -> [StrataError.Detail]
    func forgetFailures(of numbers: Set<Int64>)
    /// Makes the inverse edits of what was published once as part of a group, as far as nobody has changed the same since.
    func undo(_ part: any AnyPart, of group: UndoHistory.Group, _ context: ObjectContext) throws
    /// Inserts an object once more that was inserted and deleted here.
    func insertAgain(_ number: Int64, _ context: ObjectContext)
    func show(_ part: any AnyPart, _ number: Int64, in object: AnyObject)
    func show(_ objects: [(index: Int, object: AnyObject)], of part: any AnyPart)
    func refresh(
        _ objects: [(index: Int, object: AnyObject)],
        of part: any AnyPart,
        isCommitted: Bool,
        _ view: ObjectContext.View,
        _ path: [Int]
    ) -> (any Error)?
    func refresh(_ models: [any Model], _ view: ObjectContext.View, _ path: [Int]) -> (any Error)?
    func makeObject(_ number: Int64, _ context: ObjectContext) throws -> (any Model)?
    /// Deletes the objects whose column holds one of these values, without what their own delete rules say. Gives their numbers,
    /// each with the value.
    ///
    /// - Parameter column: a reference; nil for the id.
    func delete(_ column: Int?, _ values: [Int64], _ context: ObjectContext) throws -> [(number: Int64, value: Int64)]
    /// Empties a to-one column of the objects that lead to one of these by it. Gives their numbers, each with what it has led to.
    func empty(_ column: Int, _ values: [Int64], _ context: ObjectContext) throws -> [(number: Int64, value: Int64)]
    /// An object that shows what was deleted here; the one that lives here, if it does.
    func deletedObject(_ number: Int64, _ layers: Layers, _ context: ObjectContext) -> (any Model)?
}

/// The edits that a context has not published yet, of the members of a to-many relationship.
final class JoinTracker: AnyTracker {
    let entity: Int
    /// There is none: members are no objects.
    var usesAfterDelete: [Int64: UseAfterDelete] = [:]
    private var changes: [Change<JoinRow>] = []

    init(entity: Int) { self.entity = entity }

    var isEmpty: Bool { changes.isEmpty }

    func insert(_ row: JoinRow) { changes.append(.insert(row)) }

    func update(_ before: JoinRow, to row: JoinRow, _ context: ObjectContext) {
        let columns = row._$differences(from: before)
        // To be put where it is changes nothing.
        guard !columns.isEmpty else { return }
        let base = context.base(of: before, entity: entity)
        changes.append(Change(kind: .update, columns: columns, row: row, base: base))
    }

    /// Takes back that a member was removed.
    func restore(_ before: JoinRow, as row: JoinRow, _ context: ObjectContext) {
        changes.append(
            Change(
                kind: .restore,
                columns: row._$differences(from: before),
                row: row,
                base: context.base(of: before, entity: entity).over(.gone)
            )
        )
    }

    func delete(_ row: JoinRow, _ context: ObjectContext) {
        changes.append(
            Change(kind: .delete, columns: ColumnSet(), row: row, base: context.base(of: row, entity: entity))
        )
    }

    func takePart(_ context: ObjectContext) -> (any AnyPart)? {
        guard !changes.isEmpty else { return nil }
        defer { changes.removeAll() }
        return Part(unsorted: changes)
    }

    func discard() { changes.removeAll() }
    func failures(_ context: ObjectContext) -> [StrataError.Detail] { [] }
    func forgetFailures(of numbers: Set<Int64>) {}
    func insertAgain(_ number: Int64, _ context: ObjectContext) {}
    func show(_ part: any AnyPart, _ number: Int64, in object: AnyObject) {}
    func show(_ objects: [(index: Int, object: AnyObject)], of part: any AnyPart) {}

    func refresh(
        _ objects: [(index: Int, object: AnyObject)],
        of part: any AnyPart,
        isCommitted: Bool,
        _ view: ObjectContext.View,
        _ path: [Int]
    ) -> (any Error)? { nil }

    func refresh(_ models: [any Model], _ view: ObjectContext.View, _ path: [Int]) -> (any Error)? { nil }

    func makeObject(_ number: Int64, _ context: ObjectContext) throws -> (any Model)? { nil }
    func delete(_ column: Int?, _ values: [Int64], _ context: ObjectContext) throws -> [(number: Int64, value: Int64)] {
        []
    }

    func empty(_ column: Int, _ values: [Int64], _ context: ObjectContext) throws -> [(number: Int64, value: Int64)] {
        []
    }

    func deletedObject(_ number: Int64, _ layers: Layers, _ context: ObjectContext) -> (any Model)? { nil }
}

extension Entity {
    /// The row in the store. Complexity: one look-up by key.
    func read(_ number: Int64, on connection: Connection) throws -> Row? {
        let statement = try connection.statement(.selectByID(info))
        defer { statement.reset() }
        try statement.binder.bind(number, at: 1)
        return try statement.step() ? try Row(_$from: statement.reader) : nil
    }
}
