public import Foundation

/// What one commit has changed: ids, kinds and columns, no values.
///
/// A commit of Strata's gives one, whichever process it was made by. What was saved from context to context before it, and how
/// often, does not show.
///
/// Isolation: a value, usable anywhere.
public struct ChangeSet: Sendable {
    /// The position behind this commit: what comes `since` it is later.
    public let token: HistoryToken
    /// When it was committed, by the clock of the process that did.
    public let time: Date
    /// Who committed it: ``ObjectContext/author``.
    public let author: String?
    let changes: CommitChanges

    /// What it has changed of one model.
    public func of<Object: Model>(_ model: Object.Type) -> ObjectChanges<Object> {
        let table = Object._$schema.table
        return ObjectChanges(token: token, time: time, author: author, changes.tables[table] ?? TableChanges())
    }

    /// Whether it has changed any object of a model.
    public func contains(_ model: any Model.Type) -> Bool { changes.tables[model._$schema.table] != nil }

    /// The names of the tables in which something was changed, in alphabetical order.
    public var tables: [String] { changes.tables.keys.sorted() }
}

/// What one commit has changed of one model.
///
/// An object is in one of the three lists. A relationship to many belongs to the columns of its owner where it has members of
/// its own (many to many, ordered); else it is the column at its other end that has changed.
public struct ObjectChanges<Object: Model>: Sendable {
    /// The position behind this commit.
    public let token: HistoryToken
    /// When it was committed, by the clock of the process that did.
    public let time: Date
    /// Who committed it: ``ObjectContext/author``.
    public let author: String?
    private let changes: TableChanges

    init(token: HistoryToken, time: Date, author: String?, _ changes: TableChanges) {
        self.token = token
        self.time = time
        self.author = author
        self.changes = changes
    }

    /// Whether nothing of this model has changed.
    public var isEmpty: Bool { changes == TableChanges() }

    /// The objects that were inserted, in the order of their ids. Complexity: O(inserted).
    public var inserted: [ObjectID<Object>] { changes.inserted.map(id) }

    /// The objects that were updated, in the order of their ids. Complexity: O(updated).
    public var updated: [ObjectID<Object>] { updated { _ in true } }

    /// The objects that were deleted, in the order of their ids. Complexity: O(deleted).
    public var deleted: [ObjectID<Object>] { changes.deleted.map(id) }

    /// The objects of which this column was set, in the order of their ids; without those that were inserted.
    public func updated<Value: ColumnValue>(
        _ column: KeyPath<Object.Columns, Column<Object, Value>>
    ) -> [ObjectID<Object>] {
        guard case .column(let node) = Object.columns[keyPath: column].node else { return [] }
        return updated { $0.contains(node.name) }
    }

    /// The names of the columns of an object that were set; none where it was inserted, deleted or not concerned.
    public func updatedColumns(of id: ObjectID<Object>) -> Set<String> {
        guard !changes.inserted.contains(id.number), !changes.deleted.contains(id.number) else { return [] }
        return changes.updated.reduce(into: []) { if $1.value.contains(id.number) { $0.formUnion($1.key) } }
    }

    private func updated(where isWanted: ([String]) -> Bool) -> [ObjectID<Object>] {
        let found = changes.updated.filter { isWanted($0.key) }.values.reduce(NumberRuns()) { $0.union($1) }
        return found.filter { !changes.inserted.contains($0) && !changes.deleted.contains($0) }.map(id)
    }

    private func id(_ number: Int64) -> ObjectID<Object> {
        ObjectID(number: number, fingerprint: token.fingerprint)
    }
}
