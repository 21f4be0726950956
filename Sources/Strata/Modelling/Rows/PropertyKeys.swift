/// The keys that one coder uses for the rows of one model.
struct PropertyKeys {
    let schema: ModelSchema
    /// The keys of the id and the columns, as the coder's ``RowCoding`` says. Nil without options: each key is then the
    /// name of its property.
    private let chosen: [PropertyKey?]?

    /// - Throws: ``StrataError`` with `invalidArgument` for options that do not fit the model.
    init(of model: any Model.Type, _ userInfo: [CodingUserInfoKey: Any]) throws {
        schema = model._$schema
        chosen = try (userInfo[.rowCoding] as? RowCoding)?.keys(of: model)
    }

    /// The key of the id; nil if the coder omits the id.
    var id: PropertyKey? {
        if let chosen { chosen[0] } else { PropertyKey(stringValue: "id") }
    }

    /// The key of a column; nil if the coder omits the column.
    subscript(column: Int) -> PropertyKey? {
        if let chosen { chosen[column + 1] } else { PropertyKey(stringValue: schema.columns[column].name) }
    }
}
