extension Entity {
    /// Finds references of a layer to objects that its parent does not show.
    ///
    /// Another context has deleted these objects, or has not saved them. With one such reference, the parent could not
    /// commit at all.
    ///
    /// - Parameters:
    ///   - level: the layer's segments as the save moves them.
    ///   - isThere: whether readers of the layer see an object of an entity.
    /// - Complexity: O(changed rows), and a look-up for each object that they refer to.
    func findDangling(
        in level: [ChangeSegment],
        _ schema: Schema,
        isThere: (_ entity: Int, _ number: Int64) throws -> Bool,
        _ found: inout [StrataError.Detail]
    ) throws {
        guard !info.outgoing.isEmpty else { return }
        let parts = level.compactMap { $0.parts[info.index]?.typed(Row.self) }
        guard !parts.isEmpty else { return }
        for reference in info.outgoing where !schema.isLeftDangling(reference, from: info) {
            let columns = [reference.column]
            var known: Set<Int64> = []
            for (index, part) in parts.enumerated() {
                for change in part.changes where change.kind.isVisible {
                    let number = change.row._$id
                    // The newest of several changes of a row has the valid reference.
                    if parts[(index + 1)...].contains(where: { $0.index(of: number) != nil }) { continue }
                    let isSet =
                        change.sets(columns) || parts[..<index].contains { $0[number]?.sets(columns) ?? false }
                    guard isSet,
                        case .integer(let target) = try change.row._$value(at: reference.column),
                        !known.contains(target)
                    else { continue }
                    if try isThere(reference.destination, target) {
                        known.insert(target)
                    } else {
                        let destination = schema.entities[reference.destination].info
                        found.append(missing(reference, of: change.row, destination, target))
                    }
                }
            }
        }
    }
}

extension Schema {
    /// Whether a reference may point to a deleted object, because its delete rule is `.noAction`.
    func isLeftDangling(_ reference: OutgoingReference, from info: EntityInfo) -> Bool {
        let rule = entities[reference.destination].info.incoming.first {
            $0.entity == info.index && $0.column == reference.column
        }
        return rule?.deleteRule == .noAction
    }
}

extension Connection {
    /// Whether a row is in the store. Complexity: one look-up by key.
    func exists(_ number: Int64, in info: EntityInfo) throws -> Bool {
        let statement = try statement(.selectByID(info))
        defer { statement.reset() }
        try statement.binder.bind(number, at: 1)
        return try statement.step()
    }
}
