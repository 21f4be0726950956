import Testing

@testable import Strata

@Model private final class Chore {
    var name: String
    var parent: Chore?
    @Relationship(inverse: \Chore.parent, ordered: true) var parts: Many<Chore>
}

@Suite("Members in an order of their own")
struct OrderedMembersTests {
    @Test("C9 members that came by their to-one side are last until they are moved", arguments: [false, true])
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
            #expect(error?.code == .misuse)
        }
        let names = try await stack.background { context in
            try #require(try context.first(Chore.where { $0.parent == nil })).parts.fetch().map(\.name)
        }
        #expect(names == ["2", "1", "3"])
        try await stack.close()
    }
}
