/// What the engine knows of one table: a model's, or that of the members of a to-many relationship.
///
/// A class, since it is handed around by every step of every commit.
final class EntityInfo: Sendable {
    /// The place in the schema; layers keep parts by it.
    let index: Int
    let name: String
    let table: String
    let columns: [ColumnSchema]
    /// For each of the model's relationships without a column, in their order, how it is kept.
    let relationships: [ResolvedRelationship]
    /// Columns whose values, together, must be unique.
    let uniques: [[Int]]
    /// Those of them by which an inserted object is told to be another one, which it updates.
    let updating: [[Int]]
    /// The columns that belong to any unique constraint.
    let uniqueColumns: ColumnSet
    /// The indexes that keep those unique.
    let uniqueIndexes: [ColumnIndex<Int>]
    /// Those that queries use, beyond the unique ones.
    let indexes: [ColumnIndex<Int>]
    /// To-one columns of whichever entity that lead here, and what becomes of their rows when one of these is deleted.
    let incoming: [IncomingReference]
    /// To-one columns of which one object at the most leads to each destination.
    let oneToOne: ColumnSet
    /// To-one columns of this entity, and what becomes of their destinations when one of these is deleted.
    let outgoing: [OutgoingReference]
    let createdAt: Int?
    let updatedAt: Int?
    /// Whether rows have timestamps.
    var isStamped: Bool { createdAt != nil || updatedAt != nil }
    /// The columns that are calculated from others. Rows calculate them whenever they are asked, so that a row merged from
    /// two writers has its own; every update of other columns writes them too.
    let derived: ColumnSet
    /// The columns that engines set in committed rows.
    let bookkeeping: ColumnSet
    /// The column that holds the number of the commit that has inserted the row.
    let commitNumber: Int?
    /// The columns that are set by themselves: timestamps, those that are derived and those that engines keep. Two writers have
    /// each set them, and never contradict each other in them.
    let automatic: ColumnSet
    /// Columns with rules that are checked before a row is written.
    let checked: [Int]
    /// Columns of numbers without rules, of which SQLite cannot keep every value.
    let numbers: [Int]
    /// Columns whose bytes are kept outside of the row.
    let externals: ColumnSet
    /// What is searched for words; nil where nothing is.
    let search: SearchIndex?
    /// Whether this is the table of a to-many relationship's members.
    let isJoin: Bool
    let hooks: ModelHooks

    /// Texts of SQL that are used often.
    let sql: EntitySQL

    init(_ draft: EntityDraft) {
        index = draft.index
        name = draft.name
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
        hooks = draft.hooks
        sql = EntitySQL(table: draft.table, columns: draft.columns)
    }
}

/// An ``EntityInfo`` while the relationships of the models are being resolved.
struct EntityDraft {
    let index: Int
    let name: String
    let table: String
    let columns: [ColumnSchema]
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
    var hooks = ModelHooks()

    func column(named name: String) -> Int? { columns.firstIndex { $0.name == name } }
}

/// A to-one column that leads to an entity.
struct IncomingReference: Sendable {
    let entity: Int
    let column: Int
    let deleteRule: DeleteRule
    /// The relationship of the deleted object, for messages.
    let relationship: String
}

/// A to-one column that leads from an entity.
struct OutgoingReference: Sendable {
    let column: Int
    let destination: Int
    let deleteRule: DeleteRule
}

/// How a relationship without a column of its own is kept.
struct ResolvedRelationship: Sendable {
    enum Storage: Sendable {
        /// In a to-one column at the other end; `order` is the entity that keeps the places of ordered members.
        case foreignKey(column: Int, order: Int?)
        /// In a table of members, of which `own` is this side's column, `other` the members', `place` their order.
        case join(entity: Int, own: Int, other: Int, place: Int?)
    }

    let name: String
    let isToMany: Bool
    let destination: Int
    let deleteRule: DeleteRule
    let storage: Storage
}
