/// A value in the store that is none of its attribute's type.
struct UndecodableValue: Error, CustomStringConvertible {
    let value: StoredValue
    /// The name of the attribute's type.
    let type: String
    let column: String
    /// What its transformer says of it.
    var cause: String?

    var description: String {
        "The value \(value) in column '\(column)' is no \(type)\(cause.map { ": \($0)" } ?? "")."
    }

    /// The error where nobody knows whose value it is.
    var error: StrataError {
        StrataError(.undecodable, "\(description) Was the file changed by another program?", underlying: self)
    }

    /// The error where the object is known.
    func error(of model: ModelSchema, number: Int64) -> StrataError {
        StrataError(
            .undecodable,
            "The value \(value) for \(model.name).\(column) is no \(type). Was the file changed by another program?",
            details: [
                StrataError.Detail(model: model.name, number: number, column: column, message: "cannot be \(value)")
            ],
            underlying: self
        )
    }
}
