extension ObjectID {
    /// The id with another number in the same store and model.
    package func sibling(_ number: Int64) -> ObjectID { ObjectID(number: number, fingerprint: fingerprint) }

    /// The id with the same number in another model.
    package func counterpart<Other: Model>(_ model: Other.Type) -> ObjectID<Other> {
        ObjectID<Other>(number: number, fingerprint: fingerprint)
    }
}

extension Model {
    /// The context that the object belongs to; nil before it is inserted.
    package var owningContext: ObjectContext? { _$link.context }
}
