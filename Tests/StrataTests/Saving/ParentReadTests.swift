import Strata
import Testing

/// A parent reads a value that a child has saved to it, and the child then commits the value.
@Suite("Values that a parent has read before a child commits them") struct ParentReadTests {
    private static let edits = ["delete", "edit a", "edit b"]

    private func edit(_ what: String, _ cell: Cell, _ context: ObjectContext) {
        switch what {
        case "delete": context.delete(cell)
        case "edit a": cell.a = 7
        default: cell.b = 7
        }
    }

    private func result(_ what: String, of a: Int) -> [Int]? {
        switch what {
        case "delete": nil
        case "edit a": [7, 0, 0]
        default: [a, 7, 0]
        }
    }

    @Test(
        "A value that the parent has read does not conflict with the parent's later commit",
        arguments: edits,
        [false, true]
    )
    func seen(_ what: String, isSavedOn: Bool) async throws {
        let fixture = try await SavingFixture()
        let id = try await fixture.cell(0)
        try await fixture.edit(id, in: "deep", a: 1)
        #expect(try await fixture.save("deep") == .success)
        if isSavedOn { #expect(try await fixture.save(.network) == .success) }
        try await fixture.stack.on(.network) { context in
            let cell = try #require(try context.find(id))
            #expect(cell.a == 1)
            self.edit(what, cell, context)
        }
        #expect(try await fixture.commit("deep") == .success)
        #expect(try fixture.stored(id) == [1, 0, 0])
        #expect(try await fixture.commit(.network) == .success)
        #expect(try fixture.stored(id) == result(what, of: 1))
        try await fixture.close()
    }

    @Test(
        "A value that the parent has read does not conflict if the child commits during the parent's block",
        arguments: edits
    )
    func openBlock(_ what: String) async throws {
        let fixture = try await SavingFixture()
        let id = try await fixture.cell(0)
        try await fixture.edit(id, in: "deep", a: 1)
        #expect(try await fixture.save("deep") == .success)
        let deep = fixture.deep
        try await fixture.stack[.network].perform { context in
            let cell = try #require(try context.find(id))
            #expect(cell.a == 1)
            self.edit(what, cell, context)
            try await deep.commit()
            try context.commit()
        }
        #expect(try fixture.stored(id) == result(what, of: 1))
        try await fixture.close()
    }

    @Test("A value that the parent has not read is a conflict", arguments: edits)
    func unseen(_ what: String) async throws {
        let fixture = try await SavingFixture()
        let id = try await fixture.cell(0)
        try await fixture.stack.on(.network) { context in
            self.edit(what, try #require(try context.find(id)), context)
        }
        try await fixture.edit(id, in: .other, a: 1)
        #expect(try await fixture.commit(.other) == .success)
        let outcome = try await fixture.commit(.network)
        #expect(outcome == (what == "edit b" ? .success : .conflict(id, "a")))
        try await fixture.close()
    }

    @Test("A value that another context commits after a parent's edit is a conflict", arguments: ["delete", "edit a"])
    func laterValue(_ what: String) async throws {
        let fixture = try await SavingFixture()
        let id = try await fixture.cell(0)
        try await fixture.edit(id, in: .other, a: 1)
        #expect(try await fixture.save(.other) == .success)
        try await fixture.stack.on(.main) { context in
            self.edit(what, try #require(try context.find(id)), context)
        }
        // A context beside main, whose value main has not seen.
        try await fixture.stack.background(parent: .named(.root)) { context in
            try #require(try context.find(id)).a = 2
            try context.commit()
        }
        #expect(try await fixture.commit(.main) == .conflict(id, "a"))
        try await fixture.close()
    }
}
