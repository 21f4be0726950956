extension Query: CustomStringConvertible {
    /// The SQL of this query over the committed rows, with the values in place of parameters in brackets behind it.
    ///
    /// For logs. Where a relationship's column is on the other side, its name stands for it.
    public var description: String {
        let resolver = RelationshipResolver { _, relationship in .foreignKey(column: relationship) }
        do {
            let compiled = try compile(.objects, using: .tables(resolver: resolver))
            return compiled.sql + " \(compiled.bindings)"
        } catch {
            return "\(Object.self): \(error)"
        }
    }
}
