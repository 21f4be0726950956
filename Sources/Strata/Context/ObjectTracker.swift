/// The edits that a context has not published yet, of the objects of one model.
final class ObjectTracker<Object: Model>: AnyTracker {
    struct Edit {
        let object: Object
        var kind: ChangeKind
        var columns: ColumnSet
        /// The row before the first of these edits; nil for an insert.
        let before: Object.Row?
    }

    let entity: Entity<Object.Row>
    private(set) var edits: [Edit] = []
    /// Rows that were changed though they had been deleted here.
    private var changedAfterDelete: [Object.Row] = []

    init(_ entity: Entity<Object.Row>) { self.entity = entity }

    var isEmpty: Bool { edits.isEmpty && changedAfterDelete.isEmpty }

    func insert(_ object: Object) {
        object._$link.edit = Int32(edits.count)
        edits.append(Edit(object: object, kind: .insert, columns: ColumnSet(), before: nil))
    }

    @inline(__always)
    func willChange(_ object: Object, _ column: Int) {
        let index = Int(object._$link.edit)
        if index >= 0 {
            edits[index].columns.insert(column)
            if edits[index].kind == .delete { changedAfterDelete.append(object._$row) }
        } else if object._$link.isDeleted {
            changedAfterDelete.append(object._$row)
        } else {
            object._$link.edit = Int32(edits.count)
            edits.append(Edit(object: object, kind: .update, columns: ColumnSet(column), before: object._$row))
        }
    }

    func delete(_ object: Object) {
        let index = Int(object._$link.edit)
        object._$link.isDeleted = true
        if index < 0 {
            object._$link.edit = Int32(edits.count)
            edits.append(Edit(object: object, kind: .delete, columns: ColumnSet(), before: object._$row))
        } else {
            edits[index].kind = edits[index].kind == .insert ? .withdrawn : .delete
        }
    }

    /// What has been edited, as changes with their bases; nothing is left here.
    func takePart(_ context: ObjectContext) -> (any AnyPart)? {
        guard !edits.isEmpty else { return nil }
        var changes: [Change<Object.Row>] = []
        changes.reserveCapacity(edits.count)
        for edit in edits {
            edit.object._$link.edit = -1
            let row = edit.object._$row
            switch edit.kind {
            case .insert: changes.append(.insert(row))
            case .withdrawn: changes.append(Change(kind: .withdrawn, columns: ColumnSet(), row: row, base: nil))
            case .update, .delete, .orphan, .restore:
                changes.append(
                    Change(
                        kind: edit.kind,
                        columns: edit.kind == .delete ? ColumnSet() : edit.columns,
                        row: row,
                        base: context.base(of: edit.before ?? row, entity: entity.info.index)
                    )
                )
            }
        }
        edits.removeAll()
        return Part(unsorted: changes)
    }

    /// Puts the rows back to what they were, and forgets.
    func discard() {
        for edit in edits.reversed() { revert(edit) }
        edits.removeAll()
        changedAfterDelete.removeAll()
    }

    private func revert(_ edit: Edit) {
        edit.object._$link.edit = -1
        switch edit.kind {
        case .insert, .withdrawn: edit.object._$link.isDeleted = true
        case .update, .delete, .orphan, .restore:
            edit.object._$link.isDeleted = false
            if let before = edit.before { edit.object._$row = before }
        }
    }

    func forgetFailures(of number: Int64) { changedAfterDelete.removeAll { $0._$number == number } }

    func failures() -> [StrataError.Detail] {
        changedAfterDelete.map { row in
            StrataError.Detail(
                model: entity.info.name,
                number: row._$number,
                message: "was changed after it had been deleted here"
            )
        }
    }

    /// Lets a live object show the row that the layers show now; nil where it is gone.
    func show(_ row: Object.Row?, in object: AnyObject) {
        // In a damaged file a row of another model may have the same id; it is not this object's.
        guard type(of: object) == Object.self else { return }
        let object = unsafeDowncast(object, to: Object.self)  // its type was compared
        guard let row else {
            object._$link.isDeleted = true
            return
        }
        object._$link.isDeleted = false
        object._$row = row
    }

    func show(_ part: any AnyPart, _ number: Int64, in object: AnyObject) {
        if let change = part.typed(Object.Row.self)[number] { show(change.row, in: object) }
    }

    /// The row as the layers show it, else as the last commit left it, else as it is in the store.
    func refresh(
        _ number: Int64,
        _ object: AnyObject,
        layers: Layers,
        path: [Int],
        committed: (any AnyPart)?,
        connection: Connection
    ) throws {
        let index = entity.info.index
        if let change = layers.top(number, entity: index, in: path, Object.Row.self) {
            show(change.kind.isVisible ? change.row : nil, in: object)
        } else if let change = committed?.typed(Object.Row.self)[number] {
            show(change.kind.isVisible ? change.row : nil, in: object)
        } else {
            show(try entity.read(number, on: connection), in: object)
        }
    }

    func makeObject(_ number: Int64, _ context: ObjectContext) throws -> (any Model)? {
        guard let row = try context.row(number, of: entity) else { return nil }
        return context.register(Object(_$row: row), entity: entity.info.index)
    }
}

/// An ``ObjectTracker`` of whichever model, or a ``JoinTracker``.
protocol AnyTracker: AnyObject {
    var isEmpty: Bool { get }
    func takePart(_ context: ObjectContext) -> (any AnyPart)?
    func discard()
    func failures() -> [StrataError.Detail]
    func forgetFailures(of number: Int64)
    func show(_ part: any AnyPart, _ number: Int64, in object: AnyObject)
    func refresh(
        _ number: Int64,
        _ object: AnyObject,
        layers: Layers,
        path: [Int],
        committed: (any AnyPart)?,
        connection: Connection
    ) throws
    func makeObject(_ number: Int64, _ context: ObjectContext) throws -> (any Model)?
}

/// The edits that a context has not published yet, of the members of a to-many relationship.
final class JoinTracker: AnyTracker {
    private let entity: Int
    private var changes: [Change<JoinRow>] = []

    init(entity: Int) { self.entity = entity }

    var isEmpty: Bool { changes.isEmpty }

    func insert(_ row: JoinRow) { changes.append(.insert(row)) }

    func update(_ before: JoinRow, to row: JoinRow, _ context: ObjectContext) {
        changes.append(
            Change(
                kind: .update,
                columns: row._$differences(from: before),
                row: row,
                base: context.base(of: before, entity: entity)
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
    func failures() -> [StrataError.Detail] { [] }
    func forgetFailures(of number: Int64) {}
    func show(_ part: any AnyPart, _ number: Int64, in object: AnyObject) {}

    func refresh(
        _ number: Int64,
        _ object: AnyObject,
        layers: Layers,
        path: [Int],
        committed: (any AnyPart)?,
        connection: Connection
    ) throws {}

    func makeObject(_ number: Int64, _ context: ObjectContext) throws -> (any Model)? { nil }
}

extension Entity {
    /// The row in the store. Complexity: one look-up by key.
    func read(_ number: Int64, on connection: Connection) throws -> Row? {
        let statement = try connection.statement(info.sql.selectByID)
        var row: Row?
        try statement.run([.integer(number)]) { row = try Row(_$from: $0) }
        return row
    }
}
