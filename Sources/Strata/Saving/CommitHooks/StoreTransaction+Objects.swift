extension StoreTransaction {
    /// Whether the object with this textual id is in the store, including an object that the current commit has
    /// inserted.
    ///
    /// - Returns: nil if the text is not an id. Nil also if the id belongs to another store, or to a model that the
    ///   stack does not contain.
    /// - Complexity: O(models), and one look-up.
    package func objectExists(_ id: String) throws -> Bool? {
        let parts = id.split(atBytes: "-", omitsEmpty: false)
        guard parts.count == 3, let number = Int64(parts[1]), let fingerprint = UInt16(parts[2], radix: 16),
            connection.identity.knows(fingerprint: fingerprint, number: number),
            let entity = schema.entities.first(where: { $0.info.name == parts[0] })
        else { return nil }
        return try integer(LinesSQL.exists(entity.info), [.integer(number)]) != nil
    }
}
