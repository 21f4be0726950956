/// What has to be done to tables so that they become those of the models.
struct SchemaChanges {
    /// Tables that are new.
    var created: [TableDescription] = []
    /// Tables that stay, under another name perhaps.
    var changed: [TableChange] = []
    /// Tables that go.
    var dropped: [TableDescription] = []
    /// What cannot be done, each with what the user is to write.
    var refusals: [String] = []

    /// Whether rows are written anew or go.
    var isDestructive: Bool {
        !dropped.isEmpty || changed.contains { $0.isRebuilt || $0.columns.contains(where: \.isRewritten) }
    }
}

/// What becomes of one table.
struct TableChange {
    let old: TableDescription
    let new: TableDescription
    /// One for each column of the new table.
    var columns: [ColumnChange] = []
    /// Columns of the old table that go.
    var dropped: [ColumnDescription] = []
    /// Of those, the ones whose values go to the other end of their relationship, with the property there.
    var turned: [String: PropertyPath] = [:]

    /// Whether all rows are copied into a new table. Otherwise the table is altered where it is.
    var isRebuilt: Bool {
        if !dropped.isEmpty || columns.contains(where: \.needsCopy) { return true }
        // Of two names that change places, the first one would be taken.
        let before = Set(old.columns.map { $0.name.lowercased() })
        return columns.contains { change in
            change.isRenamed && change.new.name.lowercased() != change.old?.name.lowercased()
                && before.contains(change.new.name.lowercased())
        }
    }

    /// Whether all rows have to be copied by one statement.
    var isFilled: Bool { columns.contains(where: \.isFilled) }

    /// Whether the table of its words stays as it is, if it has one.
    var keepsSearch: Bool { old.name == new.name && !isRebuilt && old.search == new.search }

    /// Whether the table stays as it is but for its indexes.
    var isEmpty: Bool { old.name == new.name && !isRebuilt && columns.allSatisfy { $0.old != nil && !$0.isRenamed } }
}

/// Where the values of one column come from.
struct ColumnChange {
    enum Source {
        /// A column of the old table.
        case same(String)
        /// One value for all rows.
        case value(StoredValue)
        /// A value made for each row, but for those that have one in an old column.
        case made(@Sendable () throws -> StoredValue, unless: String?)
        /// An expression over the old row.
        case expression(String)
        /// Bytes that are to be kept outside, an expression over the old row; `number` is an old column whose numbers stay.
        case outside(String, number: String?)
    }

    let old: ColumnDescription?
    let new: ColumnDescription
    let source: Source
    /// A condition for old rows whose value would be lost.
    var loses: String?
    /// What the model says of the column's values, where what comes in has to be held against it.
    var checked: ColumnSchema?
    /// Whether the expression is the user's, which may look at all old rows at once.
    var isFilled = false
    /// Whether the values are calculated once the rows are there.
    var isCalculated = false

    var isRenamed: Bool { old.map { $0.name != new.name } ?? false }

    /// Whether rows have to be copied for it.
    var needsCopy: Bool {
        switch source {
        case .same: old?.isOptional != new.isOptional
        // A column that is there keeps its type unless the table is made anew.
        case .value(let value): old != nil || !MigrationSQL.isPlain(literal: MigrationSQL.literal(value))
        case .made, .expression, .outside: true
        }
    }

    /// The old column whose values stay as they are stored; nil if the column is new or its values are made anew.
    var kept: ColumnDescription? {
        guard let old, old.type == new.type, old.content == new.content, !isFilled, !isCalculated else { return nil }
        return old
    }

    /// Whether values stay as they are stored, and are read as another Swift type.
    var isOfNewType: Bool {
        guard let old = kept?.valueType, let new = new.valueType else { return false }
        return old != new
    }

    /// The rules for values that are not known to hold for the rows.
    var newRules: [String] { new.rules.filter { isFilled || !(old?.rules.contains($0) ?? false) } }

    /// Whether values may be rewritten where they are.
    var isRewritten: Bool {
        old != nil
            && (isOfNewType && new.type == .text && new.valueType != "String"
                || newRules.contains(AttributeOption.requiredMessage))
    }

    /// Whether bytes that lie outside of the old rows come into the new ones.
    var bringsInside: Bool { old?.content == .external && new.content != .external }
}
