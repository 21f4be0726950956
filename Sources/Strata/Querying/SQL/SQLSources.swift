/// The meaning of a query's names at the time when it runs.
struct SQLSources {
    /// A table that a query reads from.
    enum Table {
        case model(ModelSchema)
        case join(String)
    }

    /// The FROM source of a table: its quoted name, or a subquery in parentheses. The caller appends an alias.
    var source: (Table) -> String
    /// Whether the source of a model's table includes unsaved rows. Their values were not checked yet.
    var hasPendingRows: (ModelSchema) -> Bool = { _ in false }
    /// Finds the storage of relationships without their own column.
    var resolver: RelationshipResolver
    /// Finds the search tables for the objects of a model.
    ///
    /// - Throws: ``StrataError/Code/invalidQuery`` if the model is not searchable.
    var search: (ModelSchema) throws -> SearchSource = SearchSource.stored
    /// The store's identity. Ids that were issued by neither the store nor the store that it was copied from are
    /// refused. If nil, all ids are accepted.
    var identity: StoreIdentity?
    /// Whether the values of lists are sorted. The elements of a Swift set have another order in each process.
    var hasSortedLists = false

    /// The committed tables of the store.
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

/// Finds the storage of a relationship without its own column.
///
/// A query contains only names. A stack determines inverses when it opens, and a query can be older than the stack.
struct RelationshipResolver: Sendable {
    enum Route: Sendable {
        /// The members hold the owner's id in this column. Derived to-one relationships are always of this kind. The
        /// places of ordered members are in a separate table, with the owner on the left.
        case foreignKey(column: String, order: String? = nil)
        /// A table of pairs. Each pair occurs at most once.
        case joinTable(String, ownColumn: String, otherColumn: String, orderColumn: String? = nil)
    }

    /// Returns the route of the relationship with this name in this model.
    var route: @Sendable (ModelSchema, String) throws -> Route
    /// Checks that the stack opens the model of a table that a query reads, if it does not open all models.
    ///
    /// - Throws: ``StrataError/Code/unknownModel``
    var checkOpened: @Sendable (any Model.Type) throws -> Void = { _ in }
}
