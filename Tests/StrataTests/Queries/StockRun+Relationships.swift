@testable import Strata

extension StockRun {
    // MARK: Deleting

    func deleteAny(_ context: ObjectContext, _ level: Int) throws {
        guard let entity = [0, 0, 1, 2, 3, 4].randomElement(using: &generator), let number = any(entity, level) else {
            return
        }
        note(level, "delete \(number) of model \(entity)")
        switch entity {
        case 0: if let object = try find(StockItem.self, number, context) { context.delete(object) }
        case 1: if let object = try find(StockShelf.self, number, context) { context.delete(object) }
        case 2: if let object = try find(StockHouse.self, number, context) { context.delete(object) }
        case 3: if let object = try find(StockLid.self, number, context) { context.delete(object) }
        default: if let object = try find(StockTag.self, number, context) { context.delete(object) }
        }
        delete(number, entity, level)
    }

    private func delete(_ number: Int64, _ entity: Int, _ level: Int) {
        stateModel.add(.delete(number), at: level)
        applyRules(number, entity, level)
    }

    /// Applies the delete rules to the rows that a context sees.
    func applyRules(_ number: Int64, _ entity: Int, _ level: Int) {
        let view = stateModel.view(level)
        for pair in view.pairs.keys where pair.has(number) { stateModel.add(.unpair(pair), at: level) }
        for reference in StockStateModel.references where reference.destination == entity {
            for referring in view.referring(reference.entity, reference.column, to: number) {
                if reference.cascades {
                    delete(referring, reference.entity, level)
                } else {
                    stateModel.add(.set(referring, reference.column, .null), at: level)
                }
            }
        }
    }

    /// Applies the rules of all deletes of a level once more. A save does so too, because rows may have been added
    /// since the delete.
    func applyRulesAgain(_ level: Int) {
        for entry in stateModel.levels[level]?.entries ?? [] {
            guard case .delete(let number) = entry.edit, let entity = entities[number] else { continue }
            applyRules(number, entity, level)
        }
    }

    // MARK: To-one

    func setReference(_ context: ObjectContext, _ level: Int) throws {
        let isEmptied = generator.chance(4)
        switch generator.below(3) {
        case 0:
            guard let item = any(0, level), let shelf = any(1, level),
                let object = try find(StockItem.self, item, context)
            else { return }
            note(level, "item \(item) to shelf \(isEmptied ? 0 : shelf)")
            object.shelf = isEmptied ? nil : try find(StockShelf.self, shelf, context)
            set(item, StockStateModel.references[0].column, isEmptied ? .null : .integer(shelf), level)
        case 1:
            guard let shelf = any(1, level), let house = any(2, level),
                let object = try find(StockShelf.self, shelf, context)
            else { return }
            note(level, "shelf \(shelf) to house \(isEmptied ? 0 : house)")
            object.house = isEmptied ? nil : try find(StockHouse.self, house, context)
            set(shelf, StockStateModel.references[1].column, isEmptied ? .null : .integer(house), level)
        default:
            guard let lid = any(3, level), let item = any(0, level),
                let object = try find(StockLid.self, lid, context)
            else { return }
            note(level, "lid \(lid) to item \(isEmptied ? 0 : item)")
            object.item = isEmptied ? nil : try find(StockItem.self, item, context)
            if !isEmptied { freeLids(of: item, but: lid, level) }
            set(lid, StockStateModel.references[2].column, isEmptied ? .null : .integer(item), level)
        }
    }

    private func freeLids(of item: Int64, but lid: Int64?, _ level: Int) {
        let column = StockStateModel.references[2].column
        for other in stateModel.view(level).referring(3, column, to: item) where other != lid {
            set(other, column, .null, level)
        }
    }

    /// The side of the one-to-one relationship that has no column.
    func setLid(_ context: ObjectContext, _ level: Int) throws {
        guard let item = any(0, level), let object = try find(StockItem.self, item, context) else { return }
        let column = StockStateModel.references[2].column
        // Contexts that did not see each other may have given an item two lids. A save refuses that.
        guard stateModel.view(level).referring(3, column, to: item).count < 2 else { return }
        let lid = generator.chance(4) ? nil : any(3, level)
        note(level, "item \(item) gets lid \(lid ?? 0)")
        object.lid = try lid.flatMap { try find(StockLid.self, $0, context) }
        freeLids(of: item, but: lid, level)
        if let lid { set(lid, column, .integer(item), level) }
    }

    // MARK: To-many

    func changeTags(_ context: ObjectContext, _ level: Int) throws {
        guard let item = any(0, level), let tag = any(4, level),
            let left = try find(StockItem.self, item, context), let right = try find(StockTag.self, tag, context)
        else { return }
        let pair = StockStateModel.Pair(join: .itemTags, left: item, right: tag)
        let isMember = stateModel.view(level).pairs[pair] != nil
        let isFromLeft = generator.chance(2)
        if isMember && generator.chance(2) {
            note(level, "item \(item) loses tag \(tag)")
            if isFromLeft { left.tags.remove(right) } else { right.items.remove(left) }
            stateModel.add(.unpair(pair), at: level)
        } else {
            note(level, "item \(item) gets tag \(tag)")
            if isFromLeft { left.tags.insert(right) } else { right.items.insert(left) }
            if !isMember { stateModel.add(.pair(pair, end(of: pair, level)), at: level) }
        }
    }

    func changeShelves(_ context: ObjectContext, _ level: Int) throws {
        guard let house = any(2, level), let shelf = any(1, level),
            let left = try find(StockHouse.self, house, context), let right = try find(StockShelf.self, shelf, context)
        else { return }
        let column = StockStateModel.references[1].column
        let view = stateModel.view(level)
        let pair = StockStateModel.Pair(join: .houseShelves, left: house, right: shelf)
        let isMember = view.rows[shelf]?.values[column] == .integer(house)
        if isMember && generator.chance(2) {
            note(level, "house \(house) loses shelf \(shelf)")
            left.shelves.remove(right)
            set(shelf, column, .null, level)
            if view.pairs[pair] != nil { stateModel.add(.unpair(pair), at: level) }
        } else {
            note(level, "house \(house) gets shelf \(shelf)")
            left.shelves.insert(right)
            set(shelf, column, .integer(house), level)
            if !isMember || view.pairs[pair] == nil { stateModel.add(.pair(pair, end(of: pair, level)), at: level) }
        }
    }

    /// The positions after all others on both sides. Both positions of a member that was added twice count.
    private func end(of pair: StockStateModel.Pair, _ level: Int) -> StockStateModel.Places {
        let others = stateModel.view(level).additions.filter { $0.key.join == pair.join && $0.key != pair }
        func last(_ place: KeyPath<StockStateModel.Places, Double>, _ end: KeyPath<StockStateModel.Pair, Int64>)
            -> Double
        {
            others.filter { $0.key[keyPath: end] == pair[keyPath: end] }
                .flatMap { $0.value.map { $0.places[keyPath: place] } }.max() ?? 0
        }
        return StockStateModel.Places(left: last(\.left, \.left) + 1, right: last(\.right, \.right) + 1)
    }

    func moveTag(_ context: ObjectContext, _ level: Int) throws {
        guard let item = any(0, level), let object = try find(StockItem.self, item, context) else { return }
        let members = stateModel.view(level).members(.itemTags, of: item)
        guard let moved = members.randomElement(using: &generator) else { return }
        let next = (members.filter { $0 != moved } + [nil]).randomElement(using: &generator)!
        guard let tag = try find(StockTag.self, moved, context) else { return }
        note(level, "item \(item) moves tag \(moved) before \(next ?? 0)")
        try object.tags.move(tag, before: try next.flatMap { try find(StockTag.self, $0, context) })
        move(.itemTags, item, moved, before: next, level)
    }

    func moveShelf(_ context: ObjectContext, _ level: Int) throws {
        guard let house = any(2, level), let object = try find(StockHouse.self, house, context) else { return }
        let view = stateModel.view(level)
        let members = view.members(.houseShelves, of: house)
        guard let moved = members.randomElement(using: &generator) else { return }
        let next = (members.filter { $0 != moved } + [nil]).randomElement(using: &generator)!
        guard let shelf = try find(StockShelf.self, moved, context) else { return }
        note(level, "house \(house) moves shelf \(moved) before \(next ?? 0)")
        try object.shelves.move(shelf, before: try next.flatMap { try find(StockShelf.self, $0, context) })
        // Members that were added from their to-one side have no position. If the moved member goes after some of them,
        // these get positions now, after all others.
        func isPlaced(_ member: Int64) -> Bool {
            view.pairs[StockStateModel.Pair(join: .houseShelves, left: house, right: member)] != nil
        }
        let isLast = next.map { !isPlaced($0) } ?? true
        for member in members.sorted()
        where !isPlaced(member) && (member == moved || (isLast && member < next ?? .max)) {
            let pair = StockStateModel.Pair(join: .houseShelves, left: house, right: member)
            stateModel.add(.pair(pair, end(of: pair, level)), at: level)
        }
        move(.houseShelves, house, moved, before: isLast ? nil : next, level)
    }

    /// Places a member between its new neighbours. If there is no number between these, all members get new numbers.
    private func move(_ join: StockStateModel.Join, _ owner: Int64, _ moved: Int64, before next: Int64?, _ level: Int) {
        let view = stateModel.view(level)
        var pairs = view.pairs.filter { $0.key.join == join && $0.key.left == owner }.sorted {
            ($0.value.left, $0.key.right) < ($1.value.left, $1.key.right)
        }
        guard let from = pairs.firstIndex(where: { $0.key.right == moved }) else { return }
        let pair = pairs.remove(at: from)
        let target = next.flatMap { next in pairs.firstIndex { $0.key.right == next } } ?? pairs.count
        let low = target > 0 ? pairs[target - 1].value.left : (pairs.first?.value.left ?? 1) - 2
        let high = target < pairs.count ? pairs[target].value.left : low + 2
        let place = (low + high) / 2
        if place > low && place < high {
            // A position that equals the present one does not count as a change.
            if place != pair.value.left { stateModel.add(.place(pair.key, place), at: level) }
            return
        }
        pairs.insert(pair, at: target)
        for (index, pair) in pairs.enumerated() where pair.value.left != Double(index + 1) {
            stateModel.add(.place(pair.key, Double(index + 1)), at: level)
        }
    }
}

extension StockStateModel.Pair {
    func has(_ number: Int64) -> Bool { left == number || right == number }
}

extension StockStateModel.View {
    /// The members of an ordered relationship, in its order.
    func members(_ join: StockStateModel.Join, of owner: Int64) -> [Int64] {
        var members: [(place: Double, number: Int64)] = []
        switch join {
        case .itemTags:
            for (pair, places) in pairs where pair.join == join && pair.left == owner && rows[pair.right] != nil {
                members.append((places.left, pair.right))
            }
        case .houseShelves:
            for number in referring(1, StockStateModel.references[1].column, to: owner) {
                let place = pairs[StockStateModel.Pair(join: join, left: owner, right: number)]?.left
                members.append((place ?? .infinity, number))
            }
        }
        return members.sorted { ($0.place, $0.number) < ($1.place, $1.number) }.map(\.number)
    }
}
