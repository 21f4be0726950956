extension ObjectID {
    /// The id with another raw value in the same store and model. For a number that no id has, which only a damaged
    /// store contains, it is the id of no object.
    package func sibling(_ rawValue: Int64) -> ObjectID {
        ObjectID(rawValue: ObjectIDRawValues.all.contains(rawValue) ? rawValue : 0, fingerprint: fingerprint)
    }

    /// The id with the same raw value in another model.
    package func counterpart<Other: Model>(_ model: Other.Type) -> ObjectID<Other> {
        ObjectID<Other>(rawValue: rawValue, fingerprint: fingerprint)
    }
}
