import Foundation

/// The table of a model, as the store's record of itself describes it.
///
/// Only a few types of attributes have another form in lines than in the store: ``LineForm`` and unsigned integers. The
/// record contains the names of these types. An enum, a `Codable` value, a decimal or a transformed value is written as
/// it is stored, so the record need not say how.
///
/// The declarations of the models say which sides of many-to-many relationships are ordered, and whether a type with a
/// known name belongs to this library. If the store does not have them, lines list both sides of each relationship.
struct RecordedLines: LineTable {
    struct RecordedColumn {
        let description: ColumnDescription
        let key: PropertyKey
        let form: LineForm
        let isUnsigned: Bool
        /// The model of the object that the column refers to; nil for an attribute.
        let destination: String?
    }

    struct RecordedMembers {
        let key: PropertyKey
        /// The model of the members.
        let model: String
        /// Selects the ids of an object's members, in their order.
        let sql: String
    }

    private let model: String
    let select: String
    private let columns: [RecordedColumn]
    private let members: [RecordedMembers]

    /// - Parameters:
    ///   - table: the table of a model.
    ///   - schema: the description of the whole store.
    ///   - declared: the declarations of the models; nil if the store does not have them.
    init(_ table: TableDescription, in schema: SchemaDescription, _ declared: RecordedModels?) {
        model = table.subject
        let names = ["id"] + table.columns.map(\.name)
        let list = names.map(\.quotedIdentifier).joined(separator: ", ")
        select = "SELECT \(list) FROM \(table.name.quotedIdentifier) ORDER BY \"id\""
        let model = declared?.model(ofTable: table.name)
        columns = table.columns.map { column in
            let attribute = model?.attribute(named: column.name)
            return RecordedColumn(
                description: column,
                key: PropertyKey(stringValue: column.name),
                form: attribute.map { LineForm(of: $0.type?.libraryType) } ?? column.lineForm,
                isUnsigned: attribute.map { $0.type?.isUnsigned ?? false } ?? column.isUnsigned,
                destination: column.referencedTable.map { schema.model(ofTable: $0) }
            )
        }
        members = schema.tables.flatMap { Self.members(in: $0, of: table.name, schema, declared) }
    }

    /// The tables of models with these names.
    ///
    /// - Throws: ``StrataError`` with `unknownModel` for a name of another table or of no table.
    static func all(
        named names: [String],
        in schema: SchemaDescription,
        _ declared: RecordedModels?
    ) throws -> [any LineTable] {
        try names.map { name in
            let found = schema.tables.first { $0.name.hasSameBytes(as: name) && !$0.isRelationship }
            guard let found else { throw StrataError(.unknownModel, "The store has no table of objects '\(name)'.") }
            return RecordedLines(found, in: schema, declared)
        }
    }

    /// The relationships of a model whose members, or whose order of members, are in another table.
    private static func members(
        in relationship: TableDescription,
        of table: String,
        _ schema: SchemaDescription,
        _ declared: RecordedModels?
    ) -> [RecordedMembers] {
        switch relationship.content {
        case .model: return []
        case .members(let near, let far):
            var result: [RecordedMembers] = []
            if near.table.hasSameBytes(as: table) {
                result.append(
                    RecordedMembers(
                        key: PropertyKey(stringValue: near.property),
                        model: schema.model(ofTable: far.table),
                        sql: LinesSQL.selectRecordedMembers(
                            in: relationship.name,
                            own: "left",
                            other: "right",
                            isOrdered: declared?.isOrdered(near) ?? true
                        )
                    )
                )
            }
            // A relationship without a property at its other end has an empty name there. As in
            // `ResolvedRelationship.isInLines`, the far side is in the lines only if it is ordered.
            let isSame = far.table.hasSameBytes(as: near.table) && far.property.hasSameBytes(as: near.property)
            let isListed = declared?.isOrdered(far) ?? true
            if isListed, far.table.hasSameBytes(as: table), !far.property.utf8.isEmpty, !isSame {
                result.append(
                    RecordedMembers(
                        key: PropertyKey(stringValue: far.property),
                        model: schema.model(ofTable: near.table),
                        sql: LinesSQL.selectRecordedMembers(in: relationship.name, own: "right", other: "left")
                    )
                )
            }
            return result
        case .places(let near, let far):
            guard near.table.hasSameBytes(as: table) else { return [] }
            let sql = LinesSQL.selectRecordedPlaces(in: relationship.name, of: far.table, column: far.property)
            return [
                RecordedMembers(
                    key: PropertyKey(stringValue: near.property),
                    model: schema.model(ofTable: far.table),
                    sql: sql
                )
            ]
        }
    }

    func line(of row: RowReader, in export: LineExport) throws -> ExportLine {
        let number = try row.read(Int64.self, at: 0)
        var line = export.line(of: number, model, count: columns.count + members.count)
        for (index, column) in columns.enumerated() {
            let value = row.value(at: Int32(index + 1))
            line.members.append((column.key, try lineValue(value, column, of: number, in: export)))
        }
        for relationship in members {
            let value = try export.members(relationship.sql, of: number, relationship.model)
            line.members.append((relationship.key, value))
        }
        return line
    }

    private func lineValue(
        _ value: StoredValue,
        _ column: RecordedColumn,
        of owner: Int64,
        in export: LineExport
    ) throws -> LineValue {
        let name = column.description.name
        guard column.description.holds(value) else {
            throw StrataError(
                .undecodable,
                "The value \(value) for \(model).\(name) cannot be in a column of the type "
                    + "\(column.description.type.rawValue). Was the file changed by another program?",
                details: [
                    StrataError.Detail(model: model, id: owner, column: name, message: "cannot be \(value)")
                ]
            )
        }
        if case .integer(let number) = value {
            if let destination = column.destination { return .text(export.text(number, destination)) }
            if column.description.content == .external {
                guard let content = try export.externalBytes(number) else {
                    throw ExternalData.lost(name, of: owner, model)
                }
                return LineValue(content, column.form, isUnsigned: false)
            }
        }
        return LineValue(value, column.form, isUnsigned: column.isUnsigned)
    }
}

extension RecordedModels {
    /// Whether the members of a relationship have an order on this side; nil if the relationship is not recorded.
    fileprivate func isOrdered(_ path: PropertyPath) -> Bool? {
        model(ofTable: path.table)?.relationship(named: path.property).map { $0.isOrdered == true }
    }
}

extension ColumnDescription {
    /// The form of the values in lines, as ``LineForm`` of the type of the attribute.
    ///
    /// The record has the name of the type without its module. A type of the program with one of these names is
    /// written in the form of the type of the standard libraries. An import by the program refuses the value, unless
    /// both types have the same form.
    fileprivate var lineForm: LineForm {
        switch type {
        case .integer where content == .external: .bytes
        case .integer where isOf(Bool.self): .truth
        case .real where isOf(Date.self): .date
        case .blob where isOf(UUID.self): .uuid
        default: .plain
        }
    }

    /// Whether the values are unsigned 64-bit integers, which may be stored as blobs.
    fileprivate var isUnsigned: Bool { type == .integer && (isOf(UInt64.self) || isOf(UInt.self)) }

    private func isOf(_ type: any AttributeValue.Type) -> Bool { valueType?.hasSameBytes(as: "\(type)") ?? false }

    /// Whether the column may hold a value.
    fileprivate func holds(_ value: StoredValue) -> Bool {
        switch (type, value) {
        case (_, .null): isOptional
        case (.integer, .integer), (.real, .real), (.text, .text), (.blob, .blob): true
        case (.integer, .blob): isUnsigned
        default: false
        }
    }
}
