/// The unique attributes by which an import matches the lines of a model with objects of the store.
///
/// See ``ContextStack/importJSONLines(from:matching:progress:)``.
public struct ImportKey: Sendable {
    let model: any Model.Type
    let columns: [String]

    /// - Parameters:
    ///   - model: the model whose lines are matched.
    ///   - columns: the name of a unique column, or the names of columns that are unique together.
    public init(_ model: any Model.Type, by columns: String...) {
        self.model = model
        self.columns = columns
    }
}

extension [ImportKey] {
    /// The columns to match by, for each matched entity.
    ///
    /// - Throws: ``StrataError`` with `unknownModel` or `invalidQuery`.
    func keys(in schema: Schema) throws -> [Int: [Int]] {
        var keys: [Int: [Int]] = [:]
        for match in self {
            let info = schema.entities[try schema.index(of: match.model)].info
            let columns = try info.unique(match.columns)
            guard columns.allSatisfy({ info.columns[$0].destination == nil && !info.derived.contains($0) }) else {
                throw StrataError(
                    .invalidQuery,
                    "Lines of \(info.name) cannot be matched by \(match.columns.joined(separator: ", ")): an import "
                        + "key names only attributes that the lines contain, not relationships or derived attributes."
                )
            }
            guard keys.updateValue(columns, forKey: info.index) == nil else {
                throw StrataError(.invalidQuery, "\(info.name) has two import keys. Pass one key for each model.")
            }
        }
        return keys
    }
}
