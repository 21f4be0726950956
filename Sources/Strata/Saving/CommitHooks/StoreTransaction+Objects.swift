extension StoreTransaction {
    /// Whether the object with this textual id is in the store, including an object that the current commit has
    /// inserted. As in ``ObjectID``, the text may have the former name of the model.
    ///
    /// - Returns: nil if the text is not an id. Nil also if the id belongs to another store, or to a model that the
    ///   stack does not contain.
    /// - Complexity: O(models), and one look-up.
    package func objectExists(_ id: String) throws -> Bool? {
        let parts = id.split(atBytes: "-", omitsEmpty: false)
        guard parts.count == 3, let number = Int64(parts[1]), let fingerprint = UInt16(parts[2], radix: 16),
            connection.identity.knows(fingerprint: fingerprint, number: number),
            let info = schema.info(inIDs: String(parts[0]))
        else { return nil }
        return try integer(LinesSQL.exists(info), [.integer(number)]) != nil
    }
}

extension Schema {
    /// The model with this name or former name in ids. A current name takes precedence.
    fileprivate func info(inIDs name: String) -> EntityInfo? {
        infosByName[name] ?? openedEntities.map(\.info).first { model($0.index)?._$schema.originalName == name }
    }
}
