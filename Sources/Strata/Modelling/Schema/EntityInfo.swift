/// The engine's description of one table: the table of a model, or of the members of a to-many relationship.
///
/// A class, because every step of every commit passes it on.
final class EntityInfo: Sendable {
    /// The position in the schema; layers use it as the key of an entity's changes.
    let index: Int
    let name: String
    /// The name of the model in stores of earlier versions.
    let originalName: String?
    let table: String
    let columns: [ColumnSchema]
    /// The storage of each of the model's relationships without a column, in their order.
    let relationships: [ResolvedRelationship]
    /// Sets of columns whose combined values must be unique.
    let uniques: [[Int]]
    /// The unique sets that identify an inserted object as a new version of an existing object, which it then updates.
    let updating: [[Int]]
    /// The columns that belong to any unique constraint.
    let uniqueColumns: ColumnSet
    /// The indexes that enforce these constraints.
    let uniqueIndexes: [ColumnIndex<Int>]
    /// The other indexes, which only queries use.
    let indexes: [ColumnIndex<Int>]
    /// To-one columns of any entity that refer to this one, and the effect on their rows when an object of this entity
    /// is deleted.
    let incoming: [IncomingReference]
    /// To-one columns that refer to each destination from at most one object.
    let oneToOne: ColumnSet
    /// To-one columns of this entity, and the effect on their destinations when an object of this entity is deleted.
    let outgoing: [OutgoingReference]
    /// Whether the delete of an object may affect other objects, or members of relationships.
    let hasDeleteRules: Bool
    let createdAt: Int?
    let updatedAt: Int?
    /// Whether rows have timestamps.
    var isStamped: Bool { createdAt != nil || updatedAt != nil }
    /// The columns that are calculated from others. Rows calculate them at each read, so a row merged from two writers
    /// has consistent values. Every update of other columns writes them too.
    let derived: ColumnSet
    /// The columns that engines set in committed rows.
    let bookkeeping: ColumnSet
    /// The column with the number of the commit that inserted the row.
    let commitNumber: Int?
    /// The columns that are set automatically: timestamps, derived columns and bookkeeping columns of engines. When two
    /// writers set them, each writer sets its own value, and the values never conflict.
    let automatic: ColumnSet
    /// Columns with rules that are checked before a row is written.
    let checked: [Int]
    /// Number columns without rules. They still need a check, because SQLite cannot store NaN.
    let numbers: [Int]
    /// Columns whose bytes are stored outside of the row.
    let externals: ColumnSet
    /// The full-text index; nil if the model has no searchable attributes.
    let search: SearchIndex?
    /// Whether this is the table of a to-many relationship's members.
    let isJoin: Bool
    /// Whether a store's record describes the model, and the program does not have its class.
    let isRecorded: Bool
    let hooks: ModelHooks

    /// The SQL statements that are used often.
    let sql: EntitySQL

    init(_ draft: EntityDraft) {
        index = draft.index
        name = draft.name
        originalName = draft.originalName
        table = draft.table
        columns = draft.columns
        relationships = draft.relationships
        uniqueIndexes = draft.uniques
        uniques = draft.uniques.map(\.columns)
        uniqueColumns = uniques.joined().reduce(into: ColumnSet()) { $0.insert($1) }
        updating = draft.updating
        indexes = draft.indexes
        incoming = draft.incoming
        oneToOne = draft.oneToOne
        outgoing = draft.outgoing
        hasDeleteRules =
            !draft.incoming.isEmpty || draft.relationships.contains { $0.deleteRule == .cascade }
            || draft.outgoing.contains { $0.deleteRule == .cascade }
        createdAt = draft.createdAt
        updatedAt = draft.updatedAt
        derived = draft.derived
        bookkeeping = draft.bookkeeping
        commitNumber = draft.commitNumber
        automatic = [draft.createdAt, draft.updatedAt].reduce(into: draft.derived.union(draft.bookkeeping)) {
            if let column = $1 { $0.insert(column) }
        }
        checked = draft.checked
        numbers = draft.numbers
        externals = draft.externals
        search = draft.search
        isJoin = draft.isJoin
        isRecorded = draft.isRecorded
        hooks = draft.hooks
        sql = EntitySQL(table: draft.table, columns: draft.columns)
    }

    /// Whether ``RowCheck`` may refuse a value that SQLite has stored in one of these columns. SQLite never stores a
    /// number of type `Double` or `Date` as NaN.
    func hasRules(for columns: ColumnSet) -> Bool {
        checked.contains { columns.contains($0) }
            || numbers.contains { columns.contains($0) && self.columns[$0].accepts != nil }
    }
}

/// An ``EntityInfo`` while the relationships of the models are being resolved.
struct EntityDraft {
    let index: Int
    let name: String
    let table: String
    let columns: [ColumnSchema]
    var originalName: String?
    var relationships: [ResolvedRelationship] = []
    var uniques: [ColumnIndex<Int>] = []
    var updating: [[Int]] = []
    var indexes: [ColumnIndex<Int>] = []
    var incoming: [IncomingReference] = []
    var oneToOne = ColumnSet()
    var outgoing: [OutgoingReference] = []
    var createdAt: Int?
    var updatedAt: Int?
    var checked: [Int] = []
    var numbers: [Int] = []
    var externals = ColumnSet()
    var derived = ColumnSet()
    var bookkeeping = ColumnSet()
    var commitNumber: Int?
    var search: SearchIndex?
    var isJoin = false
    var isRecorded = false
    var hooks = ModelHooks()

    func column(named name: String) -> Int? { columns.firstIndex { $0.name == name } }
}

/// A to-one column that refers to an entity.
struct IncomingReference: Sendable {
    let entity: Int
    let column: Int
    let deleteRule: DeleteRule
    /// The relationship of the deleted object, for messages.
    let relationship: String
}

/// A to-one column that belongs to an entity.
struct OutgoingReference: Sendable {
    let column: Int
    let destination: Int
    let deleteRule: DeleteRule
}

/// The storage of a relationship that has no column in its own table.
struct ResolvedRelationship: Sendable {
    enum Storage: Sendable {
        /// A to-one column at the other end; `order` is the entity that stores the places of ordered members.
        case foreignKey(column: Int, order: Int?)
        /// A table of members: `own` is the column of this side, `other` the column of the members, `place` the column
        /// of their order.
        case join(entity: Int, own: Int, other: Int, place: Int?)
    }

    let name: String
    let isToMany: Bool
    let destination: Int
    let deleteRule: DeleteRule
    let storage: Storage
    /// The name of the property in stores of earlier versions.
    let originalName: String?
}
