/// The declarations of a program's models, as the store records them: see ``RecordedModels``.
///
/// The record is current if it was written for the description of the store's tables. A program of an earlier version
/// of Strata migrates the tables and leaves the record as it is.
struct ModelRecord: Equatable {
    /// The text of the ``SchemaDescription`` to which the declarations belong.
    let description: String
    /// The text of the ``RecordedModels``.
    let declarations: String

    init(_ schema: Schema) throws {
        description = schema.text
        declarations = try RecordedModels(schema).text
    }

    /// The record of a store; nil if the store does not have one.
    init?(on connection: Connection) throws {
        guard try connection.integer(SchemaSQL.hasModels) != nil else { return nil }
        let row = try connection.row(SchemaSQL.readModels)
        guard row.count == 2, case .text(let description) = row[0], case .text(let declarations) = row[1] else {
            return nil
        }
        (self.description, self.declarations) = (description, declarations)
    }

    /// Writes the record, unless the store already has it. Runs in a transaction that may write.
    func write(on connection: Connection) throws {
        if try connection.integer(SchemaSQL.hasModels) == nil {
            try connection.execute(SchemaSQL.createModels)
            try connection.execute(SchemaSQL.addModelsToLayout)
        } else if try ModelRecord(on: connection) == self {
            return
        }
        try connection.execute(SchemaSQL.setModels, [.text(description), .text(declarations)])
    }
}

extension Connection {
    /// The declarations of the models whose tables the store has; nil if they were never recorded, or not since the last
    /// migration.
    ///
    /// - Throws: ``StrataError`` with `newerStore` or `damagedStore`.
    func recordedModels(for schema: SchemaDescription) throws -> RecordedModels? {
        guard let record = try ModelRecord(on: self), record.description.hasSameBytes(as: schema.description) else {
            return nil
        }
        return try RecordedModels(parsing: record.declarations)
    }
}
