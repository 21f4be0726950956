/// Builds the schema of a store from the store's own record, for a program that does not have the models.
///
/// The schema serves an import of lines. Delete rules are not recorded, except that a reference may dangle.
struct RecordedSchemaBuilder {
    private let tables: [TableDescription]
    private let declared: RecordedModels
    /// Whether derived attributes count as attributes that the program sets.
    private let keepsDerived: Bool
    /// The entity of each table of objects.
    private let indexes: [UTF8Text: Int]
    private var drafts: [EntityDraft] = []

    /// - Throws: ``StrataError`` with `damagedStore` if the declarations do not fit the description.
    init(_ description: SchemaDescription, _ declared: RecordedModels, keepsDerived: Bool) throws {
        tables = description.tables.filter { !$0.isRelationship }
        self.declared = declared
        self.keepsDerived = keepsDerived
        indexes = Dictionary(
            tables.enumerated().map { (UTF8Text($0.element.name), $0.offset) },
            uniquingKeysWith: { first, _ in first }
        )
        for table in tables { drafts.append(try draft(of: table)) }
        try resolveReferences()
        for table in description.tables { try resolveMembers(in: table) }
        for index in tables.indices { try completeRelationships(of: index) }
    }

    var schema: Schema {
        Schema(
            recorded: drafts.map { draft -> any AnyEntity in
                let info = EntityInfo(draft)
                if info.isJoin { return Entity<JoinRow>(info: info, check: { _, _ in [] }) }
                return Entity<RecordedRow>(info: info) { row, edited in
                    var failures: [StrataError.Detail] = []
                    RowCheck.check(row, edited, info, &failures)
                    return failures
                }
            }
        )
    }

    private static var mismatch: StrataError {
        StrataError(
            .damagedStore,
            "The declarations of the models in the store do not fit its tables. Open the store once with its program, "
                + "which records them again."
        )
    }

    private func index(of table: String) throws -> Int {
        guard let index = indexes[UTF8Text(table)] else { throw Self.mismatch }
        return index
    }

    private func model(_ table: TableDescription) throws -> RecordedModel {
        guard let model = declared.model(ofTable: table.name) else { throw Self.mismatch }
        return model
    }

    // MARK: Columns

    private func draft(of table: TableDescription) throws -> EntityDraft {
        let model = try model(table)
        let attributes = try table.columns.map { column in
            guard let attribute = model.attribute(named: column.name) else { throw Self.mismatch }
            return attribute
        }
        var draft = EntityDraft(
            index: drafts.count,
            name: table.subject,
            table: table.name,
            columns: zip(table.columns, attributes).map { ColumnSchema($0, $1, of: table.subject) }
        )
        draft.originalName = model.originalName
        draft.isRecorded = true
        for (column, attribute) in attributes.enumerated() {
            switch attribute.role {
            case .createdAt: draft.createdAt = column
            case .updatedAt: draft.updatedAt = column
            case .derived: if !keepsDerived { draft.derived.insert(column) }
            case nil: break
            }
            let schema = draft.columns[column]
            if !schema.rules.isEmpty {
                draft.checked.append(column)
            } else if schema.type == .real || schema.isDecimal {
                draft.numbers.append(column)
            }
            if table.columns[column].isExternal { draft.externals.insert(column) }
        }
        draft.uniques = try table.uniques.map { unique in
            try unique.map { name in
                guard let column = draft.column(named: name) else { throw Self.mismatch }
                return column
            }
        }
        return draft
    }

    // MARK: Relationships

    private mutating func resolveReferences() throws {
        for (entity, table) in tables.enumerated() {
            let model = try model(table)
            for (column, described) in table.columns.enumerated() {
                guard let target = described.referencedTable else { continue }
                let destination = try index(of: target)
                let mayDangle = model.attribute(named: described.name)?.mayDangle == true
                let rule = mayDangle ? DeleteRule.noAction : .nullify
                drafts[entity].outgoing.append(
                    OutgoingReference(column: column, destination: destination, deleteRule: .nullify)
                )
                drafts[destination].incoming.append(
                    IncomingReference(
                        entity: entity,
                        column: column,
                        deleteRule: rule,
                        relationship: "\(table.subject).\(described.name)"
                    )
                )
            }
        }
    }

    /// Adds the entity of a relationship's members, and the relationship at both ends.
    private mutating func resolveMembers(in table: TableDescription) throws {
        switch table.content {
        case .model: return
        case .members(let near, let far):
            let join = try addJoin(table, near, far)
            let sides = [(near, far, JoinRow.Column.left), (far, near, JoinRow.Column.right)]
            for (path, other, own) in sides where !path.property.utf8.isEmpty {
                let owner = try index(of: path.table)
                let recorded = try model(tables[owner]).relationship(named: path.property)
                add(
                    path.property,
                    of: owner,
                    to: try index(of: other.table),
                    .join(
                        entity: join,
                        own: own,
                        other: 1 - own,
                        place: recorded?.isOrdered == true ? own + JoinRow.Column.leftPlace : nil
                    ),
                    recorded
                )
            }
        case .places(let near, let far):
            let join = try addJoin(table, near, far)
            let (owner, destination) = (try index(of: near.table), try index(of: far.table))
            guard let column = drafts[destination].column(named: far.property) else { throw Self.mismatch }
            let recorded = try model(tables[owner]).relationship(named: near.property)
            add(near.property, of: owner, to: destination, .foreignKey(column: column, order: join), recorded)
        }
    }

    private mutating func addJoin(_ table: TableDescription, _ near: PropertyPath, _ far: PropertyPath) throws -> Int {
        var draft = EntityDraft(
            index: drafts.count,
            name: table.subject,
            table: table.name,
            columns: JoinRow.columns(left: nil, right: nil)
        )
        draft.isJoin = true
        draft.isRecorded = true
        draft.uniques = [[JoinRow.Column.left, JoinRow.Column.right]]
        draft.outgoing = [
            OutgoingReference(
                column: JoinRow.Column.left,
                destination: try index(of: near.table),
                deleteRule: .nullify
            ),
            OutgoingReference(
                column: JoinRow.Column.right,
                destination: try index(of: far.table),
                deleteRule: .nullify
            ),
        ]
        drafts.append(draft)
        return draft.index
    }

    private mutating func add(
        _ name: String,
        of owner: Int,
        to destination: Int,
        _ storage: ResolvedRelationship.Storage,
        _ recorded: RecordedRelationship?
    ) {
        drafts[owner].relationships.append(
            ResolvedRelationship(
                name: name,
                isToMany: true,
                destination: destination,
                deleteRule: .nullify,
                storage: storage,
                originalName: recorded?.originalName
            )
        )
    }

    /// Adds the relationships that only the column at their other end stores. Lines do not contain them, and the name
    /// gives the error of a line that does. Afterwards, the relationships are in the order of their declaration.
    private mutating func completeRelationships(of owner: Int) throws {
        let recorded = try model(tables[owner]).relationships
        for relationship in recorded
        where !drafts[owner].relationships.contains(where: { $0.name.hasSameBytes(as: relationship.name) }) {
            let destination = try index(of: relationship.destination)
            add(relationship.name, of: owner, to: destination, .foreignKey(column: 0, order: nil), relationship)
        }
        let order = recorded.map(\.name)
        func position(_ name: String) -> Int { order.firstIndex { $0.hasSameBytes(as: name) } ?? order.count }
        drafts[owner].relationships.sort { position($0.name) < position($1.name) }
    }
}

extension ColumnSchema {
    /// A column that a store describes and declares.
    ///
    /// - Parameter model: the name of the model, for errors.
    fileprivate init(_ described: ColumnDescription, _ attribute: RecordedAttribute, of model: String) {
        let options =
            (attribute.rules ?? []).compactMap { $0.option }
            + (attribute.originalNames ?? []).map { AttributeOption.originalName($0) }
        if let type = attribute.type?.libraryType {
            self = ColumnSchema.attribute(described, type, options)
        } else {
            self.init(
                name: described.name,
                type: described.type,
                isOptional: described.isOptional,
                destination: nil,
                deleteRule: .nullify,
                options: options
            )
            if let cases = attribute.type?.cases {
                let values = Set(cases.map(\.value))
                accepts = { values.contains($0) }
                normalized = { values.contains($0) ? $0 : nil }
            }
        }
        if let value = attribute.defaultValue?.value {
            defaultValue = { value }
        } else if attribute.hasDefault == true {
            let name = described.name
            defaultValue = {
                throw LineFailure(model, name, "is missing, and only the program can calculate its default value")
            }
        } else if attribute.role == .derived {
            let name = described.name
            defaultValue = { throw LineFailure(model, name, "is missing, and only the program can calculate it") }
        }
    }

    private static func attribute<Value: AttributeValue>(
        _ described: ColumnDescription,
        _ type: Value.Type,
        _ options: [AttributeOption]
    ) -> ColumnSchema {
        ColumnSchema(attribute: described.name, type, isOptional: described.isOptional, options)
    }
}
