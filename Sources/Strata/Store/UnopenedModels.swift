/// The references between the models that a stack opens and the other models of its store.
///
/// The store's own description says which columns of unopened models refer to an opened model. The program may not have
/// these models at all.
struct UnopenedModels: Sendable {
    /// A relationship between an opened and an unopened model.
    fileprivate struct Reference: Sendable {
        enum Kind: Sendable {
            /// The column of a table that refers to the opened model. `object` is the column with the id of the
            /// unopened object.
            case incoming(table: String, object: String, column: String)
            /// The column of the opened model whose destination would be deleted with the object.
            case cascade(column: Int, destination: EntityInfo)
        }

        let kind: Kind
        /// The name of the unopened model.
        let model: String
        /// The property of the unopened model; nil if the opened model has the property.
        let property: String?
    }

    /// By the index of the opened entity.
    private let references: [Int: [Reference]]

    /// - Parameter stored: the description that the store records.
    init(_ stored: SchemaDescription, _ schema: Schema) {
        var references: [Int: [Reference]] = [:]
        for table in stored.tables where schema.description.table(named: table.name) == nil {
            for column in table.columns {
                let path = PropertyPath(table: table.name, property: column.name)
                guard case .reference(let target) = column.content, let info = schema.infosByTable[target],
                    !schema.unopenedRules.dangling.contains(path)
                else { continue }
                references[info.index, default: []].append(Reference(table, column, in: stored))
            }
        }
        for cascade in schema.unopenedRules.cascades {
            let destination = schema.entities[cascade.destination].info
            references[cascade.entity, default: []].append(
                Reference(
                    kind: .cascade(column: cascade.column, destination: destination),
                    model: destination.name,
                    property: nil
                )
            )
        }
        self.references = references
    }

    /// Checks that the delete of rows would neither change nor delete rows of unopened models, and would leave no
    /// reference to a deleted row there.
    ///
    /// - Throws: ``StrataError`` with `unopenedModel`, which names these models.
    /// - Complexity: one statement for each relationship to or from an unopened model.
    func checkDelete(of ids: [Int64], _ info: EntityInfo, on connection: Connection) throws {
        guard !ids.isEmpty, let references = references[info.index] else { return }
        let list = StoredValue.text(ListText.json(ids.map { .integer($0) }))
        try check(references, info, among: UnopenedSQL.boundIDs, [list], on: connection)
    }

    /// The same for the rows that a batch has gathered.
    func checkDelete(ofGathered info: EntityInfo, on connection: Connection) throws {
        guard let references = references[info.index] else { return }
        try check(references, info, among: UnopenedSQL.gatheredIDs(info.index), [], on: connection)
    }

    private func check(
        _ references: [Reference],
        _ info: EntityInfo,
        among ids: String,
        _ values: [StoredValue],
        on connection: Connection
    ) throws {
        var details: [StrataError.Detail] = []
        for reference in references {
            try connection.statement(reference.sql(info, among: ids)).run(values) { row in
                details.append(
                    reference.detail(try row.read(Int64.self, at: 0), info, deleted: try row.read(Int64.self, at: 1))
                )
            }
        }
        guard !details.isEmpty else { return }
        var models: [String] = []
        for detail in details where !models.contains(detail.model) { models.append(detail.model) }
        throw StrataError(
            .unopenedModel,
            "Nothing was deleted: the deletes would concern objects of \(models.joined(separator: ", ")), which this "
                + "stack does not open. Delete the objects with a stack that opens all models.",
            details: details
        )
    }
}

extension UnopenedModels.Reference {
    /// - Parameter column: a column of the unopened table that refers to an opened model.
    fileprivate init(_ table: TableDescription, _ column: ColumnDescription, in stored: SchemaDescription) {
        guard let (near, far) = table.ends else {
            kind = .incoming(table: table.name, object: "id", column: column.name)
            (model, property) = (table.subject, column.name)
            return
        }
        // The rows of a relationship's members have the unopened object at their other end.
        let isLeft = column.name == "left"
        let path = isLeft ? far : near
        kind = .incoming(table: table.name, object: isLeft ? "right" : "left", column: column.name)
        model = stored.table(named: path.table)?.subject ?? path.table
        property = path.property
    }

    fileprivate func sql(_ info: EntityInfo, among ids: String) -> String {
        switch kind {
        case .incoming(let table, let object, let column):
            UnopenedSQL.selectReferring(table, object: object, column: column, among: ids)
        case .cascade(let column, let destination):
            UnopenedSQL.selectReferred(info, column, destination, among: ids)
        }
    }

    fileprivate func detail(_ id: Int64, _ info: EntityInfo, deleted: Int64) -> StrataError.Detail {
        let message =
            switch kind {
            case .incoming: "refers to \(info.name) \(deleted)"
            case .cascade: "would be deleted with \(info.name) \(deleted)"
            }
        return StrataError.Detail(model: model, id: id, column: property, message: message)
    }
}
