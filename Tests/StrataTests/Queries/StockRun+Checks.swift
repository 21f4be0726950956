@testable import Strata

extension StockRun {
    /// Compares everything that a context shows with the expected state.
    func check(_ context: ObjectContext, at level: Int, questions: Int) throws {
        let view = stateModel.view(level)
        try checkObjects(context, view)
        try checkRelationships(context, view)
        let reference = try StockReference(view, schema: context.store.schema, fingerprint: fingerprint)
        for _ in 0..<questions { ask(context, reference) }
    }

    /// The context finds every existing object with its values, and no other.
    private func checkObjects(_ context: ObjectContext, _ view: StockStateModel.View) throws {
        for number in numbers {
            switch entities[number] {
            case 0: try checkObject(StockItem.self, number, context, view)
            case 1: try checkObject(StockShelf.self, number, context, view)
            case 2: try checkObject(StockHouse.self, number, context, view)
            case 3: try checkObject(StockLid.self, number, context, view)
            default: try checkObject(StockTag.self, number, context, view)
            }
        }
    }

    private func checkObject<Object: StockModel>(
        _ model: Object.Type,
        _ number: Int64,
        _ context: ObjectContext,
        _ view: StockStateModel.View
    ) throws {
        let found = try context.find(ObjectID<Object>(rawValue: number, fingerprint: fingerprint))
        guard let row = view.rows[number] else {
            if found != nil { fail("\(model) \(number) is found in context \(context.id) and should be gone") }
            return
        }
        guard let found else { return fail("\(model) \(number) is not found in context \(context.id)") }
        for field in Object.fields {
            let value = try field.read(found)
            if !value.isSame(as: row.values[field.column]) {
                let name = Object._$schema.columns[field.column].name
                fail("\(model) \(number).\(name) is \(value) in context \(context.id), not \(row.values[field.column])")
            }
        }
    }

    private func checkRelationships(_ context: ObjectContext, _ view: StockStateModel.View) throws {
        for number in view.numbers(0).shuffled(using: &generator).prefix(4) {
            guard let item = try find(StockItem.self, number, context) else { continue }
            let tags = view.members(.itemTags, of: number)
            try compare(item.tags, tags, "tags of item \(number) in context \(context.id)")
            let shelf = view.rows[number].flatMap { row -> Int64? in
                guard case .integer(let shelf) = row.values[StockStateModel.references[0].column] else { return nil }
                return view.rows[shelf] == nil ? nil : shelf
            }
            if item.shelf?.id.rawValue != shelf { fail("the shelf of item \(number) is not \(shelf ?? 0)") }
            let lid = view.referring(3, StockStateModel.references[2].column, to: number).first
            if item.lid?.id.rawValue != lid { fail("the lid of item \(number) is not \(lid ?? 0)") }
        }
        for number in view.numbers(1).shuffled(using: &generator).prefix(2) {
            guard let shelf = try find(StockShelf.self, number, context) else { continue }
            try compare(
                shelf.items,
                view.referring(0, StockStateModel.references[0].column, to: number),
                "items of \(number) in context \(context.id)"
            )
        }
        for number in view.numbers(2).prefix(2) {
            guard let house = try find(StockHouse.self, number, context) else { continue }
            if generator.chance(2) { _ = try context.fetch(StockHouse.including { $0.shelves.including { $0.items } }) }
            try compare(
                house.shelves,
                view.members(.houseShelves, of: number),
                "shelves of \(number) in context \(context.id)"
            )
        }
        for number in view.numbers(4).shuffled(using: &generator).prefix(2) {
            guard let tag = try find(StockTag.self, number, context) else { continue }
            if generator.chance(2) { _ = try context.fetch(StockTag.including { $0.items.including { $0.lid } }) }
            let items = view.pairs.keys.filter {
                $0.join == .itemTags && $0.right == number && view.rows[$0.left] != nil
            }
            try compare(tag.items, items.map(\.left).sorted(), "items of tag \(number) in context \(context.id)")
        }
    }

    /// Checks a to-many relationship through every kind of access.
    private func compare<Object: Model>(_ many: Many<Object>, _ expected: [Int64], _ name: String) throws {
        cases += 1
        let found = try many.fetch()
        if found.map(\.id.rawValue) != expected { fail("\(name) are \(found.map(\.id.rawValue)), not \(expected)") }
        if try many.count != expected.count {
            fail("the number of \(name) is \(try many.count), not \(expected.count)")
        }
        if try many.first?.id.rawValue != expected.first { fail("the first of \(name) is not \(expected)") }
        if try many.last(2).map(\.id.rawValue) != expected.suffix(2) { fail("the last of \(name) are not \(expected)") }
        if try many.ids.map(\.rawValue) != expected { fail("the ids of \(name) are not \(expected)") }
        if try zip(found, many.fetch()).contains(where: { $0 !== $1 }) { fail("\(name) are other objects at once") }
    }
}
