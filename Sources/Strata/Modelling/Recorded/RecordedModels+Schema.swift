extension RecordedModels {
    /// The declarations of the models that a stack opens.
    init(_ schema: Schema) {
        form = Self.currentForm
        models = schema.openedEntities.map(\.info).filter { !$0.isJoin }.map { RecordedModel($0, schema) }
            .sorted { $0.table.precedesByBytes($1.table) }
    }
}

extension RecordedModel {
    fileprivate init(_ info: EntityInfo, _ schema: Schema) {
        table = info.table
        originalName = info.originalName
        let isOfEngine = schema.model(info.index).map { Schema.isOfEngine($0) } ?? false
        self.isOfEngine = isOfEngine ? true : nil
        validatesRows = info.hooks.validateRow.isDeclared ? true : nil
        attributes = info.columns.indices.map { RecordedAttribute($0, of: info, schema) }
        relationships = info.relationships.map { relationship in
            RecordedRelationship(
                name: relationship.name,
                originalName: relationship.originalName,
                destination: schema.entities[relationship.destination].info.table,
                isOrdered: relationship.isOrdered ? true : nil
            )
        }
    }
}

extension ResolvedRelationship {
    /// Whether the members have an order on this side.
    fileprivate var isOrdered: Bool {
        switch storage {
        case .join(_, _, _, let place): place != nil
        case .foreignKey(_, let order): order != nil
        }
    }
}

extension RecordedAttribute {
    fileprivate init(_ index: Int, of info: EntityInfo, _ schema: Schema) {
        let column = info.columns[index]
        name = column.name
        originalNames = column.originalNames.isEmpty ? nil : column.originalNames
        type = RecordedType(column)
        if index == info.createdAt {
            role = .createdAt
        } else if index == info.updatedAt {
            role = .updatedAt
        } else {
            role = info.derived.contains(index) ? .derived : nil
        }
        hasDefault = column.defaultValue == nil ? nil : true
        // A literal has the same value at each call. Types of the program may interpret it by code.
        let isConstant = column.hasLiteralDefault && type?.isOfLibrary == true
        defaultValue = isConstant ? (try? column.defaultValue?()).map { RecordedValue($0) } : nil
        let declared = column.options.compactMap(\.declaredRule)
        rules = declared.isEmpty ? nil : declared
        let code = column.options.compactMap(\.codeRule)
        codeRules = code.isEmpty ? nil : code
        let destination = info.outgoing.first { $0.column == index }?.destination
        let incoming = destination.map { schema.entities[$0].info.incoming } ?? []
        let reference = incoming.first { $0.entity == info.index && $0.column == index }
        mayDangle = reference?.deleteRule == .noAction ? true : nil
    }
}

extension RecordedType {
    /// The greatest number of cases that are recorded.
    private static let caseLimit = 1000

    /// Nil for a to-one relationship.
    fileprivate init?(_ column: ColumnSchema) {
        guard let type = column.heldType else { return nil }
        name = "\(type)"
        let isKnown = LibraryTypes.contains(type)
        isOfLibrary = isKnown ? true : nil
        isTransformed = column.isTransformed ? true : nil
        cases = isKnown ? nil : (type as? any CaseIterable.Type).flatMap { Self.storedCases(of: $0) }
    }

    /// The stored forms of all cases; nil if they are not values of an attribute, or too many.
    private static func storedCases<Value: CaseIterable>(of type: Value.Type) -> [RecordedValue]? {
        var result: [RecordedValue] = []
        for value in type.allCases {
            guard result.count < caseLimit, let value = value as? any AttributeValue,
                let stored = try? value.storedValue
            else { return nil }
            result.append(RecordedValue(stored))
        }
        return result
    }
}
