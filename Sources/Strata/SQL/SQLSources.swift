/// What a query's names stand for at the moment when it runs.
struct SQLSources {
    /// A table that a query reads from.
    enum Table {
        case model(ModelSchema)
        case join(String)
    }

    /// What stands for a table in FROM: its quoted name, or a subquery in parentheses. The caller puts an alias behind it.
    var source: (Table) -> String
    /// Where relationships without a column lead.
    var resolver: RelationshipResolver
    /// Where the objects of a model are searched.
    ///
    /// - Throws: ``StrataError/Code/invalidQuery`` where nothing of them is searchable.
    var search: (ModelSchema) throws -> SearchSource = SearchSource.stored
    /// The store; ids that neither it nor what it was copied from has handed out are refused. Nil: none is refused.
    var identity: StoreIdentity?

    /// The tables of the store as they are.
    static func tables(resolver: RelationshipResolver, identity: StoreIdentity? = nil) -> SQLSources {
        SQLSources(
            source: { table in
                switch table {
                case .model(let schema): schema.table.quotedIdentifier
                case .join(let name): name.quotedIdentifier
                }
            },
            resolver: resolver,
            identity: identity
        )
    }
}

/// Finds what belongs to a relationship without a column of its own. A query has names only, since inverses are known
/// when a stack is open and queries may be older than that.
struct RelationshipResolver: Sendable {
    enum Route: Sendable {
        /// The members carry the owner's id in this column. Derived to-one relationships are always of this kind.
        /// The places of ordered members stand in a table of their own.
        case foreignKey(column: String, order: PlaceTable? = nil)
        /// A table of pairs, each at most once.
        case joinTable(String, ownColumn: String, otherColumn: String, orderColumn: String? = nil)
    }

    /// The table that keeps the places of the members of an ordered one-to-many relationship.
    struct PlaceTable: Sendable {
        let name: String
        let ownColumn: String
        let otherColumn: String
        let placeColumn: String
    }

    /// The route of the relationship with this name in this model.
    var route: @Sendable (ModelSchema, String) throws -> Route
}
