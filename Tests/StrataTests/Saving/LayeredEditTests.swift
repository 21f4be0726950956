import Strata
import Testing

/// Edits of one column in several layers: those that the committing side has seen, and those that it has not.
@Suite struct LayeredEditTests {
    @Test("A parent's edit that the committing side has not seen stays, even beneath another edit that stays")
    func unseenBeneathKept() async throws {
        let fixture = try await SavingFixture()
        let id = try await fixture.cell(1)
        try await fixture.edit(id, in: "deep", a: 2)
        try await fixture.edit(id, in: .main, a: 3)
        try await fixture.edit(id, in: .network, a: 4)
        #expect(try await fixture.commit("deep") == .success)
        #expect(try fixture.stored(id) == [2, 0, 0])
        #expect(try await fixture.values(id, in: .network) == [4, 0, 0])
        #expect(try await fixture.values(id, in: .main) == [3, 0, 0])
        #expect(try await fixture.commit(.main) == .conflict(id, "a"))
        try await fixture.close()
    }

    @Test("A value that a child saved over a value rolled back since is a conflict, at a save and at a commit")
    func savedOverRolledBack() async throws {
        let fixture = try await SavingFixture()
        let id = try await fixture.cell(1)
        try await fixture.edit(id, in: .other, a: 2)
        #expect(try await fixture.save(.other) == .success)
        try await fixture.edit(id, in: .main, a: 3)
        try await fixture.edit(id, in: .other, a: 4)
        #expect(try await fixture.save(.other) == .success)
        try await fixture.stack.on(.main) { $0.rollback() }
        #expect(try await fixture.commit(.other) == .conflict(id, "a"))
        #expect(try await fixture.save(.main) == .conflict(id, "a"))
        #expect(try await fixture.commit(.other, .mine) == .success)
        #expect(try fixture.stored(id) == [4, 0, 0])
        try await fixture.close()
    }

    @Test("A failed commit names the conflicts in its layers together with those in the store")
    func allConflicts() async throws {
        let fixture = try await SavingFixture()
        let id = try await fixture.cell(1, 1, 1)
        try await fixture.edit(id, in: "deep", a: 2, c: 2)
        #expect(try await fixture.save("deep") == .success)
        try await fixture.edit(id, in: .network, c: 3)
        try await fixture.edit(id, in: "deep", c: 4)
        #expect(try await fixture.save("deep") == .success)
        try await fixture.edit(id, in: .root, a: 5)
        try await fixture.stack.on(.network) { $0.rollback() }
        #expect(try await fixture.commit(.root) == .success)
        #expect(try await fixture.commit("deep") == .conflict(id, "a", "c"))
        #expect(try fixture.stored(id) == [5, 1, 1])
        try await fixture.close()
    }

    @Test("Values that were seen before a row came into the store count as its stored values")
    func seenBeforeStored() async throws {
        let fixture = try await SavingFixture()
        let id = try await fixture.stack.on(.other) { $0.insert(Cell(a: 1)).id }
        #expect(try await fixture.save(.other) == .success)
        try await fixture.edit(id, in: .network, a: 2)
        try await fixture.edit(id, in: .other, a: 3)
        #expect(try await fixture.save(.other) == .success)
        #expect(try await fixture.commit(.network) == .success)
        #expect(try fixture.stored(id) == [2, 0, 0])
        #expect(try await fixture.values(id, in: .main) == [3, 0, 0])
        #expect(try await fixture.save(.main, .mine) == .success)
        #expect(try await fixture.commit(.root) == .conflict(id, "a"), "root has not been asked")
        #expect(try await fixture.commit(.root, .mine) == .success)
        #expect(try fixture.stored(id) == [3, 0, 0])
        try await fixture.close()
    }

    @Test("A value saved over a value rolled back since is a conflict, even if its layer has grown meanwhile")
    func savedOverRolledBackInGrowingLayer() async throws {
        let fixture = try await SavingFixture()
        let id = try await fixture.cell(1)
        try await fixture.edit(id, in: .other, a: 2)
        #expect(try await fixture.save(.other) == .success)
        try await fixture.edit(id, in: .main, a: 3)
        try await fixture.edit(id, in: .other, a: 4)
        #expect(try await fixture.save(.other) == .success)
        try await fixture.stack.on(.main) { $0.rollback() }
        try await fixture.stack.on(.other) { _ = $0.insert(Cell(a: 0)) }
        #expect(try await fixture.save(.other) == .success)
        #expect(try await fixture.commit(.other) == .conflict(id, "a"))
        #expect(try await fixture.save(.main) == .conflict(id, "a"))
        try await fixture.close()
    }
}
