extension ObjectContext {
    /// The members of a relationship, in their order.
    func members<Owner: Model, Object: Model>(of owner: Owner, _ relationship: Int) throws -> [Object] {
        if let members: [Object] = prefetchedMembers(of: owner, relationship) { return members }
        countRead(of: relationship, owner)
        let resolved = store.schema.entities[Int(owner._$state.entity)].info.relationships[relationship]
        guard case .foreignKey(let column, nil) = resolved.storage else {
            return try fetch(Many<Object>(_$owner: owner, relationship: relationship).query)
        }
        try store.schema.checkOpened(resolved.destination)
        // The most common case, answered by one prepared statement.
        publish()
        let connection = try currentSnapshot().reader.connection
        let info = store.schema.entities[resolved.destination].info
        let isPending = connection.overlay.parts[resolved.destination] != nil
        var objects: [Object] = []
        defer { if hookQueue.hasFetchHooks { runHooksAfterFetch() } }
        try connection.statement(info.selectReferring(column, isPending: isPending))
            .run([.integer(owner.id.rawValue)]) { objects.append(try object(from: $0, entity: info.index)) }
        return objects
    }

    func add<Owner: Model>(_ object: some Model, to owner: Owner, _ relationship: Int) throws {
        let resolved = store.schema.entities[Int(owner._$state.entity)].info.relationships[relationship]
        try store.schema.checkOpened(resolved.destination)
        switch resolved.storage {
        case .foreignKey(let column, let order):
            if !resolved.isToMany {
                let info = store.schema.entities[resolved.destination].info
                try clearReferences(of: info, at: column, to: owner.id.rawValue, except: object.id.rawValue)
            }
            let isMember = try object._$row._$value(at: column) == .integer(owner.id.rawValue)
            object.setReference(owner.id.rawValue, at: column)
            if let order { try addPair(order, 0, owner, object, isMember: isMember) }
        case .join(let join, let own, _, _):
            try addPair(join, own, owner, object, isMember: true)
        }
    }

    /// Adds the row of a member, unless it exists, at the end of the order of both sides.
    ///
    /// - Parameter isMember: false if an existing row may be a leftover of an object that left the relationship through
    ///   its to-one side.
    func addPair(
        _ join: Int,
        _ own: Int,
        _ owner: some Model,
        _ object: some Model,
        isMember: Bool
    ) throws {
        let (ownNumber, otherNumber) = (owner.id.rawValue, object.id.rawValue)
        let members = try joinRows(join, own, ownNumber)
        if members.contains(where: { $0.end(1 - own) == otherNumber }) {
            if isMember { return }
            let shown = try joinRows(join, own, ownNumber, hidingDuplicates: true)
            guard let old = shown.first(where: { $0.end(1 - own) == otherNumber }) else { return }
            var row = old
            row.setPlace(
                (members.filter { $0.end(1 - own) != otherNumber }.compactMap { $0.place(own) }.max() ?? 0) + 1,
                own
            )
            noteTurn()
            return joinTracker(join).update(old, to: row, self)
        }
        let (left, right) = own == 0 ? (ownNumber, otherNumber) : (otherNumber, ownNumber)
        let removed = try removedPair(join, left, right)
        var row = try removed ?? JoinRow(number: store.ids.take(), left: left, right: right)
        // A place is kept for each side, whichever of them is ordered; only this side's place is known to be last.
        let last = members.compactMap { $0.place(own) }.max() ?? 0
        row.setPlace(last + 1, own)
        let facing = try joinRows(join, 1 - own, otherNumber).compactMap { $0.place(1 - own) }.max() ?? 0
        row.setPlace(facing + 1, 1 - own)
        noteTurn()
        guard let removed else { return joinTracker(join).insert(row) }
        if try reinsert(removed, as: row, join) { recordUndelete(removed, join) }
    }

    /// Restores a member, at its new places, that was removed in this context and whose removal is not yet saved.
    ///
    /// - Returns: whether the removal is gone without a trace; if false, an edit reverts the removal.
    private func reinsert(_ removed: JoinRow, as row: JoinRow, _ join: Int) throws -> Bool {
        let isGone = try cancelDelete(of: removed, join)
        if isGone {
            joinTracker(join).update(removed, to: row, self)
        } else {
            joinTracker(join).undelete(removed, as: row, self)
        }
        return isGone
    }

    /// Records in the undo history that a member is restored without an edit.
    func recordUndelete(_ row: JoinRow, _ join: Int) {
        guard undoing.history.isOn, !saving.isRunning else { return }
        undoing.history.record([join: RowChanges(ids: [row._$id], changes: [.insert(row)])])
    }

    /// Reverts the removal of a member, unless it is a member again.
    ///
    /// - Returns: whether the removal was reverted without an edit.
    @discardableResult
    func restoreMember(_ row: JoinRow, _ join: Int) throws -> Bool {
        guard try !joinRows(join, JoinRow.Column.left, row.left).contains(where: { $0.right == row.right }) else {
            return false
        }
        noteTurn()
        if let removed = try removedPair(join, row.left, row.right, like: row._$id) {
            return try reinsert(removed, as: row, join)
        }
        var added = JoinRow(number: try store.ids.take(), left: row.left, right: row.right)
        (added.leftPlace, added.rightPlace) = (row.leftPlace, row.rightPlace)
        joinTracker(join).insert(added)
        return false
    }

    /// Reverts the removal of a duplicate row of a member, as long as the removal is not saved.
    func restoreDuplicate(_ row: JoinRow, _ join: Int) throws {
        publish()
        let layers = store.layers.state.withLock { $0.layers }
        guard layers.topKind(of: row._$id, entity: join, in: [id]) == .delete else { return }
        if try cancelDelete(of: row, join) { recordUndelete(row, join) }
    }

    /// The row of a member that was removed in this context and whose removal is not yet saved. Adding the member again
    /// reverts the removal.
    ///
    /// - Parameter number: the preferred row if there are several.
    private func removedPair(_ join: Int, _ left: Int64, _ right: Int64, like number: Int64? = nil) throws -> JoinRow? {
        var found: JoinRow?
        for part in try currentSnapshot().layers.parts(of: join, in: [id]).reversed() where part.kinds.contains(.delete)
        {
            for index in part.places(ofRowsLike: [.integer(left), .integer(right)], in: JoinRow.Column.ends) {
                let change = part.typed(JoinRow.self).changes[index]
                guard change.kind == .delete, change.row.left == left, change.row.right == right else { continue }
                var row = change.lastSeen
                if let beneath = change.rowBelow {
                    row = beneath
                    row._$copy(change.columns, from: change.row)
                }
                if number == nil || row._$id == number { return row }
                found = found ?? row
            }
        }
        return found
    }

    /// Reverts the removal of a row.
    ///
    /// - Returns: whether the member exists again; false if others have removed it too, or if a commit is writing the
    ///   removal at this moment.
    private func cancelDelete(of row: JoinRow, _ join: Int) throws -> Bool {
        try !cancelDeletes(of: RowChanges(ids: [row._$id], changes: [.insert(row)]), entity: join).isEmpty
    }

    func remove<Owner: Model>(_ object: some Model, from owner: Owner, _ relationship: Int) throws {
        let resolved = store.schema.entities[Int(owner._$state.entity)].info.relationships[relationship]
        try store.schema.checkOpened(resolved.destination)
        noteTurn()
        switch resolved.storage {
        case .foreignKey(let column, let order):
            if try object._$row._$value(at: column) == .integer(owner.id.rawValue) {
                object.setReference(nil, at: column)
            }
            if let order { try removePair(order, 0, owner, object) }
        case .join(let join, let own, _, _):
            try removePair(join, own, owner, object)
        }
    }

    private func removePair(_ join: Int, _ own: Int, _ owner: some Model, _ object: some Model) throws {
        for row in try joinRows(join, own, owner.id.rawValue) where row.end(1 - own) == object.id.rawValue {
            joinTracker(join).delete(row, self)
        }
    }

    /// Gives places to those members without a place that precede the new position of the moved member, and to the
    /// moved member itself. These members were added through their to-one side. Their order is the order of queries:
    /// after all members that have a place, by their ids.
    ///
    /// - Returns: whether the moved member goes after all members that already had a place.
    private func givePlaces(
        _ order: Int,
        _ members: [Int64],
        of info: EntityInfo,
        in owner: some Model,
        moving moved: Int64,
        before next: Int64?
    ) throws -> Bool {
        let placed = Set(try joinRows(order, 0, owner.id.rawValue).map { $0.end(1) })
        let isLast = next.map { !placed.contains($0) } ?? true
        for member in members where !placed.contains(member) {
            guard member == moved || (isLast && member < next ?? .max),
                let object = try anyObject(member, entity: info.index)
            else { continue }
            try addPair(order, 0, owner, object, isMember: true)
        }
        return isLast
    }

    /// Gives a member a place between two others. Only the row of the moved member changes, unless the fractions
    /// between the two neighbours are used up.
    func move<Owner: Model>(
        _ object: some Model,
        before next: (some Model)?,
        in owner: Owner,
        _ relationship: Int
    ) throws {
        let resolved = store.schema.entities[Int(owner._$state.entity)].info.relationships[relationship]
        try store.schema.checkOpened(resolved.destination)
        let moved = object.id.rawValue
        var next = next?.id.rawValue
        let pair: (join: Int, own: Int)
        switch resolved.storage {
        case .foreignKey(let column, let order?):
            pair = (order, 0)
            let info = store.schema.entities[resolved.destination].info
            let members = try info.numbers(in: self, column: column, leadingTo: owner.id.rawValue)
            for member in [moved, next].compactMap(\.self) where !members.contains(member) {
                throw Self.noMember(of: resolved)
            }
            if next == moved { return }
            if try givePlaces(order, members, of: info, in: owner, moving: moved, before: next) { next = nil }
        case .join(let join, let own, _, .some): pair = (join, own)
        default:
            throw StrataError(
                .invalidState,
                "The relationship '\(resolved.name)' has no order. Declare it with ordered: true."
            )
        }
        func isLess(_ left: JoinRow, _ right: JoinRow) -> Bool {
            let places = (left.place(pair.own) ?? .infinity, right.place(pair.own) ?? .infinity)
            // The order of queries: ties are broken by the members' ids.
            let ends = (left.end(1 - pair.own), right.end(1 - pair.own))
            return places.0 == places.1 ? ends.0 < ends.1 : places.0 < places.1
        }
        var rows = try joinRows(pair.join, pair.own, owner.id.rawValue, hidingDuplicates: true).sorted(by: isLess)
        guard let from = rows.firstIndex(where: { $0.end(1 - pair.own) == moved }) else {
            throw Self.noMember(of: resolved)
        }
        if next == moved { return }
        let old = rows.remove(at: from)
        var target = rows.count
        if let next {
            guard let found = rows.firstIndex(where: { $0.end(1 - pair.own) == next }) else {
                throw Self.noMember(of: resolved)
            }
            target = found
        }
        let before = target > 0 ? rows[target - 1].place(pair.own) ?? 0 : (rows.first?.place(pair.own) ?? 1) - 2
        let after = target < rows.count ? rows[target].place(pair.own) ?? before + 2 : before + 2
        let place = (before + after) / 2
        noteTurn()
        let tracker = joinTracker(pair.join)
        if place > before && place < after {
            var row = old
            row.setPlace(place, pair.own)
            tracker.update(old, to: row, self)
            return
        }
        rows.insert(old, at: target)
        for (index, old) in rows.enumerated() {
            var row = old
            row.setPlace(Double(index + 1), pair.own)
            if row.place(pair.own) != old.place(pair.own) { tracker.update(old, to: row, self) }
        }
    }

    private static func noMember(of relationship: ResolvedRelationship) -> StrataError {
        StrataError(
            .invalidState,
            "The object to move, or the one to move it before, is not a member of '\(relationship.name)'. Insert it "
                + "first."
        )
    }
}

extension JoinRow {
    /// One of the two ends, by the index of its column.
    func end(_ column: Int) -> Int64 { column == Column.left ? left : right }

    /// The place among the members of the end in this column.
    func place(_ column: Int) -> Double? { column == Column.left ? leftPlace : rightPlace }

    mutating func setPlace(_ place: Double, _ column: Int) {
        if column == Column.left { leftPlace = place } else { rightPlace = place }
    }
}
