import Foundation

extension MigrationPlanner {
    /// The changes of a table and each of its columns.
    mutating func change(_ old: TableDescription, _ new: TableDescription) -> TableChange {
        var change = TableChange(old: old, new: new)
        let origins = origins(of: new, in: old)
        var kept: Set<String> = []
        for column in new.columns {
            var origin = origins[column.name].flatMap { old.column(named: $0) }
            if let found = origin, new.ends == nil, isAnother(found, column), migration.drops(found, of: old, new) {
                origin = nil
            }
            if let origin { kept.insert(origin.name) }
            change.columns.append(source(of: column, in: new, from: origin, of: old))
        }
        for column in old.columns where !kept.contains(column.name) {
            change.dropped.append(column)
            if let path = turnedProperty(of: column, old) {
                change.turned[column.name] = path
                continue
            }
            guard !migration.drops(column, of: old, new) else { continue }
            changes.refusals.append(
                "\(new.subject).\(column.name) is in the store and no longer in the model. To delete its values, "
                    + "write .dropping(\"\(new.subject).\(column.name)\"); to keep them in another property, write "
                    + "@Attribute(originalName: \"\(column.name)\") at that property."
            )
        }
        return change
    }

    /// The name of the old column for each new column that continues one.
    private func origins(of new: TableDescription, in old: TableDescription) -> [String: String] {
        var result: [String: String] = [:]
        var free = old.columns.map(\.name)
        func take(_ isSame: (_ column: ColumnDescription, _ old: String) -> Bool) {
            for column in new.columns where result[column.name] == nil {
                guard let index = free.firstIndex(where: { isSame(column, $0) }) else { continue }
                result[column.name] = free.remove(at: index)
            }
        }
        if let ends = old.ends, let newEnds = new.ends {
            // If the inverse is now named on the other side, the relationship's columns are swapped.
            guard ends.far.isKnown, schema.isSwapped(ends, newEnds, successors: successors) else {
                return Dictionary(uniqueKeysWithValues: free.map { ($0, $0) })
            }
            return ["left": "right", "right": "left", "left_place": "right_place", "right_place": "left_place"]
        }
        take { $0.name == $1 }
        take { $0.name.lowercased() == $1.lowercased() }
        for column in new.columns {
            for original in schema.columnSchema(column.name, of: new)?.originalNames ?? [] {
                take { $0 == column && $1 == original }
            }
        }
        return result
    }

    // MARK: One-to-one relationships that are now stored at their other end

    /// The old column at the other end of the relationship from which a new column takes its values.
    private func turnedOrigin(
        of new: ColumnDescription,
        _ table: TableDescription
    ) -> (table: TableDescription, column: ColumnDescription)? {
        guard case .reference(let target) = new.content, let other = origins[target],
            let derived = schema.oneToOne(from: target, by: new.name, of: table.name)
        else { return nil }
        let names = [derived] + schema.originals(of: PropertyPath(table: target, property: derived))
        let column = other.columns.first { column in
            guard case .reference(let back) = column.content, successors[back] == table.name else { return false }
            // Without a unique constraint, several objects could refer to one destination, and some of these references
            // would be lost.
            return names.contains(column.name) && other.uniques.contains { $0.columns == [column.name] }
        }
        return column.map { (other, $0) }
    }

    /// The new property at the other end of the relationship that takes the values of an old column.
    private func turnedProperty(of column: ColumnDescription, _ old: TableDescription) -> PropertyPath? {
        guard case .reference(let target) = column.content, let successor = successors[target],
            let table = new.table(named: successor)
        else { return nil }
        let taker = table.columns.first { new in
            guard let found = turnedOrigin(of: new, table), let before = self.old.table(named: target),
                origins(of: table, in: before)[new.name] == nil
            else { return false }
            return found.table.name == old.name && found.column.name == column.name
        }
        return taker.map { PropertyPath(table: table.subject, property: $0.name) }
    }

    /// Whether values of the old column are not valid for the new one without a conversion.
    private func isAnother(_ old: ColumnDescription, _ new: ColumnDescription) -> Bool {
        if case .unknown = old.content { return old.type != new.type || new.content == .external }
        if case .reference(let target) = old.content, case .reference(let other) = new.content {
            return successors[target] != other
        }
        return old.type != new.type || old.content != new.content
    }

    private mutating func source(
        of new: ColumnDescription,
        in table: TableDescription,
        from origin: ColumnDescription?,
        of oldTable: TableDescription
    ) -> ColumnChange {
        let name = "\(table.subject).\(new.name)"
        let declared = schema.columnSchema(new.name, of: table)
        let fill = migration.fills[name] ?? migration.fills["\(table.name).\(new.name)"]
        func filled(_ expression: String) -> ColumnChange {
            ColumnChange(
                old: origin,
                new: new,
                source: new.content == .external ? .outside(expression, number: nil) : .expression(expression),
                checked: new.content == .external ? nil : declared,
                isFilled: true
            )
        }
        if let declared, declared.isDerived,
            origin.map({ isAnother($0, new) || $0.isOptional && !new.isOptional }) ?? true
        {
            // Derived columns are recalculated after all rows have been written.
            let nothing = new.isOptional ? .null : new.type.placeholder
            return ColumnChange(old: origin, new: new, source: .value(nothing), isCalculated: true)
        }
        guard let origin else {
            if let fill { return filled(fill) }
            if let (other, column) = turnedOrigin(of: new, table) {
                let expression = MigrationSQL.referring(other.name, column.name, to: oldTable.name)
                return ColumnChange(old: nil, new: new, source: .expression(expression))
            }
            return added(new, name, declared)
        }
        guard table.ends != nil || !isAnother(origin, new) else {
            if let fill { return filled(fill) }
            if let converted = conversion(origin, new, of: oldTable, declared) {
                return origin.isOptional && !new.isOptional
                    ? required(converted, name, declared, of: oldTable) : converted
            }
            changes.refusals.append(
                "\(name) was \(origin.kind) and is \(new.kind), which Strata does not convert automatically. Write "
                    + ".filling(\"\(name)\", with: \"…\") with an SQL expression over the old row, or write "
                    + ".dropping(\"\(name)\") to delete the values."
            )
            return ColumnChange(old: origin, new: new, source: .same(origin.name))
        }
        let same = ColumnChange(old: origin, new: new, source: .same(origin.name))
        let takesFill = origin.isOptional && !new.isOptional || same.isOfNewType || !same.newRules.isEmpty
        if takesFill, let fill { return filled(fill) }
        return origin.isOptional && !new.isOptional ? required(same, name, declared, of: oldTable) : same
    }

    /// A column without an old counterpart.
    private mutating func added(_ new: ColumnDescription, _ name: String, _ declared: ColumnSchema?) -> ColumnChange {
        let value = makeDefault(name, declared)
        if value == nil && !new.isOptional {
            changes.refusals.append(
                "\(name) is new and not optional. Give it a default value, make it optional, or write "
                    + ".filling(\"\(name)\", with: \"…\") with an SQL expression over the old row."
            )
        }
        guard let value else { return ColumnChange(old: nil, new: new, source: .value(.null)) }
        guard new.content == .external, case .value(let content) = value, content != .null else {
            return ColumnChange(old: nil, new: new, source: value)
        }
        return ColumnChange(old: nil, new: new, source: .outside(SQLText.literal(content), number: nil))
    }

    /// The default value that the model declares. If the default differs each time, a function that creates a value for
    /// each row.
    private mutating func makeDefault(_ name: String, _ declared: ColumnSchema?) -> ColumnChange.Source? {
        guard let make = declared?.defaultValue else { return nil }
        do {
            let value = try make()
            let again = value == .null ? value : try make()
            guard again == value else { return .made(make, unless: nil) }
            return .value(value)
        } catch {
            changes.refusals.append("The default value of \(name) cannot be stored: \(error).")
            return nil
        }
    }

    /// The same change for a column that was optional and is now required.
    private mutating func required(
        _ change: ColumnChange,
        _ name: String,
        _ declared: ColumnSchema?,
        of table: TableDescription
    ) -> ColumnChange {
        let value = makeDefault(name, declared)
        if case .made(let make, _) = value, case .same(let column) = change.source {
            return ColumnChange(old: change.old, new: change.new, source: .made(make, unless: column))
        }
        guard case .value(let value) = value, value != .null else {
            changes.refusals.append(
                "\(name) was optional and is not any more. Give it a default value for rows without a value, or write "
                    + ".filling(\"\(name)\", with: \"…\") with an SQL expression over the old row."
            )
            return change
        }
        let literal = SQLText.literal(value)
        let source: ColumnChange.Source =
            switch change.source {
            case .same(let column) where change.new.content == .external:
                .outside(literal, number: column)
            case .same(let column):
                .expression(
                    MigrationSQL.filled(MigrationSQL.copied(column, from: table.name), or: literal)
                )
            case .expression(let expression): .expression(MigrationSQL.filled(expression, or: literal))
            case .outside(let content, let number):
                .outside(MigrationSQL.filled(content, or: literal), number: number)
            case .value, .made: change.source
            }
        return ColumnChange(
            old: change.old,
            new: change.new,
            source: source,
            loses: change.loses,
            checked: change.checked
        )
    }
}

extension ColumnType {
    /// A temporary value for a column of this type.
    fileprivate var placeholder: StoredValue {
        switch self {
        case .integer: .integer(0)
        case .real: .real(0)
        case .text: .text("")
        case .blob: .blob(Data())
        }
    }
}
