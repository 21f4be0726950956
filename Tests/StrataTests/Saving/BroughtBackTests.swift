import Strata
import Testing

/// Deletes that meet edits across several layers, and rows that are brought back (C7, C17, H20 to H22).
@Suite struct BroughtBackTests {
    @Test("C17 H22 .mine against a parent's delete keeps what others change in other columns")
    func otherColumns() async throws {
        let house = try await House()
        let id = try await house.cell(1)
        try await house.edit(id, in: .network, a: 2)
        try await house.delete(id, in: .main)
        #expect(try await house.save(.network, .mine) == .success)
        try await house.edit(id, in: .root, c: 3)
        #expect(try await house.values(id, in: .main) == [2, 0, 3])
        try await house.edit(id, in: .other, b: 4)
        #expect(try await house.commit(.other) == .success)
        #expect(try house.stored(id) == [1, 4, 0], "only its own column")
        #expect(try await house.values(id, in: .main) == [2, 4, 3])
        #expect(try await house.save(.main) == .success)
        #expect(try await house.values(id, in: .root) == [2, 4, 3])
        #expect(try await house.commit(.root) == .success)
        #expect(try house.stored(id) == [2, 4, 3])
        try await house.close()
    }

    @Test("C17 H22 a row brought back is not written over what somebody has committed since")
    func committedSince() async throws {
        let house = try await House()
        let id = try await house.cell(1)
        try await house.edit(id, in: .network, a: 2)
        try await house.delete(id, in: .main)
        #expect(try await house.save(.network, .mine) == .success)
        try await house.edit(id, in: .root, a: 5, b: 6)
        #expect(try await house.commit(.root) == .success)
        #expect(try await house.commit(.main) == .conflict(id, "a"))
        #expect(try await house.commit(.main, .mine) == .success)
        #expect(try house.stored(id) == [2, 6, 0])
        try await house.close()
    }

    @Test("C17 edits of a row that was deleted twice: .mine cancels the delete below too, and what was edited counts")
    func brokenChain() async throws {
        let house = try await House()
        let id = try await house.cell(1)
        try await house.edit(id, in: .main, a: 2, c: 3)
        try await house.edit(id, in: .network, c: 4)
        try await house.delete(id, in: .root)
        #expect(try await house.values(id, in: .network) == nil)
        #expect(try await house.save(.main, .mine) == .success)
        #expect(try await house.commit(.network) == .success)
        #expect(try house.stored(id) == [1, 0, 4])
        for name in [ContextName.root, .main, .network] {
            #expect(try await house.values(id, in: name) == [2, 0, 4])
        }
        try await house.close()
    }

    @Test("C16 H21 an edit of a row that a parent brought back goes with the whole row, where the store has none")
    func goesAlongBroughtBack() async throws {
        let house = try await House()
        let id = try await house.cell(1, 5)
        try await house.edit(id, in: .network, a: 2)
        try await house.delete(id, in: .root)
        #expect(try await house.commit(.root) == .success)
        #expect(try await house.save(.network, .mine) == .success)
        #expect(try await house.values(id, in: .other) == [2, 5, 0])
        try await house.edit(id, in: .other, c: 3)
        #expect(try await house.commit(.other) == .success)
        #expect(try house.stored(id) == [2, 5, 3])
        #expect(try await house.stack.on(.main) { !$0.hasChanges })
        try await house.close()
    }

    @Test("H20 what a parent sets in a row that a child has brought back stays on top of the child's commit")
    func editedAfterwards() async throws {
        let house = try await House()
        let id = try await house.cell(1)
        try await house.edit(id, in: .other, c: 2)
        try await house.delete(id, in: .network)
        #expect(try await house.commit(.network) == .success)
        #expect(try await house.save(.other, .mine) == .success)
        try await house.edit(id, in: .main, c: 3)
        #expect(try await house.commit(.other) == .success)
        #expect(try house.stored(id) == [1, 0, 2])
        #expect(try await house.values(id, in: .main) == [1, 0, 3])
        try await house.close()
    }

    @Test("C17 H21 .mine brings back a row that was never stored, with its edits as edits")
    func neverStored() async throws {
        let house = try await House()
        let id = try await house.stack.on(.root) { $0.insert(Cell(a: 1)).id }
        try await house.edit(id, in: .main, c: 2)
        try await house.edit(id, in: .network, b: 3)
        try await house.edit(id, in: .main, b: 4)
        try await house.stack.on(.root) { $0.rollback() }
        #expect(try await house.values(id, in: .main) == nil)
        #expect(try await house.save(.main, .mine) == .success)
        #expect(try await house.commit(.network) == .success)
        #expect(try house.stored(id) == [1, 3, 2])
        #expect(try await house.values(id, in: .root) == [1, 4, 2], "main's edit was not seen, and stays on top")
        #expect(try await house.commit(.root) == .conflict(id, "b"))
        try await house.close()
    }

    @Test("C16 H21 H22 a parent's delete is no matter of a commit: what lies beneath it goes along", arguments: [0, 1])
    func deletedAbove(_ level: Int) async throws {
        let house = try await House()
        let id = try await house.stack.on(.main) { $0.insert(Cell(a: 1)).id }
        let (committer, deleter): (ContextName, ContextName) = level == 0 ? (.main, .root) : ("deep", .network)
        if level == 0 { #expect(try await house.save(.main) == .success) }
        try await house.edit(id, in: committer, b: 2)
        try await house.delete(id, in: deleter)
        #expect(try await house.commit(committer) == .success)
        #expect(try house.stored(id) == [1, 2, 0])
        #expect(try await house.values(id, in: deleter) == nil)
        #expect(try await house.commit(deleter) == .conflict(id, "b"), "the delete meets it at its own commit")
        #expect(try await house.commit(deleter, .mine) == .success)
        #expect(try house.stored(id) == nil)
        try await house.close()
    }

    @Test("H22 a parent's edits beneath its own delete do not go along, and are no conflict of that delete")
    func editedAndDeletedAbove() async throws {
        let house = try await House()
        let id = try await house.stack.on(.main) { $0.insert(Cell(a: 1)).id }
        try await house.edit(id, in: .other, c: 2)
        #expect(try await house.save(.main) == .success)
        try await house.edit(id, in: .main, a: 3)
        try await house.delete(id, in: .main)
        #expect(try await house.commit(.other) == .success)
        #expect(try house.stored(id) == [1, 0, 2])
        #expect(try await house.commit(.main) == .conflict(id, "c"))
        try await house.close()
    }

    @Test("C7 H22 what a parent inserted and deleted again comes into the store by .mine, and meets that delete")
    func withdrawnAndBroughtBack() async throws {
        let house = try await House()
        let id = try await house.stack.on(.main) { $0.insert(Cell(a: 1)).id }
        try await house.edit(id, in: .other, b: 2)
        try await house.delete(id, in: .main)
        #expect(try await house.commit(.other) == .conflict(id, "b"))
        #expect(try await house.commit(.other, .mine) == .success)
        #expect(try house.stored(id) == [1, 2, 0])
        #expect(try await house.values(id, in: .main) == nil)
        #expect(try await house.commit(.main) == .conflict(id, "b"))
        #expect(try await house.commit(.main, .theirs) == .success)
        #expect(try await house.values(id, in: .main) == [1, 2, 0])
        try await house.close()
    }

    @Test("C17 .mine settles a delete for good, also with edits that were made before it")
    func editedBeforeDelete() async throws {
        let house = try await House()
        let id = try await house.cell(1)
        try await house.edit(id, in: .network, a: 2)
        try await house.edit(id, in: .root, a: 3)
        try await house.delete(id, in: .network)
        #expect(try await house.save(.network) == .conflict(id, "a"))
        #expect(try await house.save(.network, .mine) == .success)
        #expect(try await house.save(.main) == .success)
        #expect(try await house.values(id, in: .root) == nil)
        #expect(try await house.commit(.root) == .success)
        #expect(try house.stored(id) == nil)
        try await house.close()
    }

    @Test("C17 .theirs gives up no delete that has seen what is there, though a child has deleted it as well")
    func deletedTwice() async throws {
        let house = try await House()
        let id = try await house.cell(1)
        try await house.edit(id, in: .other, b: 2)
        try await house.delete(id, in: .network)
        #expect(try await house.save(.other) == .success)
        try await house.delete(id, in: .main)
        #expect(try await house.save(.network) == .success)
        #expect(try await house.commit(.other) == .success)
        #expect(try house.stored(id) == [1, 2, 0])
        #expect(try await house.save(.main, .theirs) == .success)
        #expect(try await house.values(id, in: .root) == nil)
        try await house.close()
    }

    @Test("C17 H20 .theirs gives up no delete of what a child had saved before, where the store is as it was")
    func deletedAfterSaved() async throws {
        let house = try await House()
        let id = try await house.cell(1)
        try await house.edit(id, in: "deep", c: 2)
        #expect(try await house.save("deep") == .success)
        try await house.delete(id, in: .network)
        #expect(try await house.save(.network) == .success)
        try await house.edit(id, in: .root, b: 3)
        #expect(try await house.commit(.main, .theirs) == .success)
        #expect(try house.stored(id) == nil)
        try await house.close()
    }

    @Test("H20 H22 a parent's delete is done once the row is gone, and what it had edited before is no matter any more")
    func deletedElsewhere() async throws {
        let house = try await House()
        let id = try await house.cell(1)
        try await house.delete(id, in: .other)
        try await house.edit(id, in: .main, a: 2)
        try await house.delete(id, in: .main)
        #expect(try await house.commit(.other) == .success)
        #expect(try house.stored(id) == nil)
        #expect(try await house.stack.on(.main) { !$0.hasChanges })
        #expect(try await house.save(.main) == .success)
        try await house.close()
    }

    @Test("C8 H19 a parent's edit whose value a row brought back has taken to the store is no edit any more")
    func alreadyStored() async throws {
        let house = try await House()
        let id = try await house.stack.on(.root) { $0.insert(Cell(a: 1)).id }
        try await house.edit(id, in: "deep", a: 2)
        try await house.edit(id, in: .network, b: 3)
        try await house.stack.on(.root) { $0.rollback() }
        #expect(try await house.commit("deep", .mine) == .success)
        #expect(try house.stored(id) == [2, 3, 0])
        #expect(try await house.stack.on(.network) { !$0.hasChanges })
        try await house.close()
    }

    @Test("H20 what was edited before a delete does not count again where somebody has overwritten and committed it")
    func overwrittenBeforeDelete() async throws {
        let house = try await House()
        let id = try await house.cell(1)
        try await house.edit(id, in: .root, b: 2)
        try await house.edit(id, in: .other, a: 3)
        try await house.edit(id, in: .network, b: 4)
        try await house.delete(id, in: .root)
        #expect(try await house.commit(.network) == .success)
        #expect(try house.stored(id) == [1, 4, 0])
        #expect(try await house.save(.other, .mine) == .success)
        #expect(try await house.save(.main) == .success)
        #expect(try await house.values(id, in: .root) == [3, 4, 0])
        try await house.close()
    }

    @Test("H22 what a context inserted, deleted and edited once another one had brought it back goes along with that")
    func insertedAgain() async throws {
        let house = try await House()
        let id = try await house.stack.on(.network) { $0.insert(Cell(a: 1)).id }
        #expect(try await house.save(.network) == .success)
        try await house.edit(id, in: .other, c: 2)
        try await house.delete(id, in: .network)
        #expect(try await house.save(.network) == .success)
        #expect(try await house.save(.other, .mine) == .success)
        try await house.edit(id, in: .network, c: 3)
        #expect(try await house.commit(.network) == .success)
        #expect(try house.stored(id) == [1, 0, 3])
        try await house.close()
    }

    @Test("C17 an object shows what is left where .theirs gives up what a commit's own changes disagree about")
    func givenUp() async throws {
        let house = try await House()
        let id = try await house.cell(1)
        try await house.edit(id, in: .main, c: 2)
        try await house.edit(id, in: .root, c: 3)
        try await house.delete(id, in: .root)
        #expect(try await house.save(.main, .mine) == .success)
        try await house.stack.on(.root) { context in
            let cell = try #require(try context.find(id))
            context.mergePolicy = .theirs
            try context.commit()
            #expect(cell.c == 3)
        }
        #expect(try house.stored(id) == [1, 0, 3])
        try await house.close()
    }

    @Test("C17 what .mine brings back is one decision, which .theirs does not take apart at a parent's commit")
    func oneDecision() async throws {
        let house = try await House()
        let id = try await house.cell(1)
        try await house.edit(id, in: .other, b: 2)
        try await house.edit(id, in: .other, c: 3)
        try await house.edit(id, in: .main, c: 4)
        try await house.delete(id, in: .root)
        #expect(try await house.save(.other, .mine) == .success)
        #expect(try await house.values(id, in: .main) == [1, 2, 3])
        #expect(try await house.commit(.main, .theirs) == .success)
        #expect(try house.stored(id) == [1, 2, 3])
        try await house.close()
    }

    @Test("C17 what .mine brings back is one decision, also where its edits lie in several segments of a large layer")
    func oneDecisionOfSegments() async throws {
        let house = try await House()
        let id = try await house.cell(1)
        try await house.stack.on(.other) { context in
            let cell = try #require(try context.find(id))
            for _ in 0..<10 { context.insert(Cell(a: 0)) }
            cell.b = 2
        }
        try await house.edit(id, in: .other, c: 3)
        try await house.edit(id, in: .main, c: 4)
        try await house.delete(id, in: .root)
        #expect(try await house.save(.other, .mine) == .success)
        #expect(try await house.commit(.main) == .success)
        #expect(try house.stored(id) == [1, 2, 3])
        try await house.close()
    }

    @Test("H18 an edit on top of a row brought back stands on what the store has, not on what was rolled back since")
    func rolledBackBeneath() async throws {
        let house = try await House()
        let id = try await house.cell(1)
        try await house.edit(id, in: .main, a: 2)
        try await house.edit(id, in: .other, c: 3)
        try await house.delete(id, in: .root)
        #expect(try await house.save(.other, .mine) == .success)
        try await house.stack.on(.main) { context in context.rollback([try #require(try context.find(id))]) }
        try await house.edit(id, in: .network, c: 4)
        #expect(try await house.save(.main, .mine) == .success)
        try await house.stack.on(.network) { context in
            let cell = try #require(try context.find(id))
            try context.commit()
            #expect([cell.a, cell.b, cell.c] == [1, 0, 4])
        }
        #expect(try house.stored(id) == [1, 0, 4])
        try await house.close()
    }

    @Test(
        "C7 H22 a delete of what .mine had brought back is carried out, though the row came into the store only since"
    )
    func deletedAgain() async throws {
        let house = try await House()
        let id = try await house.stack.on(.main) { $0.insert(Cell(a: 1)).id }
        try await house.edit(id, in: .network, c: 2)
        #expect(try await house.save(.main) == .success)
        try await house.delete(id, in: .main)
        #expect(try await house.save(.network, .mine) == .success)
        try await house.edit(id, in: .other, b: 3)
        try await house.delete(id, in: .network)
        #expect(try await house.save(.network) == .success)
        #expect(try await house.commit(.root) == .success)
        #expect(try await house.commit(.main) == .success)
        #expect(try house.stored(id) == nil)
        #expect(try await house.save(.other) == .conflict(id, "b"))
        try await house.close()
    }

    @Test(
        "H20 an edit that a committed delete has seen is dropped, also beneath a parent's delete that is done with it"
    )
    func seenByDelete() async throws {
        let house = try await House()
        let id = try await house.cell(1)
        try await house.edit(id, in: .main, c: 2)
        try await house.delete(id, in: .network)
        #expect(try await house.save(.main) == .success)
        try await house.edit(id, in: .main, c: 3)
        try await house.delete(id, in: .main)
        #expect(try await house.commit(.network, .mine) == .success)
        #expect(try house.stored(id) == nil)
        #expect(try await house.commit(.root) == .success)
        #expect(try await house.stack.on(.root) { !$0.hasChanges })
        try await house.close()
    }

    @Test("C17 H18 a delete goes by what it knew of the store, though children have edited and deleted the row as well")
    func deletedThrice() async throws {
        let house = try await House()
        let id = try await house.stack.on(.root) { $0.insert(Cell(a: 1)).id }
        try await house.edit(id, in: .other, a: 2)
        #expect(try await house.save(.other) == .success)
        try await house.delete(id, in: .network)
        try await house.edit(id, in: .root, a: 3)
        #expect(try await house.commit(.root) == .success)
        try await house.delete(id, in: .root)
        #expect(try await house.save(.network) == .success)
        #expect(try await house.save(.main) == .success)
        #expect(try await house.commit(.root) == .success)
        #expect(try house.stored(id) == nil)
        try await house.close()
    }

    @Test(
        "C17 H20 .theirs gives up the delete of the one who says so, not a parent's own of the same row",
        arguments: [0, 9]
    )
    func givenUpOnce(_ others: Int) async throws {
        let house = try await House()
        let id = try await house.stack.on(.main) { context in
            // An insert among many is not merged with its delete.
            for _ in 0..<others { context.insert(Cell(a: 0)) }
            return context.insert(Cell(a: 1)).id
        }
        try await house.delete(id, in: .network)
        try await house.edit(id, in: .other, c: 2)
        try await house.delete(id, in: .main)
        #expect(try await house.save(.network, .mine) == .success)
        #expect(try await house.commit(.other, .mine) == .success)
        #expect(try house.stored(id) == [1, 0, 2])
        #expect(try await house.commit(.network, .theirs) == .success)
        #expect(try house.stored(id) == [1, 0, 2])
        #expect(try await house.values(id, in: .main) == nil, "deleted here too")
        #expect(try await house.commit(.main) == .conflict(id, "c"))
        #expect(try await house.commit(.main, .mine) == .success)
        #expect(try house.stored(id) == nil)
        try await house.close()
    }

    @Test(
        "C7 C17 all that was edited before a delete counts again where it is cancelled, saved before or together with it"
    )
    func editedTwiceBeforeDelete() async throws {
        let house = try await House()
        let id = try await house.cell(1)
        try await house.edit(id, in: .other, b: 2)
        try await house.edit(id, in: .network, a: 3)
        #expect(try await house.save(.other) == .success)
        try await house.edit(id, in: .other, c: 4)
        try await house.delete(id, in: .other)
        #expect(try await house.save(.other) == .success)
        #expect(try await house.save(.network, .mine) == .success)
        #expect(try await house.values(id, in: .main) == [3, 2, 4])
        #expect(try await house.commit(.main) == .success)
        #expect(try house.stored(id) == [3, 2, 4])
        try await house.close()
    }

    @Test("C7 C17 .mine brings a row back above a cancelled delete whose own edits have no row beneath them")
    func cancelledOverNothing() async throws {
        let house = try await House()
        let id = try await house.stack.on(.main) { $0.insert(Cell(a: 1)).id }
        try await house.edit(id, in: .network, a: 2)
        try await house.delete(id, in: .network)
        try await house.edit(id, in: .other, a: 3)
        try await house.stack.on(.main) { $0.rollback() }
        #expect(try await house.save(.network) == .success)
        #expect(try await house.save(.other, .mine) == .success)
        #expect(try await house.values(id, in: .main) == [3, 0, 0])
        try await house.close()
    }
}
