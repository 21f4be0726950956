/// The delete rules between the opened models of a partial schema and its unopened models.
///
/// The entities do not have these rules, so nothing applies them. A commit that they would concern is refused.
struct UnopenedRules: Sendable {
    /// The to-one columns of unopened models with the rule `.noAction`: they may refer to deleted objects.
    var dangling: Set<PropertyPath> = []
    /// The to-one columns of opened models whose destination would be deleted with the object.
    var cascades: [Cascade] = []

    struct Cascade: Sendable {
        let entity: Int
        let column: Int
        let destination: Int
    }
}

extension SchemaBuilder {
    /// Whether a stack that opens the first `count` models opens an entity, by index.
    func opens(first count: Int) -> [Bool] {
        infos.map { info in
            info.isJoin ? info.outgoing.allSatisfy { $0.destination < count } : info.index < count
        }
    }

    /// Removes the delete rules that would read or change rows of unopened models.
    mutating func removeRulesOfUnopened(_ isOpened: [Bool]) -> UnopenedRules {
        var rules = UnopenedRules()
        for index in infos.indices where isOpened[index] {
            for reference in infos[index].incoming
            where !isOpened[reference.entity] && reference.deleteRule == .noAction {
                let info = infos[reference.entity]
                rules.dangling.insert(
                    PropertyPath(table: info.table, property: info.columns[reference.column].name)
                )
            }
            infos[index].incoming.removeAll { !isOpened[$0.entity] }
            for (place, reference) in infos[index].outgoing.enumerated()
            where !isOpened[reference.destination] && reference.deleteRule == .cascade {
                rules.cascades.append(
                    UnopenedRules.Cascade(
                        entity: index,
                        column: reference.column,
                        destination: reference.destination
                    )
                )
                infos[index].outgoing[place] = OutgoingReference(
                    column: reference.column,
                    destination: reference.destination,
                    deleteRule: .nullify
                )
            }
            infos[index].relationships = infos[index].relationships.map { relationship in
                guard !isOpened[relationship.destination] else { return relationship }
                return ResolvedRelationship(
                    name: relationship.name,
                    isToMany: relationship.isToMany,
                    destination: relationship.destination,
                    deleteRule: .nullify,
                    storage: relationship.storage,
                    originalName: relationship.originalName
                )
            }
        }
        return rules
    }
}
