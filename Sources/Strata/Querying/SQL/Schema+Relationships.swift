extension Schema {
    /// Resolves the relationships in queries to columns and tables.
    var resolver: RelationshipResolver {
        var resolver = RelationshipResolver { [self] model, name in
            guard let info = infosByName[model.name], let found = info.relationships.first(where: { $0.name == name })
            else {
                throw StrataError(
                    .unknownModel,
                    "\(model.name).\(name) is not a relationship of a model of this stack."
                )
            }
            try checkOpened(found.destination)
            switch found.storage {
            case .foreignKey(let column, let order):
                return .foreignKey(
                    column: entities[found.destination].info.columns[column].name,
                    order: order.map { entities[$0].info.table }
                )
            case .join(let join, let own, let other, let place):
                let info = entities[join].info
                return .joinTable(
                    info.table,
                    ownColumn: info.columns[own].name,
                    otherColumn: info.columns[other].name,
                    orderColumn: place.map { info.columns[$0].name }
                )
            }
        }
        if isPartial { resolver.checkOpened = { [self] in _ = try index(of: $0) } }
        return resolver
    }
}
