import Testing

@testable import Strata

@Model private final class Crossing {
    @Attribute(.unique) var name: String
    var note: String = ""
    var first: Road?
    var second: Road?
}

@Model private final class Road {
    var name: String
    @Relationship(inverse: \Crossing.first) var firsts: Many<Crossing>
    @Relationship(inverse: \Crossing.second) var seconds: Many<Crossing>
}

/// What a commit makes of rows that its deletes concern.
@Suite("Consequences of deletes at a commit")
struct ConsequenceTests {
    private func open() async throws -> ContextStack {
        try await ContextStack.open(.inMemory, models: [Crossing.self, Road.self], stack: .rootOnly)
    }

    @Test("H23 a delete that meets one reference of a row in the store leaves what the commit sets in the other")
    func twoReferences() async throws {
        let stack = try await open()
        try await stack.background { context in
            let (old, new) = (context.insert(Road(name: "old")), context.insert(Road(name: "new")))
            let crossing = context.insert(Crossing(name: "x", second: old))
            try context.commit()
            crossing.second = new
            context.delete(old)
            let id = crossing.id
            let oldID = old.id
            try await stack.background(parent: .named(.root)) { other in
                try #require(try other.find(id)).first = try other.find(oldID)
                try other.commit()
            }
            try context.commit()
            let values = (crossing.first == nil, crossing.second?.name)
            #expect(values == (true, "new"))
        }
        try await stack.background { context in
            let crossing = try #require(try context.first(Crossing.all))
            let values = (crossing.first == nil, crossing.second?.name)
            #expect(values == (true, "new"))
        }
    }

    @Test(
        "C17 a reference that the policy leaves to others may lead to what they have deleted",
        arguments: [MergePolicy.theirs, .mine, .error]
    )
    func referenceGivenUp(policy: MergePolicy) async throws {
        let stack = try await open()
        try await stack.background { context in
            let (old, new) = (context.insert(Road(name: "old")), context.insert(Road(name: "new")))
            let crossing = context.insert(Crossing(name: "x"))
            try context.commit()
            let (id, oldID, newID) = (crossing.id, old.id, new.id)
            crossing.first = old
            crossing.note = "mine"
            try await stack.background(parent: .named(.root)) { other in
                try #require(try other.find(id)).first = try other.find(newID)
                other.delete(try #require(try other.find(oldID)))
                try other.commit()
            }
            context.mergePolicy = policy
            guard policy == .theirs else {
                let error = #expect(throws: StrataError.self) { try context.commit() }
                #expect(error?.code == .missingReference)
                return
            }
            try context.commit()
            let values = (crossing.first?.name, crossing.note)
            #expect(values == ("new", "mine"))
        }
        let expected = policy == .theirs ? "mine" : ""
        try await stack.background { context in
            let crossing = try #require(try context.first(Crossing.all))
            let values = (crossing.first?.name, crossing.note)
            #expect(values == ("new", expected))
        }
        try await stack.close()
    }

    @Test(
        "H24 unique values are swapped also where others have changed something else of the rows",
        arguments: [MergePolicy.error, .mine, .theirs]
    )
    func swapMeetsOthers(policy: MergePolicy) async throws {
        let stack = try await open()
        try await stack.background { context in
            let (one, two) = (context.insert(Crossing(name: "a")), context.insert(Crossing(name: "b")))
            try context.commit()
            let (oneID, twoID) = (one.id, two.id)
            (one.name, two.name) = ("b", "a")
            try await stack.background(parent: .named(.root)) { other in
                try #require(try other.find(twoID)).note = "two"
                try #require(try other.find(oneID)).note = "one"
                try other.commit()
            }
            context.mergePolicy = policy
            try context.commit()
            #expect([one.name, one.note, two.name, two.note] == ["b", "one", "a", "two"])
        }
        try await stack.background { context in
            let rows = try context.rows(Crossing.all)
            #expect(rows.map(\.name) == ["b", "a"] && rows.map(\.note) == ["one", "two"])
        }
        try await stack.close()
    }

    @Test("H24 a value that was freed for another row stays where the policy leaves it to others: then there are two")
    func freedAndGivenUp() async throws {
        let stack = try await open()
        try await stack.background { context in
            let (one, two) = (context.insert(Crossing(name: "a")), context.insert(Crossing(name: "b")))
            try context.commit()
            let twoID = two.id
            (one.name, two.name) = ("c", "d")
            try await stack.background(parent: .named(.root)) { other in
                try #require(try other.find(twoID)).name = "c"
                try other.commit()
            }
            context.mergePolicy = .theirs
            let error = #expect(throws: StrataError.self) { try context.commit() }
            #expect(error?.code == .notUnique)
        }
        let names = try await stack.background { try $0.rows(Crossing.all).map(\.name) }
        #expect(names == ["a", "c"])
        try await stack.close()
    }

    @Test("H24 a value whose holder is edited otherwise in the same commit is there already")
    func editedHolder() async throws {
        let stack = try await open()
        try await stack.background { context in
            let low = context.insert(Crossing(name: "low"))
            let high = context.insert(Crossing(name: "high"))
            try context.commit()
            low.name = "high"
            high.note = "edited"
            let error = #expect(throws: StrataError.self) { try context.commit() }
            #expect(error?.code == .notUnique)
            #expect(error?.details.map(\.number) == [low.id.number])
            context.rollback()
            // Given away in the same commit, it may be taken.
            low.name = "high"
            high.name = "low"
            try context.commit()
        }
    }

    @Test("H24 a row that is brought back while its value was taken is named")
    func broughtBack() async throws {
        let stack = try await open()
        try await stack.background { context in
            context.mergePolicy = .mine
            let crossing = context.insert(Crossing(name: "x"))
            try context.commit()
            crossing.note = "mine"
            let id = crossing.id
            try await stack.background(parent: .named(.root)) { other in
                other.delete(try #require(try other.find(id)))
                try other.commit()
                other.insert(Crossing(name: "x"))
                try other.commit()
            }
            let error = #expect(throws: StrataError.self) { try context.commit() }
            #expect(error?.code == .notUnique)
            #expect(error?.details.map(\.number) == [id.number])
        }
    }

    @Test(
        "C6 who has taken in an uninserted object last has it, whichever is inserted first",
        arguments: [true, false]
    )
    func drafts(isOwnerFirst: Bool) async throws {
        let stack = try await open()
        try await stack.background { context in
            let (one, two) = (Road(name: "one"), Road(name: "two"))
            let crossing = Crossing(name: "x", first: one)
            two.firsts.insert(crossing)
            if isOwnerFirst { context.insert(two) } else { context.insert(crossing) }
            let name = crossing.first?.name
            #expect(name == "two")
        }
    }
}
