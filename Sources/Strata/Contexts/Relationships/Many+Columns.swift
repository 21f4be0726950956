// The expressions and descriptions from which `@Model` builds a to-many relationship. Do not call these functions
// directly.

extension RelationshipSchema {
    /// A to-many relationship.
    public static func _$relationship<Destination: Model>(
        _ name: String,
        _ type: Many<Destination>.Type,
        deleteRule: DeleteRule = .nullify,
        ordered: Bool = false,
        inverse: String? = nil,
        originalName: String? = nil
    ) -> RelationshipSchema {
        RelationshipSchema(
            name: name,
            isToMany: true,
            isOrdered: ordered,
            deleteRule: deleteRule,
            destination: ModelReference(Destination.self),
            inverse: inverse,
            originalName: originalName
        )
    }
}

extension Model {
    /// A to-many relationship.
    public static func _$expression<Destination: Model>(
        _ name: String,
        _ type: Many<Destination>.Type
    ) -> RelationshipExpression<Self, Destination> {
        RelationshipExpression(
            MembersNode(path: RelationshipPath(), relationship: name, destination: ModelReference(Destination.self))
        )
    }
}
