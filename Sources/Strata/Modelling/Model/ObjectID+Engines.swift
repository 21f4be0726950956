extension ObjectID {
    /// The id with another raw value in the same store and model.
    package func sibling(_ rawValue: Int64) -> ObjectID { ObjectID(rawValue: rawValue, fingerprint: fingerprint) }

    /// The id with the same raw value in another model.
    package func counterpart<Other: Model>(_ model: Other.Type) -> ObjectID<Other> {
        ObjectID<Other>(rawValue: rawValue, fingerprint: fingerprint)
    }
}
