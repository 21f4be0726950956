/// The expressions from which `@Model` builds `Columns`. Do not call these functions directly.
extension Model {
    /// An attribute.
    public static func _$expression<Value: AttributeValue>(_ name: String, _ type: Value.Type) -> Column<Self, Value> {
        Column(.column(ColumnNode(name: name, isOptional: false, kind: ValueKind(Value.self))))
    }

    /// An optional attribute.
    public static func _$expression<Value: AttributeValue>(
        _ name: String,
        _ type: Value?.Type
    ) -> Column<Self, Value?> {
        Column(.column(ColumnNode(name: name, isOptional: true, kind: ValueKind(Value.self))))
    }

    /// An attribute stored outside the row.
    public static func _$expression(_ name: String, _ type: ExternalData.Type) -> ExternalColumn<Self> {
        ExternalColumn(.column(ColumnNode(name: name, isOptional: false, kind: .plain)))
    }

    /// An optional attribute stored outside the row.
    public static func _$expression(_ name: String, _ type: ExternalData?.Type) -> ExternalColumn<Self> {
        ExternalColumn(.column(ColumnNode(name: name, isOptional: true, kind: .plain)))
    }

    /// An attribute stored by a transformer.
    public static func _$expression<Transformer: ValueTransformer>(
        _ name: String,
        _ type: Transformed<Transformer>.Type
    ) -> TransformedColumn<Self, Transformer> {
        let kind = ValueKind(Transformed<Transformer>.self)
        return TransformedColumn(.column(ColumnNode(name: name, isOptional: false, kind: kind)))
    }

    /// An optional attribute stored by a transformer.
    public static func _$expression<Transformer: ValueTransformer>(
        _ name: String,
        _ type: Transformed<Transformer>?.Type
    ) -> TransformedColumn<Self, Transformer> {
        let kind = ValueKind(Transformed<Transformer>.self)
        return TransformedColumn(.column(ColumnNode(name: name, isOptional: true, kind: kind)))
    }

    /// A to-one relationship with a column.
    public static func _$expression<Destination: Model>(
        _ name: String,
        _ type: Destination?.Type
    ) -> ToOne<Self, Destination> {
        toOne(name, isDerived: false)
    }

    /// The side of a one-to-one relationship that has no column.
    public static func _$expression<Destination: Model>(
        derived name: String,
        _ type: Destination?.Type
    ) -> ToOne<Self, Destination> {
        toOne(name, isDerived: true)
    }

    /// The id.
    public static func _$expression(id: Void) -> IDColumn<Self, Self> { IDColumn(RelationshipPath()) }

    private static func toOne<Destination: Model>(_ name: String, isDerived: Bool) -> ToOne<Self, Destination> {
        let destination = ModelReference(Destination.self)
        let hop = RelationshipPath.Hop(name: name, destination: destination, isDerived: isDerived)
        return ToOne(_$path: RelationshipPath(hops: [hop]))
    }
}
