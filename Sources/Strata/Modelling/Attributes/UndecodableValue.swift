/// The error for a stored value that is not a value of its attribute's type.
struct UndecodableValue: Error, CustomStringConvertible {
    let value: StoredValue
    /// The name of the attribute's type.
    let type: String
    let column: String
    /// The reason that the attribute's transformer gives.
    var cause: String?

    var description: String {
        "The value \(value) in column '\(column)' is not of type \(type)\(cause.map { ": \($0)" } ?? "")."
    }

    /// The error to throw if the owner of the value is unknown.
    var error: StrataError {
        StrataError(.undecodable, "\(description) Was the file changed by another program?", underlying: self)
    }

    /// The error to throw if the owner of the value is known.
    func error(of model: ModelSchema, number: Int64) -> StrataError {
        StrataError(
            .undecodable,
            "The value \(value) for \(model.name).\(column) is not of type \(type). Was the file changed by another "
                + "program?",
            details: [
                StrataError.Detail(model: model.name, id: number, column: column, message: "cannot be \(value)")
            ],
            underlying: self
        )
    }
}
