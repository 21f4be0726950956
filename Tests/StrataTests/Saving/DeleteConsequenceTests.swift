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

/// How a commit handles the rows that its deletes affect.
@Suite("Consequences of deletes at a commit")
struct DeleteConsequenceTests {
    private func open() async throws -> ContextStack {
        try await ContextStack.open(.inMemory, models: [Crossing.self, Road.self], stack: .rootOnly)
    }

    @Test(
        "A delete that clears one reference of a stored row keeps the value that the commit sets in another reference"
    )
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
        "A reference to an object that others deleted is refused, unless .theirs drops the reference",
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
        "Unique values can be swapped even if others have changed other columns of the rows",
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

    @Test("A commit is refused if .theirs leaves two rows with the same unique value")
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

    @Test("A commit cannot take a unique value from a row that keeps it, even if the commit edits that row otherwise")
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
            #expect(error?.details.map(\.id) == [low.id.rawValue])
            context.rollback()
            // If the same commit gives the value away, another row may take it.
            low.name = "high"
            high.name = "low"
            try context.commit()
        }
    }

    @Test("The error names a row that .mine brings back after another row has taken its unique value")
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
            #expect(error?.details.map(\.id) == [id.rawValue])
        }
    }

    @Test(
        "An object that is not inserted yet belongs to the last owner that added it, whichever is inserted first",
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
