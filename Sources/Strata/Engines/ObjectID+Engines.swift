extension ObjectID {
    /// The id of another object of the same store and model.
    package func sibling(_ number: Int64) -> ObjectID { ObjectID(number: number, fingerprint: fingerprint) }

    /// The id of an object of another model that goes by the same number.
    package func counterpart<Other: Model>(_ model: Other.Type) -> ObjectID<Other> {
        ObjectID<Other>(number: number, fingerprint: fingerprint)
    }
}

extension Model {
    /// The context that the object belongs to; nil before it is inserted.
    package var owningContext: ObjectContext? { _$link.context }
}
