import Testing

@testable import Strata

@Model private final class Chore {
    var name: String
    var parent: Chore?
    @Relationship(inverse: \Chore.parent, ordered: true) var parts: Many<Chore>
}

@Suite("Members in a custom order")
struct OrderedMembersTests {
    @Test("Members that were added from their to-one side come last until they are moved", arguments: [false, true])
    func placeless(isCommitted: Bool) async throws {
        let stack = try await ContextStack.open(.inMemory, models: [Chore.self], stack: .rootOnly)
        try await stack.background { context in
            let root = context.insert(Chore(name: "root"))
            let (one, two, three) = (Chore(name: "1"), Chore(name: "2"), Chore(name: "3"))
            for step in [one, two, three] { context.insert(step) }
            one.parent = root
            two.parent = root
            root.parts.insert(three)
            if isCommitted { try context.commit() }
            func order() throws -> [String] { try root.parts.fetch().map(\.name) }
            #expect(try order() == ["3", "1", "2"])
            try root.parts.move(two, before: one)
            #expect(try order() == ["3", "2", "1"])
            try root.parts.move(three, before: nil)
            #expect(try order() == ["2", "1", "3"])
            try context.commit()
            #expect(try order() == ["2", "1", "3"])
            let error = #expect(throws: StrataError.self) { try root.parts.move(root, before: nil) }
            #expect(error?.code == .invalidState)
        }
        let names = try await stack.background { context in
            try #require(try context.first(Chore.where { $0.parent == nil })).parts.fetch().map(\.name)
        }
        #expect(names == ["2", "1", "3"])
        try await stack.close()
    }

    @Test("A member that two contexts have added is committed at the position where it was shown")
    func addedTwice() async throws {
        let stack = try await ContextStack.open(.inMemory, models: [Dish.self, Spice.self])
        let cook = try stack.create(.private, named: "cook")
        try await stack.background { context in
            let dish = context.insert(Dish(name: "soup"))
            for name in ["salt", "mace", "dill"] { context.insert(Spice(name: name)) }
            dish.spices.insert(try #require(try context.first(Spice.where { $0.name == "salt" })))
            try context.commit()
        }
        func dish(_ context: ObjectContext) throws -> Dish { try #require(try context.first(Dish.all)) }
        func spice(_ name: String, _ context: ObjectContext) throws -> Spice {
            try #require(try context.first(Spice.where { $0.name == name }))
        }
        try await cook.perform { try dish($0).spices.insert(try spice("dill", $0)) }
        try await stack.on(.main) { try dish($0).spices.insert(try spice("dill", $0)) }
        try await cook.perform { context in
            let soup = try dish(context)
            try soup.spices.move(try spice("dill", context), before: try spice("salt", context))
            soup.spices.insert(try spice("mace", context))
            try context.save()
        }
        let shown = try await stack.on(.main) { try dish($0).spices.fetch().map(\.name) }
        let committed = try await stack.on(.main) { context in
            try context.commit()
            return try dish(context).spices.fetch().map(\.name)
        }
        #expect(committed == shown)
        #expect(Set(shown) == ["salt", "mace", "dill"])
        try await stack.close()
    }
}

@Model private final class Dish {
    var name: String
    @Relationship(inverse: \Spice.dishes, ordered: true) var spices: Many<Spice>
}

@Model private final class Spice {
    var name: String
    var dishes: Many<Dish>
}
