extension Query: CustomStringConvertible {
    /// The SQL of this query over the committed rows, with the values in place of parameters in brackets behind it.
    ///
    /// For logs. Where relationships are kept is asked of the models, since a query knows of no store.
    public var description: String {
        let resolver = RelationshipResolver { model, relationship in
            try Schema(Schema.models(reachableFrom: Object.self)).resolver.route(model, relationship)
        }
        do {
            let compiled = try compile(.objects, using: .tables(resolver: resolver))
            return compiled.sql + " \(compiled.bindings)"
        } catch {
            return "\(Object.self): \(error)"
        }
    }
}
