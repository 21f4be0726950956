import Strata
import Testing

/// Deletes that meet edits across several layers, and rows that are brought back.
@Suite struct UndeleteTests {
    @Test("A row that .mine brings back over a parent's delete keeps others' edits of other columns")
    func otherColumns() async throws {
        let fixture = try await SavingFixture()
        let id = try await fixture.cell(1)
        try await fixture.edit(id, in: .network, a: 2)
        try await fixture.delete(id, in: .main)
        #expect(try await fixture.save(.network, .mine) == .success)
        try await fixture.edit(id, in: .root, c: 3)
        #expect(try await fixture.values(id, in: .main) == [2, 0, 3])
        try await fixture.edit(id, in: .other, b: 4)
        #expect(try await fixture.commit(.other) == .success)
        #expect(try fixture.stored(id) == [1, 4, 0], "only its own column")
        #expect(try await fixture.values(id, in: .main) == [2, 4, 3])
        #expect(try await fixture.save(.main) == .success)
        #expect(try await fixture.values(id, in: .root) == [2, 4, 3])
        #expect(try await fixture.commit(.root) == .success)
        #expect(try fixture.stored(id) == [2, 4, 3])
        try await fixture.close()
    }

    @Test("A commit of a row that .mine brought back conflicts with values that others have committed since")
    func committedSince() async throws {
        let fixture = try await SavingFixture()
        let id = try await fixture.cell(1)
        try await fixture.edit(id, in: .network, a: 2)
        try await fixture.delete(id, in: .main)
        #expect(try await fixture.save(.network, .mine) == .success)
        try await fixture.edit(id, in: .root, a: 5, b: 6)
        #expect(try await fixture.commit(.root) == .success)
        #expect(try await fixture.commit(.main) == .conflict(id, "a"))
        #expect(try await fixture.commit(.main, .mine) == .success)
        #expect(try fixture.stored(id) == [2, 6, 0])
        try await fixture.close()
    }

    @Test("A save with .mine cancels the parent's delete, and edits of the row in other layers count again")
    func brokenChain() async throws {
        let fixture = try await SavingFixture()
        let id = try await fixture.cell(1)
        try await fixture.edit(id, in: .main, a: 2, c: 3)
        try await fixture.edit(id, in: .network, c: 4)
        try await fixture.delete(id, in: .root)
        #expect(try await fixture.values(id, in: .network) == nil)
        #expect(try await fixture.save(.main, .mine) == .success)
        #expect(try await fixture.commit(.network) == .success)
        #expect(try fixture.stored(id) == [1, 0, 4])
        for name in [ContextName.root, .main, .network] {
            #expect(try await fixture.values(id, in: name) == [2, 0, 4])
        }
        try await fixture.close()
    }

    @Test("A child's commit of an edit writes the whole row if its parent brought the row back and the store lacks it")
    func goesAlongBroughtBack() async throws {
        let fixture = try await SavingFixture()
        let id = try await fixture.cell(1, 5)
        try await fixture.edit(id, in: .network, a: 2)
        try await fixture.delete(id, in: .root)
        #expect(try await fixture.commit(.root) == .success)
        #expect(try await fixture.save(.network, .mine) == .success)
        #expect(try await fixture.values(id, in: .other) == [2, 5, 0])
        try await fixture.edit(id, in: .other, c: 3)
        #expect(try await fixture.commit(.other) == .success)
        #expect(try fixture.stored(id) == [2, 5, 3])
        #expect(try await fixture.stack.on(.main) { !$0.hasChanges })
        try await fixture.close()
    }

    @Test("A parent's later edit of a row that a child brought back stays on top of the child's commit")
    func editedAfterwards() async throws {
        let fixture = try await SavingFixture()
        let id = try await fixture.cell(1)
        try await fixture.edit(id, in: .other, c: 2)
        try await fixture.delete(id, in: .network)
        #expect(try await fixture.commit(.network) == .success)
        #expect(try await fixture.save(.other, .mine) == .success)
        try await fixture.edit(id, in: .main, c: 3)
        #expect(try await fixture.commit(.other) == .success)
        #expect(try fixture.stored(id) == [1, 0, 2])
        #expect(try await fixture.values(id, in: .main) == [1, 0, 3])
        try await fixture.close()
    }

    @Test("A save with .mine brings back a row that was never stored, and the row's edits stay edits")
    func neverStored() async throws {
        let fixture = try await SavingFixture()
        let id = try await fixture.stack.on(.root) { $0.insert(Cell(a: 1)).id }
        try await fixture.edit(id, in: .main, c: 2)
        try await fixture.edit(id, in: .network, b: 3)
        try await fixture.edit(id, in: .main, b: 4)
        try await fixture.stack.on(.root) { $0.rollback() }
        #expect(try await fixture.values(id, in: .main) == nil)
        #expect(try await fixture.save(.main, .mine) == .success)
        #expect(try await fixture.commit(.network) == .success)
        #expect(try fixture.stored(id) == [1, 3, 2])
        #expect(try await fixture.values(id, in: .root) == [1, 4, 2], "main's edit was not seen, and stays on top")
        #expect(try await fixture.commit(.root) == .conflict(id, "b"))
        try await fixture.close()
    }

    @Test(
        "A parent's unsaved delete does not stop a child's commit of the row, but conflicts at its own commit",
        arguments: [0, 1]
    )
    func deletedAbove(_ level: Int) async throws {
        let fixture = try await SavingFixture()
        let id = try await fixture.stack.on(.main) { $0.insert(Cell(a: 1)).id }
        let (committer, deleter): (ContextName, ContextName) = level == 0 ? (.main, .root) : ("deep", .network)
        if level == 0 { #expect(try await fixture.save(.main) == .success) }
        try await fixture.edit(id, in: committer, b: 2)
        try await fixture.delete(id, in: deleter)
        #expect(try await fixture.commit(committer) == .success)
        #expect(try fixture.stored(id) == [1, 2, 0])
        #expect(try await fixture.values(id, in: deleter) == nil)
        #expect(try await fixture.commit(deleter) == .conflict(id, "b"), "the delete meets it at its own commit")
        #expect(try await fixture.commit(deleter, .mine) == .success)
        #expect(try fixture.stored(id) == nil)
        try await fixture.close()
    }

    @Test("A parent's edits before its own delete stay out of a child's commit and do not conflict with the delete")
    func editedAndDeletedAbove() async throws {
        let fixture = try await SavingFixture()
        let id = try await fixture.stack.on(.main) { $0.insert(Cell(a: 1)).id }
        try await fixture.edit(id, in: .other, c: 2)
        #expect(try await fixture.save(.main) == .success)
        try await fixture.edit(id, in: .main, a: 3)
        try await fixture.delete(id, in: .main)
        #expect(try await fixture.commit(.other) == .success)
        #expect(try fixture.stored(id) == [1, 0, 2])
        #expect(try await fixture.commit(.main) == .conflict(id, "c"))
        try await fixture.close()
    }

    @Test(
        "A commit with .mine stores a row that its parent inserted and deleted, and the parent's delete then conflicts"
    )
    func withdrawnAndBroughtBack() async throws {
        let fixture = try await SavingFixture()
        let id = try await fixture.stack.on(.main) { $0.insert(Cell(a: 1)).id }
        try await fixture.edit(id, in: .other, b: 2)
        try await fixture.delete(id, in: .main)
        #expect(try await fixture.commit(.other) == .conflict(id, "b"))
        #expect(try await fixture.commit(.other, .mine) == .success)
        #expect(try fixture.stored(id) == [1, 2, 0])
        #expect(try await fixture.values(id, in: .main) == nil)
        #expect(try await fixture.commit(.main) == .conflict(id, "b"))
        #expect(try await fixture.commit(.main, .theirs) == .success)
        #expect(try await fixture.values(id, in: .main) == [1, 2, 0])
        try await fixture.close()
    }

    @Test("A delete that won a save with .mine meets no further conflict, even with edits made before the delete")
    func editedBeforeDelete() async throws {
        let fixture = try await SavingFixture()
        let id = try await fixture.cell(1)
        try await fixture.edit(id, in: .network, a: 2)
        try await fixture.edit(id, in: .root, a: 3)
        try await fixture.delete(id, in: .network)
        #expect(try await fixture.save(.network) == .conflict(id, "a"))
        #expect(try await fixture.save(.network, .mine) == .success)
        #expect(try await fixture.save(.main) == .success)
        #expect(try await fixture.values(id, in: .root) == nil)
        #expect(try await fixture.commit(.root) == .success)
        #expect(try fixture.stored(id) == nil)
        try await fixture.close()
    }

    @Test("A save with .theirs keeps a delete that has seen the current row, even if a child has deleted the row too")
    func deletedTwice() async throws {
        let fixture = try await SavingFixture()
        let id = try await fixture.cell(1)
        try await fixture.edit(id, in: .other, b: 2)
        try await fixture.delete(id, in: .network)
        #expect(try await fixture.save(.other) == .success)
        try await fixture.delete(id, in: .main)
        #expect(try await fixture.save(.network) == .success)
        #expect(try await fixture.commit(.other) == .success)
        #expect(try fixture.stored(id) == [1, 2, 0])
        #expect(try await fixture.save(.main, .theirs) == .success)
        #expect(try await fixture.values(id, in: .root) == nil)
        try await fixture.close()
    }

    @Test(
        "A commit with .theirs keeps the delete of a row that a child had edited and saved, if the store is unchanged"
    )
    func deletedAfterSaved() async throws {
        let fixture = try await SavingFixture()
        let id = try await fixture.cell(1)
        try await fixture.edit(id, in: "deep", c: 2)
        #expect(try await fixture.save("deep") == .success)
        try await fixture.delete(id, in: .network)
        #expect(try await fixture.save(.network) == .success)
        try await fixture.edit(id, in: .root, b: 3)
        #expect(try await fixture.commit(.main, .theirs) == .success)
        #expect(try fixture.stored(id) == nil)
        try await fixture.close()
    }

    @Test("A parent's delete is done once the row is gone from the store, and the edits made before it are dropped")
    func deletedElsewhere() async throws {
        let fixture = try await SavingFixture()
        let id = try await fixture.cell(1)
        try await fixture.delete(id, in: .other)
        try await fixture.edit(id, in: .main, a: 2)
        try await fixture.delete(id, in: .main)
        #expect(try await fixture.commit(.other) == .success)
        #expect(try fixture.stored(id) == nil)
        #expect(try await fixture.stack.on(.main) { !$0.hasChanges })
        #expect(try await fixture.save(.main) == .success)
        try await fixture.close()
    }

    @Test("A parent's edit disappears once a child's commit brings the row back to the store with the same value")
    func alreadyStored() async throws {
        let fixture = try await SavingFixture()
        let id = try await fixture.stack.on(.root) { $0.insert(Cell(a: 1)).id }
        try await fixture.edit(id, in: "deep", a: 2)
        try await fixture.edit(id, in: .network, b: 3)
        try await fixture.stack.on(.root) { $0.rollback() }
        #expect(try await fixture.commit("deep", .mine) == .success)
        #expect(try fixture.stored(id) == [2, 3, 0])
        #expect(try await fixture.stack.on(.network) { !$0.hasChanges })
        try await fixture.close()
    }

    @Test("An edit made before a delete does not return if another context has overwritten and committed the value")
    func overwrittenBeforeDelete() async throws {
        let fixture = try await SavingFixture()
        let id = try await fixture.cell(1)
        try await fixture.edit(id, in: .root, b: 2)
        try await fixture.edit(id, in: .other, a: 3)
        try await fixture.edit(id, in: .network, b: 4)
        try await fixture.delete(id, in: .root)
        #expect(try await fixture.commit(.network) == .success)
        #expect(try fixture.stored(id) == [1, 4, 0])
        #expect(try await fixture.save(.other, .mine) == .success)
        #expect(try await fixture.save(.main) == .success)
        #expect(try await fixture.values(id, in: .root) == [3, 4, 0])
        try await fixture.close()
    }

    @Test("A context commits the whole row that it inserted, deleted, and edited after another context brought it back")
    func insertedAgain() async throws {
        let fixture = try await SavingFixture()
        let id = try await fixture.stack.on(.network) { $0.insert(Cell(a: 1)).id }
        #expect(try await fixture.save(.network) == .success)
        try await fixture.edit(id, in: .other, c: 2)
        try await fixture.delete(id, in: .network)
        #expect(try await fixture.save(.network) == .success)
        #expect(try await fixture.save(.other, .mine) == .success)
        try await fixture.edit(id, in: .network, c: 3)
        #expect(try await fixture.commit(.network) == .success)
        #expect(try fixture.stored(id) == [1, 0, 3])
        try await fixture.close()
    }

    @Test("A live object shows the remaining value when .theirs drops one of a commit's contradicting changes")
    func givenUp() async throws {
        let fixture = try await SavingFixture()
        let id = try await fixture.cell(1)
        try await fixture.edit(id, in: .main, c: 2)
        try await fixture.edit(id, in: .root, c: 3)
        try await fixture.delete(id, in: .root)
        #expect(try await fixture.save(.main, .mine) == .success)
        try await fixture.stack.on(.root) { context in
            let cell = try #require(try context.find(id))
            context.mergePolicy = .theirs
            try context.commit()
            #expect(cell.c == 3)
        }
        #expect(try fixture.stored(id) == [1, 0, 3])
        try await fixture.close()
    }

    @Test("Edits that .mine brings back count as one decision, which .theirs does not split at a parent's commit")
    func oneDecision() async throws {
        let fixture = try await SavingFixture()
        let id = try await fixture.cell(1)
        try await fixture.edit(id, in: .other, b: 2)
        try await fixture.edit(id, in: .other, c: 3)
        try await fixture.edit(id, in: .main, c: 4)
        try await fixture.delete(id, in: .root)
        #expect(try await fixture.save(.other, .mine) == .success)
        #expect(try await fixture.values(id, in: .main) == [1, 2, 3])
        #expect(try await fixture.commit(.main, .theirs) == .success)
        #expect(try fixture.stored(id) == [1, 2, 3])
        try await fixture.close()
    }

    @Test("Edits that .mine brings back count as one decision, even if several segments of a large layer hold them")
    func oneDecisionOfSegments() async throws {
        let fixture = try await SavingFixture()
        let id = try await fixture.cell(1)
        try await fixture.stack.on(.other) { context in
            let cell = try #require(try context.find(id))
            for _ in 0..<10 { context.insert(Cell(a: 0)) }
            cell.b = 2
        }
        try await fixture.edit(id, in: .other, c: 3)
        try await fixture.edit(id, in: .main, c: 4)
        try await fixture.delete(id, in: .root)
        #expect(try await fixture.save(.other, .mine) == .success)
        #expect(try await fixture.commit(.main) == .success)
        #expect(try fixture.stored(id) == [1, 2, 3])
        try await fixture.close()
    }

    @Test("An edit on top of a row brought back is based on the store, not on values rolled back since")
    func rolledBackBeneath() async throws {
        let fixture = try await SavingFixture()
        let id = try await fixture.cell(1)
        try await fixture.edit(id, in: .main, a: 2)
        try await fixture.edit(id, in: .other, c: 3)
        try await fixture.delete(id, in: .root)
        #expect(try await fixture.save(.other, .mine) == .success)
        try await fixture.stack.on(.main) { context in context.rollback([try #require(try context.find(id))]) }
        try await fixture.edit(id, in: .network, c: 4)
        #expect(try await fixture.save(.main, .mine) == .success)
        try await fixture.stack.on(.network) { context in
            let cell = try #require(try context.find(id))
            try context.commit()
            #expect([cell.a, cell.b, cell.c] == [1, 0, 4])
        }
        #expect(try fixture.stored(id) == [1, 0, 4])
        try await fixture.close()
    }

    @Test("A commit carries out the delete of a row that .mine brought back, even if the row reached the store later")
    func deletedAgain() async throws {
        let fixture = try await SavingFixture()
        let id = try await fixture.stack.on(.main) { $0.insert(Cell(a: 1)).id }
        try await fixture.edit(id, in: .network, c: 2)
        #expect(try await fixture.save(.main) == .success)
        try await fixture.delete(id, in: .main)
        #expect(try await fixture.save(.network, .mine) == .success)
        try await fixture.edit(id, in: .other, b: 3)
        try await fixture.delete(id, in: .network)
        #expect(try await fixture.save(.network) == .success)
        #expect(try await fixture.commit(.root) == .success)
        #expect(try await fixture.commit(.main) == .success)
        #expect(try fixture.stored(id) == nil)
        #expect(try await fixture.save(.other) == .conflict(id, "b"))
        try await fixture.close()
    }

    @Test("A committed delete drops the edits that it has seen, even those beneath a parent's delete of the same row")
    func seenByDelete() async throws {
        let fixture = try await SavingFixture()
        let id = try await fixture.cell(1)
        try await fixture.edit(id, in: .main, c: 2)
        try await fixture.delete(id, in: .network)
        #expect(try await fixture.save(.main) == .success)
        try await fixture.edit(id, in: .main, c: 3)
        try await fixture.delete(id, in: .main)
        #expect(try await fixture.commit(.network, .mine) == .success)
        #expect(try fixture.stored(id) == nil)
        #expect(try await fixture.commit(.root) == .success)
        #expect(try await fixture.stack.on(.root) { !$0.hasChanges })
        try await fixture.close()
    }

    @Test("A delete compares with its knowledge of the store, even if children have edited and deleted the row too")
    func deletedThrice() async throws {
        let fixture = try await SavingFixture()
        let id = try await fixture.stack.on(.root) { $0.insert(Cell(a: 1)).id }
        try await fixture.edit(id, in: .other, a: 2)
        #expect(try await fixture.save(.other) == .success)
        try await fixture.delete(id, in: .network)
        try await fixture.edit(id, in: .root, a: 3)
        #expect(try await fixture.commit(.root) == .success)
        try await fixture.delete(id, in: .root)
        #expect(try await fixture.save(.network) == .success)
        #expect(try await fixture.save(.main) == .success)
        #expect(try await fixture.commit(.root) == .success)
        #expect(try fixture.stored(id) == nil)
        try await fixture.close()
    }

    @Test(
        "A commit with .theirs drops the committing context's delete, but not its parent's delete of the same row",
        arguments: [0, 9]
    )
    func givenUpOnce(_ others: Int) async throws {
        let fixture = try await SavingFixture()
        let id = try await fixture.stack.on(.main) { context in
            // An insert among many others is not merged with its delete.
            for _ in 0..<others { context.insert(Cell(a: 0)) }
            return context.insert(Cell(a: 1)).id
        }
        try await fixture.delete(id, in: .network)
        try await fixture.edit(id, in: .other, c: 2)
        try await fixture.delete(id, in: .main)
        #expect(try await fixture.save(.network, .mine) == .success)
        #expect(try await fixture.commit(.other, .mine) == .success)
        #expect(try fixture.stored(id) == [1, 0, 2])
        #expect(try await fixture.commit(.network, .theirs) == .success)
        #expect(try fixture.stored(id) == [1, 0, 2])
        #expect(try await fixture.values(id, in: .main) == nil, "deleted here too")
        #expect(try await fixture.commit(.main) == .conflict(id, "c"))
        #expect(try await fixture.commit(.main, .mine) == .success)
        #expect(try fixture.stored(id) == nil)
        try await fixture.close()
    }

    @Test("A cancelled delete restores all edits made before it, whether saved before the delete or together with it")
    func editedTwiceBeforeDelete() async throws {
        let fixture = try await SavingFixture()
        let id = try await fixture.cell(1)
        try await fixture.edit(id, in: .other, b: 2)
        try await fixture.edit(id, in: .network, a: 3)
        #expect(try await fixture.save(.other) == .success)
        try await fixture.edit(id, in: .other, c: 4)
        try await fixture.delete(id, in: .other)
        #expect(try await fixture.save(.other) == .success)
        #expect(try await fixture.save(.network, .mine) == .success)
        #expect(try await fixture.values(id, in: .main) == [3, 2, 4])
        #expect(try await fixture.commit(.main) == .success)
        #expect(try fixture.stored(id) == [3, 2, 4])
        try await fixture.close()
    }

    @Test("A save with .mine brings a row back above a cancelled delete whose own edits have no row beneath them")
    func cancelledOverNothing() async throws {
        let fixture = try await SavingFixture()
        let id = try await fixture.stack.on(.main) { $0.insert(Cell(a: 1)).id }
        try await fixture.edit(id, in: .network, a: 2)
        try await fixture.delete(id, in: .network)
        try await fixture.edit(id, in: .other, a: 3)
        try await fixture.stack.on(.main) { $0.rollback() }
        #expect(try await fixture.save(.network) == .success)
        #expect(try await fixture.save(.other, .mine) == .success)
        #expect(try await fixture.values(id, in: .main) == [3, 0, 0])
        try await fixture.close()
    }
}
