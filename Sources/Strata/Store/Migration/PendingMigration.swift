/// The changes that a store needs to match the models.
struct PendingMigration {
    /// The store's format, which is the version of Strata's internal tables.
    let format: Int64
    let old: SchemaDescription
    let new: SchemaDescription
    let changes: SchemaChanges
    /// The steps that the store has not seen, in their order.
    let steps: [Migration.Step]
    /// The version that the store records, and the version of the models.
    let versions: (stored: Int64, new: Int64)
    /// Whether the store's recorded description and version are those of the models.
    let isRecorded: Bool

    /// Whether the migration changes tables of models, or may change rows.
    var changesStore: Bool {
        !steps.isEmpty || changes.isDestructive || !changes.created.isEmpty
            || changes.changed.contains {
                !$0.isEmpty || $0.old.uniques != $0.new.uniques || $0.old.indexes != $0.new.indexes
                    || $0.old.search != $0.new.search || $0.columns.contains(where: \.isRewritten)
            }
    }

    var isNothing: Bool { isRecorded && steps.isEmpty && format == StoreFile.formatVersion }

    /// Whether the migration first makes a backup.
    var needsBackup: Bool { changes.isDestructive || hasStepsToRun }

    var hasStepsToRun: Bool { steps.contains { $0.before != nil || $0.after != nil } }

    /// The reasons to refuse the store, with one line for each thing that the user must do first.
    var refusals: [String] { (retired.isEmpty ? [] : [Self.retiredText(retired)]) + changes.refusals }

    /// The retired steps that the store still needs.
    private var retired: [String] { steps.filter(\.isRetired).map(\.name) }

    private static func retiredText(_ names: [String]) -> String {
        "The steps \(names.map { "'\($0)'" }.joined(separator: ", ")) have not run on the store, and are retired in "
            + "this program. Open the store once with a version of the program that still has them."
    }

    /// - Throws: ``StrataError`` with `schemaMismatch`, with one line for each thing that the user must write.
    func check() throws {
        guard retired.isEmpty else {
            throw StrataError(.schemaMismatch, "\(Self.retiredText(retired)) The store was left as it is.")
        }
        guard !changes.refusals.isEmpty else { return }
        throw StrataError(
            .schemaMismatch,
            "The store needs a migration that declares more, and was left as it is. If a newer version of this "
                + "program wrote the store, use that version; otherwise:\n"
                + changes.refusals.map { "  - \($0)" }.joined(separator: "\n")
        )
    }

    /// Throws if a name that the migration would create already belongs to something else in the database.
    func checkNames(_ state: StoreState) throws {
        let own = Set(state.entries.own(old).map(\.name))
        let others = Set(state.entries.map(\.name).filter { !own.contains($0) }.map { $0.lowercased() })
        guard !others.isEmpty,
            let taken = SchemaSQL.names(for: new).first(where: { others.contains($0.lowercased()) })
        else { return }
        throw StoreSchema.nameTaken(taken)
    }
}

extension SchemaChanges {
    /// One line for each change, as a plan shows them.
    var lines: [String] {
        dropped.map { "drop \($0.subject) with its rows" } + changed.flatMap(\.lines)
            + created.map { "create \($0.subject)" }
    }
}

extension TableChange {
    fileprivate var lines: [String] {
        var lines: [String] = []
        if old.subject != new.subject { lines.append("rename \(old.subject) to \(new.subject)") }
        for change in columns where new.ends == nil {
            let name = "\(new.subject).\(change.new.name)"
            guard let old = change.old else {
                lines.append("add \(name) \(change.origin)")
                continue
            }
            if change.isRenamed { lines.append("rename \(new.subject).\(old.name) to \(change.new.name)") }
            if old.isOptional != change.new.isOptional {
                lines.append("make \(name) \(change.new.isOptional ? "optional" : "not optional")")
            }
            if old.type != change.new.type || old.content != change.new.content {
                lines.append("change \(name) from \(old.kind) to \(change.new.kind) \(change.origin)")
            } else if let type = old.valueType, let newType = change.new.valueType, type != newType {
                lines.append("change \(name) from \(type) to \(newType) \(change.origin)")
            }
            for rule in change.newRules { lines.append("check that \(name) \(rule)") }
        }
        lines += dropped.map { column in
            turned[column.name].map { "move \(new.subject).\(column.name) to the other end, \($0)" }
                ?? "drop \(new.subject).\(column.name) with its values"
        }
        for (kind, before, after) in [
            ("unique constraint", old.uniques, new.uniques), ("index", old.indexes, new.indexes),
        ] {
            let before = before.map { $0.map(current) }
            lines += after.filter { !before.contains($0) }.map {
                "add \(kind) on \(new.subject) \($0.text)"
            }
            lines += before.filter { !after.contains($0) }.map {
                "remove \(kind) on \(new.subject) \($0.text)"
            }
        }
        var before = old.search
        if let columns = before?.columns { before?.columns = columns.map(current).sorted() }
        if before != new.search {
            lines.append(
                new.search.map { "make \(new.subject) searchable by \($0.columns.joined(separator: ", "))" }
                    ?? "remove search of \(new.subject)"
            )
        }
        return lines
    }

    /// The current name of an old column.
    private func current(_ column: String) -> String { columns.first { $0.old?.name == column }?.new.name ?? column }
}

extension ColumnChange {
    fileprivate var origin: String {
        switch source {
        case .same: "as it is"
        case .value where isCalculated: "as calculated"
        case .value(let value): "with \(value)"
        case .made: "with a separate value for each object"
        case .expression(let expression): "from \(expression)"
        case .outside: "outside of the row"
        }
    }
}
