extension Schema {
    private func declaration(of table: String) -> ModelSchema? {
        infosByTable[table].flatMap { model($0.index)?._$schema }
    }

    /// The name that the model of a table had before.
    func original(of table: TableDescription) -> String? { declaration(of: table.name)?.originalName }

    /// What a model says of a column.
    func columnSchema(_ column: String, of table: TableDescription) -> ColumnSchema? {
        guard table.ends == nil else { return nil }
        return declaration(of: table.name)?.columns.first { $0.name == column }
    }

    /// The column at the other end of a relationship to many, where it has one.
    func inverseColumn(of path: PropertyPath) -> PropertyPath? {
        guard let found = infosByTable[path.table]?.relationships.first(where: { $0.name == path.property }),
            case .foreignKey(let column, _) = found.storage
        else { return nil }
        let destination = entities[found.destination].info
        return PropertyPath(table: destination.table, property: destination.columns[column].name)
    }

    /// The property of a table's model that has a one-to-one relationship which a column of another table stores.
    func oneToOne(from table: String, by column: String, of other: String) -> String? {
        infosByTable[table]?.relationships.first { relationship in
            guard !relationship.isToMany, case .foreignKey(let index, _) = relationship.storage else { return false }
            let info = entities[relationship.destination].info
            return info.table == other && info.columns[index].name == column
        }?.name
    }

    /// The names that a property had before.
    func originals(of path: PropertyPath) -> [String] {
        guard let declaration = declaration(of: path.table) else { return [] }
        if let column = declaration.columns.first(where: { $0.name == path.property }) { return column.originalNames }
        return declaration.relationships.first { $0.name == path.property }?.originalName.map { [$0] } ?? []
    }

    /// Whether the old near side of a relationship is the new far one.
    func isSwapped(
        _ old: (near: PropertyPath, far: PropertyPath),
        _ new: (near: PropertyPath, far: PropertyPath),
        successors: [String: String]
    ) -> Bool {
        func isSame(_ path: PropertyPath, _ other: PropertyPath) -> Bool {
            successors[path.table] == other.table
                && (path.property == other.property || originals(of: other).contains(path.property))
        }
        return isSame(old.near, new.far) && isSame(old.far, new.near)
            && !(isSame(old.near, new.near) && isSame(old.far, new.far))
    }
}

extension ColumnSchema {
    /// The names that the property had before, the newest first.
    var originalNames: [String] {
        options.compactMap { if case .originalName(let name) = $0.kind { name } else { nil } }
    }
}

extension SchemaDescription {
    /// The model of a table, or the table's own name.
    func model(ofTable name: String) -> String { table(named: name)?.subject ?? name }

    /// What `Article.title` names.
    func property(named text: String) -> (table: TableDescription, property: String)? {
        for table in tables where table.ends == nil {
            for prefix in [table.subject, table.name] where text.hasBytePrefix(prefix + ".") {
                return (table, text.droppingFirstBytes(prefix.utf8.count + 1))
            }
        }
        return nil
    }
}

extension TableDescription {
    /// Whether both keep the same of a relationship.
    func isLike(_ other: TableDescription) -> Bool {
        if ends?.far.isKnown == false { return true }
        return switch (content, other.content) {
        case (.members, .members), (.places, .places): true
        default: false
        }
    }
}

extension TableDescription {
    /// Whether it keeps nothing but an order of members that have their to-one column as before.
    func isOfPlaces(with column: PropertyPath?, before origins: [String: TableDescription]) -> Bool {
        guard let column, let ends else { return false }
        if ends.far.isKnown { return if case .places = content { true } else { false } }
        return origins[column.table]?.column(named: column.property) != nil
    }
}

extension Migration {
    /// Whether a table is to go.
    func drops(_ table: TableDescription) -> Bool { drops.contains(table.subject) || drops.contains(table.name) }

    /// Whether a column of a table is to go, by the names of the table before and after.
    func drops(_ column: ColumnDescription, of old: TableDescription, _ new: TableDescription) -> Bool {
        [old.subject, old.name, new.subject, new.name].contains { drops.contains("\($0).\(column.name)") }
    }
}
