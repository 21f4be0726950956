/// The relationships that queries have prefetched for their objects.
///
/// The values belong to one snapshot of a context and are dropped with it. When the context publishes edits, the
/// relationships whose members may have changed are removed.
struct Prefetched {
    private struct Relationship: Hashable {
        let entity: Int
        let index: Int
    }

    /// The members by relationship and number of the owner, in the relationship's order.
    private var members: [Relationship: [Int64: [AnyObject]]] = [:]
    /// The destinations of to-one relationships. They are found by their ids as long as they are live, so this
    /// dictionary retains them.
    private var destinations: [Int64: AnyObject] = [:]

    var isEmpty: Bool { members.isEmpty }

    mutating func hold(_ objects: [any Model]) {
        for object in objects { destinations[object.storedID] = object }
    }

    mutating func add(_ found: [Int64: [AnyObject]], _ relationship: Int, of entity: Int) {
        members[Relationship(entity: entity, index: relationship), default: [:]].merge(found) { $1 }
    }

    func members(of number: Int64, _ relationship: Int, of entity: Int) -> [AnyObject]? {
        members[Relationship(entity: entity, index: relationship)]?[number]
    }

    /// Removes the relationships whose members these changes may affect.
    ///
    /// Complexity: O(changed rows) for each of the relationships.
    mutating func forgetMembers(of parts: [Int: any AnyRowChanges], _ schema: Schema) {
        members = members.filter { relationship, _ in
            let resolved = schema.entities[relationship.entity].info.relationships[relationship.index]
            let changed = parts[resolved.destination]
            guard changed?.kinds.subtracting(ChangeKinds(.update)).isEmpty ?? true else { return false }
            switch resolved.storage {
            case .foreignKey(let column, let order):
                return order.map { parts[$0] == nil } ?? true && !(changed?.changes(column) ?? false)
            case .join(let join, _, _, _):
                return parts[join] == nil
            }
        }
    }
}

extension ObjectContext {
    /// Prefetches relationships of objects, each with one query for all objects.
    @inline(never)
    func prefetch<Object: Model>(_ nodes: [PrefetchNode], of objects: [Object]) throws {
        guard !objects.isEmpty else { return }
        for node in nodes {
            func open<Destination: Model>(_ model: Destination.Type) throws {
                // Without this check, the error would depend on whether an object has a destination.
                _ = try store.schema.index(of: model)
                let found: [Destination] =
                    try node.hasColumn
                    ? destinations(node.relationship, of: objects) : members(node.relationship, of: objects)
                try prefetch(node.children, of: found)
            }
            try open(node.destination.type)
        }
    }

    private func destinations<Object: Model, Destination: Model>(
        _ relationship: String,
        of objects: [Object]
    ) throws -> [Destination] {
        guard let column = Object._$schema.columns.firstIndex(where: { $0.name == relationship }) else { return [] }
        var ids: Set<Int64> = []
        for object in objects {
            if case .integer(let number) = try object._$row._$value(at: column) { ids.insert(number) }
        }
        var found: [Destination] = []
        var missing: [ValueNode] = []
        for number in ids.sorted() {
            guard let object = live.identity[number, Destination.self] else {
                missing.append(.stored(.integer(number)))
                continue
            }
            if let object = object as? Destination, !object._$state.isDeleted { found.append(object) }
        }
        if !missing.isEmpty {
            found += try fetch(
                Query<Destination>(_$parts: QueryParts(condition: .member(.id(RelationshipPath()), of: missing)))
            )
        }
        reading.snapshot?.prefetched.hold(found)
        return found
    }

    private func members<Object: Model, Member: Model>(
        _ relationship: String,
        of owners: [Object]
    ) throws -> [Member] {
        let entity = try store.schema.index(of: Object.self)
        let relationships = store.schema.entities[entity].info.relationships
        guard let index = relationships.firstIndex(where: { $0.name == relationship }) else { return [] }
        let query = Query<Member>(
            membersOf: Object.self,
            numbers: owners.map(\.id.rawValue),
            relationship: relationship
        )
        let destination = relationships[index].destination
        let ownerColumn = Int32(Member._$schema.columns.count + 1)
        var members: [Int64: [AnyObject]] = [:]
        for owner in owners { members[owner.id.rawValue] = [] }
        var found: [Member] = []
        try run(query, .members) { reader in
            let member: Member = try object(from: reader, entity: destination)
            members[try reader.read(Int64.self, at: ownerColumn), default: []].append(member)
            found.append(member)
        }
        reading.snapshot?.prefetched.add(members, index, of: entity)
        return found
    }

    /// The members of a relationship, if a query has prefetched them and no edit has affected them since.
    @inline(never)
    func prefetchedMembers<Owner: Model, Object: Model>(of owner: Owner, _ relationship: Int) -> [Object]? {
        guard let isEmpty = reading.snapshot?.prefetched.isEmpty, !isEmpty else { return nil }
        publish()
        return reading.snapshot?.prefetched.members(of: owner.id.rawValue, relationship, of: Int(owner._$state.entity))?
            .map { unsafeDowncast($0, to: Object.self) }  // the relationship leads to this model
    }
}
