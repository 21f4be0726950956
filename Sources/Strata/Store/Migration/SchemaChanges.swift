/// The changes that turn a store's tables into those of the models.
struct SchemaChanges {
    /// New tables.
    var created: [TableDescription] = []
    /// Tables that stay, possibly under another name.
    var changed: [TableChange] = []
    /// Tables that are dropped.
    var dropped: [TableDescription] = []
    /// Changes that are not possible, each with what the user must write.
    var refusals: [String] = []

    /// Whether rows are rewritten or deleted.
    var isDestructive: Bool {
        !dropped.isEmpty || changed.contains { $0.isRebuilt || $0.columns.contains(where: \.isRewritten) }
    }
}

/// The changes of one table.
struct TableChange {
    let old: TableDescription
    let new: TableDescription
    /// One change for each column of the new table.
    var columns: [ColumnChange] = []
    /// Columns of the old table that are dropped.
    var dropped: [ColumnDescription] = []
    /// The dropped columns whose values move to the other end of their relationship, with the property there.
    var turned: [String: PropertyPath] = [:]

    /// Whether all rows are copied into a new table. Otherwise, the table is altered in place.
    var isRebuilt: Bool {
        if !dropped.isEmpty || columns.contains(where: \.needsCopy) { return true }
        // If two columns swap names, the first rename would fail, because the name is still in use.
        let before = Set(old.columns.map { $0.name.lowercased() })
        return columns.contains { change in
            change.isRenamed && change.new.name.lowercased() != change.old?.name.lowercased()
                && before.contains(change.new.name.lowercased())
        }
    }

    /// Whether one statement must copy all rows.
    var isFilled: Bool { columns.contains(where: \.isFilled) }

    /// Whether the table's search index, if any, stays unchanged.
    var keepsSearch: Bool { old.name == new.name && !isRebuilt && old.search == new.search }

    /// Whether only the table's indexes change.
    var isEmpty: Bool { old.name == new.name && !isRebuilt && columns.allSatisfy { $0.old != nil && !$0.isRenamed } }
}

/// The source of the values of one column.
struct ColumnChange {
    enum Source {
        /// A column of the old table.
        case same(String)
        /// One value for all rows.
        case value(StoredValue)
        /// A new value for each row, except for rows with a value in the old column `unless`.
        case made(@Sendable () throws -> StoredValue, unless: String?)
        /// An expression over the old row.
        case expression(String)
        /// Bytes for external storage, given by an expression over the old row. Rows with a value in the old column
        /// `number` keep that value.
        case outside(String, number: String?)
    }

    let old: ColumnDescription?
    let new: ColumnDescription
    let source: Source
    /// A condition for old rows whose value would lose information.
    var loses: String?
    /// The model's declaration of the column, if new values must be checked against it.
    var checked: ColumnSchema?
    /// Whether the expression was written by the user, and may therefore read all old rows at once.
    var isFilled = false
    /// Whether the values are calculated after the rows have been written.
    var isCalculated = false

    var isRenamed: Bool { old.map { $0.name != new.name } ?? false }

    /// Whether the change requires copying rows.
    var needsCopy: Bool {
        switch source {
        case .same: old?.isOptional != new.isOptional
        // An existing column keeps its type unless the table is rebuilt.
        case .value(let value): old != nil || !MigrationSQL.isPlain(literal: SQLText.literal(value))
        case .made, .expression, .outside: true
        }
    }

    /// The old column whose stored values stay unchanged; nil if the column is new or its values are recalculated.
    var kept: ColumnDescription? {
        guard let old, old.type == new.type, old.content == new.content, !isFilled, !isCalculated else { return nil }
        return old
    }

    /// Whether the stored values stay unchanged but are read as another Swift type.
    var isOfNewType: Bool {
        guard let old = kept?.valueType, let new = new.valueType else { return false }
        return old != new
    }

    /// The rules that the existing rows may violate.
    var newRules: [String] { new.rules.filter { isFilled || !(old?.rules.contains($0) ?? false) } }

    /// Whether values may be rewritten in place.
    var isRewritten: Bool {
        old != nil
            && (isOfNewType && new.type == .text && new.valueType != "String"
                || newRules.contains(AttributeOption.requiredMessage))
    }

    /// Whether external bytes of old rows move into the new rows.
    var bringsInside: Bool { old?.content == .external && new.content != .external }
}
