/// The refusal of a store that differs from the opened models, by a stack that does not migrate the store.
///
/// Without a version or steps, nothing tells whether the store or the program is newer, so the advice covers both.
extension StoreSchema {
    static let earlierFormat = "Strata's own tables have an earlier format"

    static func notRun(_ step: String) -> String { "the step '\(step)' has not run" }

    /// Throws unless a store can be read without a change. The order of declarations may differ.
    ///
    /// - Throws: ``StrataError`` with `notAStore`, or with `schemaMismatch` and one line for each difference.
    static func requireReadable(_ condition: Condition) throws {
        switch condition {
        case .ready: return
        case .empty:
            throw StrataError(
                .notAStore,
                "The database does not contain a store, and a read-only stack does not create one. Open it without "
                    + "`isReadOnly` first."
            )
        case .outdated(let pending):
            guard pending.format >= StoreFile.formatVersion else {
                throw readOnlyMismatch([earlierFormat], .isEarlier)
            }
            let earlier = pending.signsOfEarlierVersion
            let unopened = pending.new.missingModels(of: pending.old).map { "\($0) is only in the store" }
            let others = pending.new.differences(fromPartOf: pending.old)
            let differences = earlier + unopened + others
            guard !differences.isEmpty else { return }
            let cause: Cause =
                if !earlier.isEmpty {
                    .isEarlier
                } else if others.isEmpty, !pending.refusals.isEmpty {
                    .hasOtherModels
                } else {
                    // Without refusals, the migration of the program drops the other models.
                    .isUnknown
                }
            throw readOnlyMismatch(differences, cause)
        }
    }

    /// The relation of a store to the opened models.
    private enum Cause {
        /// An earlier version of the program has written the store.
        case isEarlier
        /// The store has all opened models, and others.
        case hasOtherModels
        case isUnknown
    }

    private static func readOnlyMismatch(_ differences: [String], _ cause: Cause) -> StrataError {
        let text =
            switch cause {
            case .isEarlier:
                "An earlier version of this program has written the store, and a read-only stack does not migrate it. "
                    + "Open it once without `isReadOnly`:"
            case .hasOtherModels:
                "The store has models that are not among the opened ones. Open it with these models too, or set "
                    + "`allowsUnopenedModels`:"
            case .isUnknown:
                "The opened models differ from the store, and a read-only stack does not migrate it. If an earlier "
                    + "version of this program has written the store, open it once without `isReadOnly`. Otherwise, "
                    + "open it with the models of the program that has written it:"
            }
        return mismatch(text, differences)
    }

    /// The refusal by a stack with ``StoreConfiguration/allowsUnopenedModels``.
    static func partMismatch(_ differences: [String], isEarlier: Bool) -> StrataError {
        mismatch(
            isEarlier
                ? "An earlier version of this program has written the store, and a stack with `allowsUnopenedModels` "
                    + "does not migrate it. Open it once with all models:"
                : "The opened models differ from the store, and a stack with `allowsUnopenedModels` does not migrate "
                    + "it. If an earlier version of this program has written the store, open it once with all models. "
                    + "Otherwise, open it with the models of the program that has written it:",
            differences
        )
    }

    private static func mismatch(_ text: String, _ differences: [String]) -> StrataError {
        StrataError(.schemaMismatch, ([text] + differences.map { "  - \($0)" }).joined(separator: "\n"))
    }
}

extension PendingMigration {
    /// The differences that prove that an earlier version of the program has written the store.
    fileprivate var signsOfEarlierVersion: [String] {
        let isEarlier = versions.stored < versions.new
        let version = "its models have version \(versions.stored), and the opened ones have \(versions.new)"
        return (isEarlier ? [version] : []) + steps.map { StoreSchema.notRun($0.name) }
    }
}

extension SchemaDescription {
    /// The names of the models that only a store has.
    fileprivate func missingModels(of stored: SchemaDescription) -> [String] {
        stored.tables.filter { $0.ends == nil && table(named: $0.name) == nil }.map(\.subject)
    }

    /// One line for each difference between these models and the same models of a store, whatever the order of the
    /// declarations.
    ///
    /// A relationship between two of these models that only the store has is a difference.
    func differences(fromPartOf stored: SchemaDescription) -> [String] {
        var lines: [String] = []
        for table in tables {
            guard let old = stored.table(named: table.name) else {
                lines.append("\(table.subject) is not in the store")
                continue
            }
            if table != old { lines += table.differences(from: old) }
        }
        for old in stored.tables where table(named: old.name) == nil {
            guard let (near, far) = old.ends, table(named: near.table) != nil, table(named: far.table) != nil else {
                continue
            }
            lines.append("\(old.subject) is only in the store")
        }
        return lines
    }
}

extension TableDescription {
    fileprivate func differences(from old: TableDescription) -> [String] {
        guard content == old.content else { return ["the table '\(name)' belongs to \(old.subject) in the store"] }
        var lines: [String] = []
        for column in columns {
            guard let stored = old.column(named: column.name) else {
                lines.append("\(subject).\(column.name) is not in the store")
                continue
            }
            if stored != column { lines.append("\(subject).\(column.name) has another declaration in the store") }
        }
        for stored in old.columns where column(named: stored.name) == nil {
            lines.append("\(subject).\(stored.name) is only in the store")
        }
        if uniques != old.uniques || indexes != old.indexes {
            lines.append("\(subject) has other indexes or unique constraints in the store")
        }
        if search != old.search { lines.append("\(subject) is searched in another way in the store") }
        return lines
    }
}
