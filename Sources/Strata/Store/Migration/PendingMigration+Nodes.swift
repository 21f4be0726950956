extension PendingMigration {
    /// Why nodes of a fleet that have the old models open cannot continue after this migration, with one line for each
    /// reason. Empty if they can.
    ///
    /// Such a node leaves out the tables and columns that it does not know. So its commits must be valid for the new
    /// models as well, whatever they insert, change and delete.
    func reasonsToStopNodes(_ schema: Schema) -> [String] {
        var reasons = changes.dropped.map { "\($0.subject) is dropped" }
        if hasStepsToRun { reasons.append("steps may change any row") }
        for change in changes.changed { reasons += change.reasonsToStopNodes(old, schema) }
        for table in changes.created {
            for column in table.columns { reasons += column.reasonsOfReference(of: table, in: old) }
        }
        return reasons
    }

    /// Whether the changes concern only the definitions in the file, such as indexes, so that each working copy can make
    /// them by itself: no values are added, changed or removed.
    func concernsNoRows(_ schema: Schema) -> Bool {
        changes.created.isEmpty && changes.changed.allSatisfy(\.isEmpty) && reasonsToStopNodes(schema).isEmpty
    }
}

extension TableChange {
    fileprivate func reasonsToStopNodes(_ description: SchemaDescription, _ schema: Schema) -> [String] {
        let subject = new.subject
        var reasons: [String] = []
        if old.name != new.name || old.content != new.content { reasons.append("\(old.subject) has another name") }
        if old.uniques != new.uniques { reasons.append("\(subject) has other unique constraints") }
        reasons += dropped.map { "\(subject).\($0.name) is dropped" }
        for column in columns { reasons += column.reasonsToStopNodes(in: new, description) }
        let isExtended = columns.contains { $0.old == nil }
        let info = schema.entities.first { $0.info.table == new.name }?.info
        for reference in info?.outgoing ?? [] where reference.deleteRule == .cascade {
            guard let name = info?.columns[reference.column].name,
                columns.contains(where: { $0.old == nil && $0.new.name == name })
            else { continue }
            reasons.append("older programs delete objects of \(subject) without the rule of \(subject).\(name)")
        }
        if isExtended, info?.derived.isEmpty == false {
            reasons.append("\(subject) has derived attributes, which are calculated anew with its new attributes")
        }
        if reasons.isEmpty, isRebuilt { reasons.append("all rows of \(subject) are copied") }
        return reasons
    }
}

extension ColumnChange {
    fileprivate func reasonsToStopNodes(in table: TableDescription, _ description: SchemaDescription) -> [String] {
        let name = "\(table.subject).\(new.name)"
        if let old { return old == new ? [] : ["\(name) has another declaration"] }
        if isCalculated { return ["\(name) is derived, and older programs do not calculate it"] }
        if new.content == .external { return ["older programs do not delete the external bytes of \(name)"] }
        if !new.rules.isEmpty { return ["\(name) has rules, which older programs do not check"] }
        let references = new.reasonsOfReference(of: table, in: description)
        if !references.isEmpty { return references }
        guard case .value(let value) = source, !needsCopy else { return ["\(name) has another value for each object"] }
        // SQLite does not read every decimal number as the nearest one.
        if case .real(let number) = value, number != number.rounded() || abs(number) >= 1e15 {
            return ["the default value of \(name) is not a whole number"]
        }
        return []
    }
}

extension ColumnDescription {
    /// A reference to objects that older programs can delete, without knowing of the reference.
    fileprivate func reasonsOfReference(of table: TableDescription, in old: SchemaDescription) -> [String] {
        guard let target = referencedTable, old.table(named: target) != nil else { return [] }
        return [
            "\(table.subject).\(name) refers to \(target), and older programs delete such objects without its rules"
        ]
    }
}
