extension StoreTransaction {
    /// Whether an object is in the store, by the text of its id: also one that this very commit has inserted.
    ///
    /// - Returns: nil where the text is no id, or one of another store, or of a model that the stack was opened without.
    /// - Complexity: O(models), and one look-up.
    package func isThere(_ id: String) throws -> Bool? {
        let parts = id.split(atBytes: "-", omitsEmpty: false)
        guard parts.count == 3, let number = Int64(parts[1]), let fingerprint = UInt16(parts[2], radix: 16),
            connection.identity.knows(fingerprint: fingerprint, number: number),
            let entity = schema.entities.first(where: { $0.info.name == parts[0] })
        else { return nil }
        return try integer(LinesSQL.exists(entity.info), [.integer(number)]) != nil
    }
}
