extension Query: CustomStringConvertible {
    /// The SQL of this query over the committed rows, followed by the values of its parameters in brackets.
    ///
    /// The description is for logs. A query does not refer to a store, so the models define where relationships are
    /// stored.
    public var description: String {
        let resolver = RelationshipResolver { model, relationship in
            try Schema(Schema.models(reachableFrom: [Object.self])).resolver.route(model, relationship)
        }
        do {
            let compiled = try compile(.objects, using: .tables(resolver: resolver))
            return compiled.sql + " \(compiled.bindings)"
        } catch {
            return "\(Object.self): \(error)"
        }
    }
}
