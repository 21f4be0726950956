/// Collects what is wrong with a row. Handed to ``Model/validate(_:_:)``.
public struct Validation<Object: Model> {
    var details: [StrataError.Detail] = []
    let number: Int64

    /// Reports a failure of one column, or of the object as a whole.
    public mutating func fail(_ message: String, column: String? = nil) {
        details.append(
            StrataError.Detail(model: Object._$schema.name, number: number, column: column, message: message)
        )
    }

    /// Reports a failure unless the condition holds.
    public mutating func require(_ condition: Bool, _ message: String, column: String? = nil) {
        if !condition { fail(message, column: column) }
    }
}
