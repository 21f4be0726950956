/// Determines the changes that turn a store's tables into the tables of the models.
///
/// A model or column that still exists under its name keeps its data. For the remaining new models and columns, the
/// planner looks for their original names. A model's original name takes precedence over an equal table name.
struct MigrationPlanner {
    let old: SchemaDescription
    let new: SchemaDescription
    let schema: Schema
    let migration: Migration
    var changes = SchemaChanges()
    /// The old table of each new table, and the new table's name for each old table.
    private(set) var origins: [String: TableDescription] = [:]
    private(set) var successors: [String: String] = [:]

    /// - Throws: ``StrataError`` with `invalidSchema` if the migration names something that does not exist.
    init(from old: SchemaDescription, to schema: Schema, _ migration: Migration) throws {
        self.old = old
        self.schema = schema
        self.migration = migration
        new = schema.description
        try checkDeclarations()
        matchModels()
        matchRelationships()
        for table in new.tables {
            if let origin = origins[table.name] {
                changes.changed.append(change(origin, table))
            } else {
                changes.created.append(table)
            }
        }
        for table in old.tables where successors[table.name] == nil { drop(table) }
    }

    private func checkDeclarations() throws {
        for name in migration.fills.keys {
            guard let (table, property) = new.property(named: name), table.column(named: property) != nil else {
                throw StrataError(
                    .invalidSchema,
                    "The migration fills '\(name)', which is not a column of a model. Write the name as in "
                        + "\"Article.title\"."
                )
            }
        }
    }

    // MARK: Tables

    private mutating func matchModels() {
        let models = new.tables.filter { $0.ends == nil }
        match(models) { $0.content == $1.content && $0.name == $1.name }
        match(models) { $0.content == $1.content }
        match(models) { [schema] old, new in schema.original(of: new).map { old.content == .model($0) } ?? false }
        match(models) { $0.name == $1.name }
        match(models) { [schema] old, new in schema.original(of: new) == old.name }
        match(models) { $0.name.lowercased() == $1.name.lowercased() }
    }

    private mutating func matchRelationships() {
        let (successors, schema) = (successors, schema)
        /// Whether an old side of a relationship continues as the new side.
        func isSame(_ path: PropertyPath, _ other: PropertyPath, renamed: Bool) -> Bool {
            if !path.isKnown { return true }
            guard successors[path.table] == other.table else { return false }
            if path.property == other.property { return true }
            return renamed && schema.originals(of: other).contains(path.property)
        }
        let joins = new.tables.filter { $0.ends != nil }
        for renamed in [false, true] {
            match(joins) { old, new in
                guard let (near, far) = old.ends, let (newNear, newFar) = new.ends, old.isLike(new) else {
                    return false
                }
                return isSame(near, newNear, renamed: renamed) && isSame(far, newFar, renamed: true)
            }
            match(joins) { old, new in
                guard let (near, far) = old.ends, let (newNear, newFar) = new.ends, old.isLike(new),
                    case .members = old.content
                else { return false }
                // The inverse is now named on the other side.
                return isSame(near, newFar, renamed: renamed) && isSame(far, newNear, renamed: true)
            }
        }
    }

    /// Finds an old table for each of the new tables that does not have one yet.
    private mutating func match(
        _ tables: [TableDescription],
        _ isSame: (_ old: TableDescription, _ new: TableDescription) -> Bool
    ) {
        for table in tables where origins[table.name] == nil {
            let found = old.tables.first {
                ($0.ends == nil) == (table.ends == nil) && successors[$0.name] == nil && isSame($0, table)
            }
            guard let found else { continue }
            origins[table.name] = found
            successors[found.name] = table.name
        }
    }

    /// Drops a table that no model uses.
    private mutating func drop(_ table: TableDescription) {
        changes.dropped.append(table)
        guard let (near, far) = table.ends else {
            guard !migration.drops(table) else { return }
            changes.refusals.append(
                "\(table.subject) is in the store and not in the models. To delete its objects, write "
                    + ".dropping(\"\(table.subject)\"); to keep them in another model, write @Model(originalName: "
                    + "\"\(table.subject)\") at that model."
            )
            return
        }
        // If a model at either end is dropped, the members may be dropped too. Places may be dropped if the
        // relationship stays but is no longer ordered.
        if [near, far].contains(where: { $0.isKnown && successors[$0.table] == nil }) { return }
        let path = PropertyPath(table: successors[near.table] ?? near.table, property: near.property)
        if table.isOfPlaces(with: schema.inverseColumn(of: path), before: origins) { return }
        let names = [near.table, path.table, old.model(ofTable: near.table), new.model(ofTable: path.table)]
        guard !names.contains(where: { migration.drops.contains("\($0).\(near.property)") }) else { return }
        changes.refusals.append(
            "The members of the relationship \(near) are in the store and not in the models. To delete them, write "
                + ".dropping(\"\(near)\"); to keep them in another relationship, write @Relationship(originalName: "
                + "\"\(near.property)\") at that relationship."
        )
    }
}
