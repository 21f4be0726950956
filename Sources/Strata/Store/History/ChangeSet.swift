public import Foundation

/// The changes of one commit: ids, kinds of change and columns, without values.
///
/// Every commit by Strata has one change set, whichever process made it. Earlier saves from context to context, and
/// their number, are not visible.
///
/// Isolation: a value, usable anywhere.
public struct ChangeSet: Sendable {
    /// The position after this commit. Changes `since` this position are later ones.
    public let token: HistoryToken
    /// The time of the commit, by the clock of the committing process.
    public let time: Date
    /// The author of the commit: ``ObjectContext/author``.
    public let author: String?
    let changes: CommitChanges

    /// The commit's changes to the objects of one model.
    public func of<Object: Model>(_ model: Object.Type) -> ObjectChanges<Object> {
        let table = Object._$schema.table
        return ObjectChanges(token: token, time: time, author: author, changes.tables[table] ?? TableChanges())
    }

    /// Whether the commit has changed any object of a model.
    public func contains(_ model: any Model.Type) -> Bool { changes.tables[model._$schema.table] != nil }

    /// The names of the changed tables, in alphabetical order.
    public var tables: [String] { changes.tables.keys.sorted() }
}

/// The changes of one commit to the objects of one model.
///
/// An object is in one of the three lists. A to-many relationship belongs to the columns of its owner if the store has
/// rows for its members (many to many, ordered). Otherwise, the changed column is the one at the relationship's other
/// end.
public struct ObjectChanges<Object: Model>: Sendable {
    /// The position after this commit.
    public let token: HistoryToken
    /// The time of the commit, by the clock of the committing process.
    public let time: Date
    /// The author of the commit: ``ObjectContext/author``.
    public let author: String?
    private let changes: TableChanges

    init(token: HistoryToken, time: Date, author: String?, _ changes: TableChanges) {
        self.token = token
        self.time = time
        self.author = author
        self.changes = changes
    }

    /// Whether the commit has changed nothing of this model.
    public var isEmpty: Bool { changes == TableChanges() }

    /// The objects that were inserted, in the order of their ids. Complexity: O(inserted).
    public var inserted: [ObjectID<Object>] { changes.inserted.map(id) }

    /// The objects that were updated, in the order of their ids. Complexity: O(updated).
    public var updated: [ObjectID<Object>] { updated { _ in true } }

    /// The objects that were deleted, in the order of their ids. Complexity: O(deleted).
    public var deleted: [ObjectID<Object>] { changes.deleted.map(id) }

    /// The objects whose value in this column was set, in the order of their ids, without inserted objects.
    public func updated<Value: ColumnValue>(
        _ column: KeyPath<Object.Columns, Column<Object, Value>>
    ) -> [ObjectID<Object>] {
        guard case .column(let node) = Object.columns[keyPath: column].node else { return [] }
        return updated { $0.contains(node.name) }
    }

    /// The names of the columns of an object that were set; empty if the object was inserted, deleted or not affected.
    public func updatedColumns(of id: ObjectID<Object>) -> Set<String> {
        guard !changes.inserted.contains(id.rawValue), !changes.deleted.contains(id.rawValue) else { return [] }
        return changes.updated.reduce(into: []) { if $1.value.contains(id.rawValue) { $0.formUnion($1.key) } }
    }

    private func updated(where isWanted: ([String]) -> Bool) -> [ObjectID<Object>] {
        let found = changes.updated.filter { isWanted($0.key) }.values.reduce(IDRanges()) { $0.union($1) }
        return found.filter { !changes.inserted.contains($0) && !changes.deleted.contains($0) }.map(id)
    }

    private func id(_ number: Int64) -> ObjectID<Object> {
        ObjectID(rawValue: number, fingerprint: token.fingerprint)
    }
}
