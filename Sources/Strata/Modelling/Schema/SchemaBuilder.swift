/// Resolves the relationships of models: a model only names the other end, and the builder knows both ends.
struct SchemaBuilder {
    private let models: [any Model.Type]
    private let schemas: [ModelSchema]
    var infos: [EntityDraft] = []

    init(_ models: [any Model.Type]) throws {
        self.models = models
        schemas = models.map { $0._$schema }
        var tables: [String: Int] = [:]
        var names: Set<String> = []
        for (index, schema) in schemas.enumerated() {
            if let other = tables.updateValue(index, forKey: schema.table.lowercased()) {
                throw StrataError(
                    .invalidSchema,
                    models[other] == models[index]
                        ? "\(schema.name) is listed twice among the models. List each model once."
                        : "\(schemas[other].name) and \(schema.name) have the same table, '\(schema.table)'. Name "
                            + "another table with @Model(table:)."
                )
            }
            guard names.insert(schema.name).inserted else {
                throw StrataError(
                    .invalidSchema,
                    "Two models have the name '\(schema.name)', and ids and exports identify models by name. Rename "
                        + "one of the classes."
                )
            }
            guard schema.columns.count <= ColumnSet.limit else {
                throw StrataError(
                    .invalidSchema,
                    "\(schema.name) has more than \(ColumnSet.limit) columns. Split it into two models."
                )
            }
            infos.append(try Self.makeInfo(index, schema))
        }
    }

    private static func makeInfo(_ index: Int, _ schema: ModelSchema) throws -> EntityDraft {
        var info = EntityDraft(index: index, name: schema.name, table: schema.table, columns: schema.columns)
        info.originalName = schema.originalName
        info.hooks = schema.hooks
        for (column, declared) in schema.columns.enumerated() {
            var isIndexed = declared.destination != nil
            for option in declared.options {
                try check(option, fits: declared, of: schema)
                switch option.kind {
                case .unique: info.uniques.append([column])
                case .uniqueUpdating:
                    info.uniques.append([column])
                    info.updating.append([column])
                case .indexed: isIndexed = true
                case .createdAt: info.createdAt = column
                case .updatedAt: info.updatedAt = column
                case .required, .check: if info.checked.last != column { info.checked.append(column) }
                case .externalStorage: info.externals.insert(column)
                case .derived: info.derived.insert(column)
                case .bookkeeping: info.bookkeeping.insert(column)
                case .commitNumber:
                    info.commitNumber = column
                    info.bookkeeping.insert(column)
                case .originalName, .transformed, .searchable, .literalDefault: break
                }
            }
            if isIndexed && !info.uniques.contains([column]) { info.indexes.append([column]) }
            if declared.type == .real || declared.isDecimal, info.checked.last != column { info.numbers.append(column) }
        }
        for option in schema.options {
            switch option.kind {
            case .unique(let names): info.uniques.append(try unique(names, of: info))
            case .uniqueUpdating(let names):
                info.uniques.append(try unique(names, of: info))
                info.updating.append(try unique(names, of: info).columns)
            case .index(let names): info.indexes.append(try resolve(names, of: info))
            case .search: break
            }
        }
        info.search = try SearchIndex(schema)
        return info
    }

    /// Checks that all tables and indexes of a store of these models have different names. SQLite does not distinguish
    /// `a` from `A`.
    static func checkNames(of description: SchemaDescription) throws {
        var known: [[UInt8]: String] = [:]
        for name in SchemaSQL.ownNames + SchemaSQL.names(for: description) {
            let key = name.utf8.map { (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains($0) ? $0 | 32 : $0 }
            guard let other = known.updateValue(name, forKey: key) else { continue }
            throw StrataError(
                .invalidSchema,
                "The store would have '\(name)' twice\(other == name ? "" : ", also as '\(other)'"), as a table or an index. Rename one of "
                    + "the attributes or relationships, or name a table with @Model(table:)."
            )
        }
    }

    private static func resolve(_ names: ColumnIndex<String>, of info: EntityDraft) throws -> ColumnIndex<Int> {
        let index = try names.map { name in
            guard let column = info.column(named: name) else {
                throw StrataError(
                    .invalidSchema,
                    "\(info.name) has no column '\(name)', which @Model(.unique or .index) names."
                )
            }
            return column
        }
        if let present = index.present, !info.columns[present].isOptional {
            throw StrataError(
                .invalidSchema,
                "\(info.name).\(names.present!) is never nil, so 'whereNotNil' excludes no objects. Leave it out."
            )
        }
        return index
    }

    private static func unique(_ names: ColumnIndex<String>, of info: EntityDraft) throws -> ColumnIndex<Int> {
        let index = try resolve(names, of: info)
        if let present = index.present, !index.columns.contains(present) {
            throw StrataError(
                .invalidSchema,
                "A unique constraint of \(info.name) has 'whereNotNil: \"\(names.present!)\"', which is not one of "
                    + "its columns: name one of \(names.columns.joined(separator: ", "))."
            )
        }
        return index
    }

    /// Refuses options that do not apply to the column's values.
    private static func check(_ option: AttributeOption, fits column: ColumnSchema, of schema: ModelSchema) throws {
        if case .externalStorage = option.kind, column.type != .integer {
            throw StrataError(
                .invalidSchema,
                "\(schema.name).\(column.name) would be stored in the row: the macro recognises '.externalStorage' "
                    + "only by this name."
            )
        }
        if case .transformed = option.kind, !column.isTransformed {
            throw StrataError(
                .invalidSchema,
                "\(schema.name).\(column.name) would be stored without its transformer: the macro recognises "
                    + "'.transformed(by:)' only by this name."
            )
        }
        guard case .check(let message, let subject?, _, _) = option.kind, !column.holds(subject) else { return }
        throw StrataError(
            .invalidSchema,
            "\(schema.name).\(column.name) holds no \(subject.rawValue), and the check '\(message)' is about "
                + "\(subject.rawValue). Remove it, or write another check with .check."
        )
    }

    mutating func resolve() throws {
        for (index, schema) in schemas.enumerated() {
            for (column, declared) in schema.columns.enumerated() {
                guard let destination = declared.destination else { continue }
                let target = try self.index(of: destination, from: "\(schema.name).\(declared.name)")
                infos[index].outgoing.append(
                    OutgoingReference(column: column, destination: target, deleteRule: declared.deleteRule)
                )
            }
        }
        for (index, schema) in schemas.enumerated() {
            for relationship in schema.relationships { try resolve(relationship, of: index) }
        }
        addPlainReferences()
    }

    private func index(of reference: ModelReference, from place: String) throws -> Int {
        guard let index = models.firstIndex(where: { $0 == reference.type }) else {
            throw StrataError(
                .invalidSchema,
                "\(place) refers to \(reference.type), which is not one of the models of this stack."
            )
        }
        return index
    }

    private mutating func resolve(_ relationship: RelationshipSchema, of owner: Int) throws {
        let place = "\(schemas[owner].name).\(relationship.name)"
        let destination = try index(of: relationship.destination, from: place)
        let other = schemas[destination]
        if let inverse = relationship.inverse {
            if let column = infos[destination].column(named: inverse) {
                try resolveForeignKey(relationship, owner: owner, destination: destination, column: column)
            } else if let far = other.relationships.first(where: { $0.name == inverse }) {
                try resolveJoin(relationship, owner: owner, far: far, destination: destination)
            } else {
                throw StrataError(
                    .invalidSchema,
                    "\(place) names \(other.name).\(inverse) as its inverse, which is not a relationship."
                )
            }
            return
        }
        let partners = other.relationships.filter {
            $0.inverse == relationship.name && $0.destination.type == models[owner]
        }
        guard partners.count == 1 else {
            let candidate = other.columns.first { $0.destination?.type == models[owner] }?.name ?? "…"
            throw StrataError(
                .invalidSchema,
                partners.isEmpty
                    ? "\(place) has no inverse in \(other.name). Name it on one side: "
                        + "@Relationship(inverse: \\\(other.name).\(candidate)) var \(relationship.name)."
                    : "\(place) is named as the inverse of more than one relationship of \(other.name)."
            )
        }
        // The other side names this one, and resolves both.
    }

    private mutating func resolveForeignKey(
        _ relationship: RelationshipSchema,
        owner: Int,
        destination: Int,
        column: Int
    ) throws {
        let place = "\(schemas[owner].name).\(relationship.name)"
        let declared = infos[destination].columns[column]
        let far = "\(schemas[destination].name).\(declared.name)"
        guard declared.destination?.type == models[owner] else {
            throw StrataError(
                .invalidSchema,
                "\(place) names \(far) as its inverse, which does not refer to \(schemas[owner].name)."
            )
        }
        guard !infos[owner].incoming.contains(where: { $0.entity == destination && $0.column == column }) else {
            throw StrataError(.invalidSchema, "\(place) and another relationship both name \(far) as their inverse.")
        }
        var order: Int?
        if relationship.isOrdered {
            order = addJoin(relationship, owner: owner, destination: destination)
        }
        if !relationship.isToMany {
            infos[destination].indexes.removeAll { $0 == [column] }
            infos[destination].oneToOne.insert(column)
            if !infos[destination].uniques.contains([column]) { infos[destination].uniques.append([column]) }
        }
        infos[owner].incoming.append(
            IncomingReference(
                entity: destination,
                column: column,
                deleteRule: relationship.deleteRule,
                relationship: place
            )
        )
        infos[owner].relationships.append(
            ResolvedRelationship(
                name: relationship.name,
                isToMany: relationship.isToMany,
                destination: destination,
                deleteRule: relationship.deleteRule,
                storage: .foreignKey(column: column, order: order),
                originalName: relationship.originalName
            )
        )
    }

    private mutating func resolveJoin(
        _ near: RelationshipSchema,
        owner: Int,
        far: RelationshipSchema,
        destination: Int
    ) throws {
        let place = "\(schemas[owner].name).\(near.name)"
        let farPlace = "\(schemas[destination].name).\(far.name)"
        guard far.destination.type == models[owner] else {
            throw StrataError(
                .invalidSchema,
                "\(place) names \(farPlace) as its inverse, which does not refer to \(schemas[owner].name)."
            )
        }
        guard near.isToMany, far.isToMany else {
            throw StrataError(
                .invalidSchema,
                "\(place) is a to-one relationship and \(farPlace) a to-many one: name the inverse at \(farPlace)."
            )
        }
        guard far.inverse == nil || far.inverse == near.name else {
            throw StrataError(
                .invalidSchema,
                "\(place) names \(farPlace) as its inverse, but that names '\(far.inverse ?? "")'."
            )
        }
        let join = addJoin(near, owner: owner, destination: destination)
        for (side, entity, other, own) in [(near, owner, destination, 0), (far, destination, owner, 1)] {
            infos[entity].relationships.append(
                ResolvedRelationship(
                    name: side.name,
                    isToMany: true,
                    destination: other,
                    deleteRule: side.deleteRule,
                    storage: .join(
                        entity: join,
                        own: own,
                        other: 1 - own,
                        place: side.isOrdered ? own + JoinRow.Column.leftPlace : nil
                    ),
                    originalName: side.originalName
                )
            )
        }
    }

    /// Adds the table of a relationship's members. Its rows are deleted with either end.
    private mutating func addJoin(_ relationship: RelationshipSchema, owner: Int, destination: Int) -> Int {
        let name = "\(schemas[owner].table)_\(relationship.name)"
        var info = EntityDraft(
            index: infos.count,
            name: "\(schemas[owner].name).\(relationship.name)",
            table: name,
            columns: JoinRow.columns(left: ModelReference(models[owner]), right: ModelReference(models[destination]))
        )
        info.isJoin = true
        info.uniques = [[JoinRow.Column.left, JoinRow.Column.right]]
        info.indexes = [[JoinRow.Column.right]]
        info.outgoing = [
            OutgoingReference(column: JoinRow.Column.left, destination: owner, deleteRule: .nullify),
            OutgoingReference(column: JoinRow.Column.right, destination: destination, deleteRule: .nullify),
        ]
        infos.append(info)
        for (entity, column) in [(owner, JoinRow.Column.left), (destination, JoinRow.Column.right)] {
            infos[entity].incoming.append(
                IncomingReference(entity: info.index, column: column, deleteRule: .cascade, relationship: info.name)
            )
        }
        return info.index
    }

    /// Adds the to-one relationships that are not named as an inverse: their columns are emptied when the destination
    /// is deleted.
    private mutating func addPlainReferences() {
        for info in infos where !info.isJoin {
            for reference in info.outgoing
            where !infos[reference.destination].incoming.contains(where: {
                $0.entity == info.index && $0.column == reference.column
            }) {
                infos[reference.destination].incoming.append(
                    IncomingReference(
                        entity: info.index,
                        column: reference.column,
                        deleteRule: .nullify,
                        relationship: "\(info.name).\(info.columns[reference.column].name)"
                    )
                )
            }
        }
    }

    func makeEntities() -> [any AnyEntity] {
        infos.map { info in
            if info.isJoin {
                return Entity<JoinRow>(info: EntityInfo(info), check: { _, _ in [] })
            }
            var info = info
            let order = schemas[info.index].relationships.map(\.name)
            info.relationships.sort {
                (order.firstIndex(of: $0.name) ?? 0) < (order.firstIndex(of: $1.name) ?? 0)
            }
            return Self.makeEntity(models[info.index], EntityInfo(info))
        }
    }

    private static func makeEntity<Object: Model>(_ model: Object.Type, _ info: EntityInfo) -> any AnyEntity {
        Entity<Object.Row>(
            info: info,
            check: { row, edited in
                var validation = Validation<Object>(number: Object.Row._$id(row))
                RowCheck.check(row, edited, info, &validation.details)
                Object._$validate(row, &validation)
                return validation.details
            }
        )
    }
}
