import Strata
import Testing

/// Edits of several layers in one column: what the committing side has seen, and what it has not (C16 to C18, H18 to H21).
@Suite struct SeenAndUnseenTests {
    @Test("H20 a parent's edit that nobody of the committing side has seen stays, also beneath one that stays")
    func unseenBeneathKept() async throws {
        let house = try await House()
        let id = try await house.cell(1)
        try await house.edit(id, in: "deep", a: 2)
        try await house.edit(id, in: .main, a: 3)
        try await house.edit(id, in: .network, a: 4)
        #expect(try await house.commit("deep") == .success)
        #expect(try house.stored(id) == [2, 0, 0])
        #expect(try await house.values(id, in: .network) == [4, 0, 0])
        #expect(try await house.values(id, in: .main) == [3, 0, 0])
        #expect(try await house.commit(.main) == .conflict(id, "a"))
        try await house.close()
    }

    @Test("C17 H18 a value that a child saved over what was rolled back since is asked about, at save and commit")
    func savedOverRolledBack() async throws {
        let house = try await House()
        let id = try await house.cell(1)
        try await house.edit(id, in: .other, a: 2)
        #expect(try await house.save(.other) == .success)
        try await house.edit(id, in: .main, a: 3)
        try await house.edit(id, in: .other, a: 4)
        #expect(try await house.save(.other) == .success)
        try await house.stack.on(.main) { $0.rollback() }
        #expect(try await house.commit(.other) == .conflict(id, "a"))
        #expect(try await house.save(.main) == .conflict(id, "a"))
        #expect(try await house.commit(.other, .mine) == .success)
        #expect(try house.stored(id) == [4, 0, 0])
        try await house.close()
    }

    @Test("C18 a commit names what conflicts in its layers together with what conflicts in the store")
    func allConflicts() async throws {
        let house = try await House()
        let id = try await house.cell(1, 1, 1)
        try await house.edit(id, in: "deep", a: 2, c: 2)
        #expect(try await house.save("deep") == .success)
        try await house.edit(id, in: .network, c: 3)
        try await house.edit(id, in: "deep", c: 4)
        #expect(try await house.save("deep") == .success)
        try await house.edit(id, in: .root, a: 5)
        try await house.stack.on(.network) { $0.rollback() }
        #expect(try await house.commit(.root) == .success)
        #expect(try await house.commit("deep") == .conflict(id, "a", "c"))
        #expect(try house.stored(id) == [5, 1, 1])
        try await house.close()
    }

    @Test("H18 H21 what was seen of a row before it came into the store stands for what was stored")
    func seenBeforeStored() async throws {
        let house = try await House()
        let id = try await house.stack.on(.other) { $0.insert(Cell(a: 1)).id }
        #expect(try await house.save(.other) == .success)
        try await house.edit(id, in: .network, a: 2)
        try await house.edit(id, in: .other, a: 3)
        #expect(try await house.save(.other) == .success)
        #expect(try await house.commit(.network) == .success)
        #expect(try house.stored(id) == [2, 0, 0])
        #expect(try await house.values(id, in: .main) == [3, 0, 0])
        #expect(try await house.save(.main, .mine) == .success)
        #expect(try await house.commit(.root) == .conflict(id, "a"), "root has not been asked")
        #expect(try await house.commit(.root, .mine) == .success)
        #expect(try house.stored(id) == [3, 0, 0])
        try await house.close()
    }

    @Test("C17 H18 a value saved over what was rolled back since is asked about, also where its layer grows meanwhile")
    func savedOverRolledBackInGrowingLayer() async throws {
        let house = try await House()
        let id = try await house.cell(1)
        try await house.edit(id, in: .other, a: 2)
        #expect(try await house.save(.other) == .success)
        try await house.edit(id, in: .main, a: 3)
        try await house.edit(id, in: .other, a: 4)
        #expect(try await house.save(.other) == .success)
        try await house.stack.on(.main) { $0.rollback() }
        try await house.stack.on(.other) { _ = $0.insert(Cell(a: 0)) }
        #expect(try await house.save(.other) == .success)
        #expect(try await house.commit(.other) == .conflict(id, "a"))
        #expect(try await house.save(.main) == .conflict(id, "a"))
        try await house.close()
    }
}
