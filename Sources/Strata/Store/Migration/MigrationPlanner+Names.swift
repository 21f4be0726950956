extension Schema {
    private func declaration(of table: String) -> ModelSchema? {
        infosByTable[table].flatMap { model($0.index)?._$schema }
    }

    /// The former name of a table's model.
    func original(of table: TableDescription) -> String? { declaration(of: table.name)?.originalName }

    /// The model's declaration of a column.
    func columnSchema(_ column: String, of table: TableDescription) -> ColumnSchema? {
        guard table.ends == nil else { return nil }
        return declaration(of: table.name)?.columns.first { $0.name == column }
    }

    /// The to-one column at the other end of a to-many relationship, if there is one.
    func inverseColumn(of path: PropertyPath) -> PropertyPath? {
        guard let found = infosByTable[path.table]?.relationships.first(where: { $0.name == path.property }),
            case .foreignKey(let column, _) = found.storage
        else { return nil }
        let destination = entities[found.destination].info
        return PropertyPath(table: destination.table, property: destination.columns[column].name)
    }

    /// The property at the other end of a one-to-one relationship that a column of another table stores.
    func oneToOne(from table: String, by column: String, of other: String) -> String? {
        infosByTable[table]?.relationships.first { relationship in
            guard !relationship.isToMany, case .foreignKey(let index, _) = relationship.storage else { return false }
            let info = entities[relationship.destination].info
            return info.table == other && info.columns[index].name == column
        }?.name
    }

    /// The former names of a property.
    func originals(of path: PropertyPath) -> [String] {
        guard let declaration = declaration(of: path.table) else { return [] }
        if let column = declaration.columns.first(where: { $0.name == path.property }) { return column.originalNames }
        return declaration.relationships.first { $0.name == path.property }?.originalName.map { [$0] } ?? []
    }

    /// Whether the two sides of a relationship have swapped: the old near side is the new far side.
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
    /// The former names of the property, the newest first.
    var originalNames: [String] {
        options.compactMap { if case .originalName(let name) = $0.kind { name } else { nil } }
    }
}

extension SchemaDescription {
    /// The name of a table's model, or the table's name if the table is not in the description.
    func model(ofTable name: String) -> String { table(named: name)?.subject ?? name }

    /// The property that a text such as `Article.title` names.
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
    /// Whether both tables store the same kind of data about a relationship: members or places.
    func isLike(_ other: TableDescription) -> Bool {
        if ends?.far.isKnown == false { return true }
        return switch (content, other.content) {
        case (.members, .members), (.places, .places): true
        default: false
        }
    }
}

extension TableDescription {
    /// Whether the table stores only the order of members whose to-one column still exists.
    func isOfPlaces(with column: PropertyPath?, before origins: [String: TableDescription]) -> Bool {
        guard let column, let ends else { return false }
        if ends.far.isKnown { return if case .places = content { true } else { false } }
        return origins[column.table]?.column(named: column.property) != nil
    }
}

extension Migration {
    /// Whether the migration drops a table.
    func drops(_ table: TableDescription) -> Bool { drops.contains(table.subject) || drops.contains(table.name) }

    /// Whether the migration drops a column of a table. The old and the new names of the table count.
    func drops(_ column: ColumnDescription, of old: TableDescription, _ new: TableDescription) -> Bool {
        [old.subject, old.name, new.subject, new.name].contains { drops.contains("\($0).\(column.name)") }
    }
}
