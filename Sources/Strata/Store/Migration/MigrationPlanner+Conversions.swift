extension MigrationPlanner {
    /// The lossless conversion from one kind of column to another; nil if there is none.
    func conversion(
        _ old: ColumnDescription,
        _ new: ColumnDescription,
        of table: TableDescription,
        _ declared: ColumnSchema?
    ) -> ColumnChange? {
        let value = MigrationSQL.copied(old.name, from: table.name)
        var source = ColumnChange.Source.expression(MigrationSQL.cast(value, to: new.type))
        var loses: String?
        switch (old.type, old.content == .unknown ? .plain : old.content, new.type, new.content) {
        case (.integer, .plain, .real, .plain):
            loses = declared?.heldType == Float.self ? MigrationSQL.isBeyondFloat(value) : MigrationSQL.isInexact(value)
        case (.integer, .plain, .text, .plain), (.integer, .plain, .text, .decimal):
            loses = MigrationSQL.isOther(value, than: "integer")
        case (.text, .decimal, .text, .plain): source = .same(old.name)
        case (.text, .plain, .blob, .plain): loses = MigrationSQL.isOther(value, than: "text")
        case (.blob, .plain, .integer, .external): source = .outside(value, number: nil)
        case (.integer, .external, .blob, .plain): source = .expression(MigrationSQL.content(of: value))
        default: return nil
        }
        return ColumnChange(
            old: old,
            new: new,
            source: source,
            loses: loses,
            checked: declared?.accepts == nil ? nil : declared
        )
    }
}

extension ColumnDescription {
    /// The column's type, for messages.
    var kind: String {
        switch content {
        case .plain, .unknown: type.rawValue
        case .decimal: "a Decimal"
        case .external: "Data outside of the row"
        case .reference(let table): "a relationship to \(table)"
        }
    }
}
