import Foundation

@testable import Strata

/// Random predicates over one kind of column.
extension StockRun {
    func pick<Value>(_ pool: [Value]) -> Value { pool.randomElement(using: &generator)! }

    private func some<Value>(_ pool: [Value]) -> [Value] {
        // More than sixteen values are bound in another way than fewer values.
        (0..<(generator.chance(5) ? 18 : generator.below(4))).map { _ in pick(pool) }
    }

    func equal<Root: Model, Value: ColumnValue>(
        _ column: Column<Root, Value>,
        _ pool: [Value.Unwrapped]
    ) -> Condition<Root> {
        switch generator.below(6) {
        case 0: column == pick(pool)
        case 1: column != pick(pool)
        case 2: column == nil
        case 3: column != nil
        case 4: column.in(some(pool))
        default: column.in(some(pool).map(Optional.some) + [nil])
        }
    }

    func ordered<Root: Model, Value: ColumnValue>(
        _ column: Column<Root, Value>,
        _ pool: [Value.Unwrapped]
    ) -> Condition<Root> where Value.Unwrapped: OrderedAttributeValue {
        let (one, two) = (pick(pool), pick(pool))
        let (low, high) = (min(one, two), max(one, two))
        return switch generator.below(9) {
        case 0: column < one
        case 1: column <= one
        case 2: column > one
        case 3: column >= one
        case 4: column.between(low...high)
        case 5: column.between(low..<high)
        default: equal(column, pool)
        }
    }

    func text<Root: Model, Value: TextColumnValue>(_ column: Column<Root, Value>) -> Condition<Root> {
        let text = pick(StockValues.texts)
        let options = pick(
            [[], .caseInsensitive, .diacriticInsensitive, [.caseInsensitive, .diacriticInsensitive]] as [TextOptions]
        )
        return switch generator.below(12) {
        case 0: column.equals(text, options)
        case 1: column.contains(text, options)
        case 2: column.hasPrefix(text, options)
        case 3: column.hasSuffix(text, options)
        case 4: column.like(pick(["%", "a%", "%b", "_", "%e%", "\\%", "A_c"]), options)
        case 5: column.matches(pick(["a", "^[a-z]+$", "(?i)AB", "^$"]))
        case 6: ordered(column.lowercased(), StockValues.texts)
        case 7: ordered(column.uppercased(), StockValues.texts)
        case 8: ordered(column.length, [0, 1, 2, 3])
        default: ordered(column, StockValues.texts)
        }
    }

    /// Terms joined at random.
    func joined<Root: Model>(_ depth: Int, _ term: (Int) -> Condition<Root>) -> Condition<Root> {
        guard depth > 0 else { return term(0) }
        return switch generator.below(7) {
        case 0, 1: joined(depth - 1, term) && joined(depth - 1, term)
        case 2, 3: joined(depth - 1, term) || joined(depth - 1, term)
        case 4: !joined(depth - 1, term)
        default: term(depth)
        }
    }

    func members<Root: Model, Member: Model>(
        _ many: RelationshipExpression<Root, Member>,
        _ condition: () -> Condition<Member>
    ) -> Condition<Root> {
        switch generator.below(7) {
        case 0: many.isEmpty
        case 1: many.any { _ in condition() }
        case 2: many.all { _ in condition() }
        case 3: many.none { _ in condition() }
        case 4: ordered(many.count, [0, 1, 2])
        case 5: ordered(many.count(where: { _ in condition() }), [0, 1, 2])
        default: many.contains(id(Member.self))
        }
    }

    /// The id of an object of a model. The object may be deleted.
    func id<Object: Model>(_ model: Object.Type) -> ObjectID<Object> {
        let entity = stockModels.firstIndex { $0 == model }
        let known = entities.filter { $0.value == entity }.keys.sorted()
        return ObjectID(rawValue: known.randomElement(using: &generator) ?? 1, fingerprint: fingerprint)
    }

    func id<Root: Model, Object: Model>(_ column: IDColumn<Root, Object>) -> Condition<Root> {
        switch generator.below(5) {
        case 0: column == id(Object.self)
        case 1: column != id(Object.self)
        case 2: column < id(Object.self)
        case 3: column > id(Object.self)
        default: column.in((0..<generator.below(4)).map { _ in id(Object.self) })
        }
    }

    func leading<Root: Model, Object: Model>(_ one: ToOne<Root, Object>) -> Condition<Root> {
        switch generator.below(4) {
        case 0: one == id(Object.self)
        case 1: one != id(Object.self)
        case 2: one == ObjectID<Object>?.none
        default: one != ObjectID<Object>?.none
        }
    }
}

/// Random predicates over each of the models.
extension StockRun {
    func itemCondition(_ depth: Int) -> Condition<StockItem> { joined(depth) { self.itemTerm($0) } }
    func shelfCondition(_ depth: Int) -> Condition<StockShelf> { joined(depth) { self.shelfTerm($0) } }
    func houseCondition(_ depth: Int) -> Condition<StockHouse> { joined(depth) { self.houseTerm($0) } }
    func lidCondition(_ depth: Int) -> Condition<StockLid> { joined(depth) { self.lidTerm($0) } }
    func tagCondition(_ depth: Int) -> Condition<StockTag> { joined(depth) { self.tagTerm($0) } }

    private func itemTerm(_ depth: Int) -> Condition<StockItem> {
        let item = StockItem.columns
        return switch generator.below(35) {
        case 0, 1: text(item.name)
        case 2, 3: text(item.note)
        case 4, 5: ordered(item.rank, StockValues.integers)
        case 6: ordered(item.size, StockValues.integers)
        case 7: ordered(item.small, StockValues.smalls)
        case 8: ordered(item.weight, StockValues.reals)
        case 9: ordered(item.ratio, StockValues.reals)
        case 10: ordered(item.cost, StockValues.decimals)
        case 11: ordered(item.price, StockValues.decimals)
        case 12: ordered(item.total, StockValues.unsigned)
        case 13: ordered(item.extra, StockValues.unsigned)
        case 14: ordered(item.madeAt, StockValues.dates)
        case 15: ordered(item.key, StockValues.keys)
        case 16: equal(item.bytes, StockValues.bytes)
        case 17: equal(item.thumb, StockValues.bytes)
        case 18: equal(item.isDone, [false, true])
        case 19: equal(item.isLiked, [false, true])
        case 20: equal(item.flavor, StockValues.flavors)
        case 21: equal(item.mood, StockValues.flavors)
        case 22: equal(item.spot, StockValues.spots)
        case 23: ordered(pick([item.rank + 1, item.rank * 2, item.rank - 3]), StockValues.integers)
        case 24:
            ordered(pick([item.rank + item.size, item.rank * item.size, item.size - item.rank]), StockValues.integers)
        case 25: pick([item.rank < item.size, item.rank == item.size, item.name != item.note, item.cost <= item.price])
        case 26: id(item.id)
        case 27: leading(item.shelf)
        case 28: leading(item.lid)
        case 29: text(item.shelf.title)
        case 30: generator.chance(2) ? text(item.shelf.house.name) : ordered(item.shelf.floor, StockValues.integers)
        case 31: text(item.lid.color)
        case 33: pick([.sql("\(item.rank) % \(2) = 0"), .sql("\(item.shelf.floor) > \(pick(StockValues.integers))")])
        case 32: members(item.shelf.items) { self.itemCondition(max(0, depth - 1)) }
        default: members(item.tags) { self.tagCondition(max(0, depth - 1)) }
        }
    }

    private func shelfTerm(_ depth: Int) -> Condition<StockShelf> {
        let shelf = StockShelf.columns
        return switch generator.below(6) {
        case 0: text(shelf.title)
        case 1: ordered(shelf.floor, StockValues.integers)
        case 2: leading(shelf.house)
        case 3: text(shelf.house.name)
        case 4: members(shelf.items) { self.itemCondition(max(0, depth - 1)) }
        default: members(shelf.house.shelves) { self.shelfCondition(max(0, depth - 1)) }
        }
    }

    private func houseTerm(_ depth: Int) -> Condition<StockHouse> {
        let house = StockHouse.columns
        return switch generator.below(3) {
        case 0: text(house.name)
        case 1: id(house.id)
        default: members(house.shelves) { self.shelfCondition(max(0, depth - 1)) }
        }
    }

    private func lidTerm(_ depth: Int) -> Condition<StockLid> {
        let lid = StockLid.columns
        return switch generator.below(5) {
        case 0: text(lid.color)
        case 1: leading(lid.item)
        case 2: ordered(lid.item.price, StockValues.decimals)
        case 3: text(lid.item.shelf.house.name)
        default: members(lid.item.tags) { self.tagCondition(max(0, depth - 1)) }
        }
    }

    private func tagTerm(_ depth: Int) -> Condition<StockTag> {
        let tag = StockTag.columns
        return switch generator.below(3) {
        case 0: text(tag.name)
        case 1: id(tag.id)
        default: members(tag.items) { self.itemCondition(max(0, depth - 1)) }
        }
    }
}
