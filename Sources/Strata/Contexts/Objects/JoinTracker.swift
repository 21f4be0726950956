/// The unpublished edits of a to-many relationship's members in a context.
final class JoinTracker: AnyTracker {
    let entity: Int
    /// Always empty, because members are not objects.
    var usesAfterDelete: [Int64: UseAfterDelete] = [:]
    private var changes: [Change<JoinRow>] = []

    init(entity: Int) { self.entity = entity }

    var isEmpty: Bool { changes.isEmpty }

    func insert(_ row: JoinRow) { changes.append(.insert(row)) }

    func update(_ before: JoinRow, to row: JoinRow, _ context: ObjectContext) {
        let columns = row._$differences(from: before)
        // A move to the current position changes nothing.
        guard !columns.isEmpty else { return }
        let base = context.base(of: before, entity: entity)
        changes.append(Change(kind: .update, columns: columns, row: row, base: base))
    }

    /// Takes back the removal of a member.
    func undelete(_ before: JoinRow, as row: JoinRow, _ context: ObjectContext) {
        changes.append(
            Change(
                kind: .undelete,
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

    func flush(_ context: ObjectContext) -> (any AnyRowChanges)? {
        guard !changes.isEmpty else { return nil }
        defer { changes.removeAll() }
        return RowChanges(unsorted: changes)
    }

    func discard() { changes.removeAll() }
    func failures(_ context: ObjectContext) -> [StrataError.Detail] { [] }
    func forgetFailures(of ids: Set<Int64>) {}
    func insertAgain(_ number: Int64, _ context: ObjectContext) {}
    func show(_ objects: [(index: Int, object: AnyObject)], of part: any AnyRowChanges) {}

    func refresh(
        _ objects: [(index: Int, object: AnyObject)],
        of part: any AnyRowChanges,
        isCommitted: Bool,
        _ snapshot: ObjectContext.ReadSnapshot,
        _ path: [Int]
    ) -> (any Error)? { nil }

    func refresh(_ models: [any Model], _ snapshot: ObjectContext.ReadSnapshot, _ path: [Int]) -> (any Error)? { nil }

    func makeObject(_ number: Int64, _ context: ObjectContext) throws -> (any Model)? { nil }
    func delete(_ column: Int?, _ values: [Int64], _ context: ObjectContext) throws -> [(number: Int64, value: Int64)] {
        []
    }

    func empty(_ column: Int, _ values: [Int64], _ context: ObjectContext) throws -> [(number: Int64, value: Int64)] {
        []
    }

    func deletedObject(_ number: Int64, _ layers: LayerSnapshot, _ context: ObjectContext) -> (any Model)? { nil }
}
