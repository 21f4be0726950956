/// The keys that one coder uses for the rows of one model.
struct PropertyKeys {
    let schema: ModelSchema
    private let model: ObjectIdentifier
    private let coding: RowCoding

    init(of model: any Model.Type, _ userInfo: [CodingUserInfoKey: Any]) {
        schema = model._$schema
        self.model = ObjectIdentifier(model)
        coding = userInfo[.rowCoding] as? RowCoding ?? RowCoding()
    }

    var id: PropertyKey { PropertyKey(stringValue: coding.naming("id")) }

    /// The key of a column; nil if the coder omits the column.
    subscript(column: Int) -> PropertyKey? {
        let property = schema.columns[column].name
        return coding.omits(property, of: model) ? nil : PropertyKey(stringValue: coding.naming(property))
    }
}
