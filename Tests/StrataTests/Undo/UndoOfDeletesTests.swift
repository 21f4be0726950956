import Foundation
import StoreModels
import Strata
import Testing

@Suite("Undo of deletes") struct UndoOfDeletesTests {
    private struct Stop: Error {}

    /// Runs a body with an object that was deleted, and that an undo has brought back after the save of the delete.
    private func withBroughtBack(
        isCommitted: Bool,
        _ body: @Sendable (SavingContext, ObjectID<Author>) throws -> Void
    ) async throws {
        let stack = try await openStack()
        try await stack.background { context in
            context.undoLevels = 10
            let author = context.insert(Author(name: "a", fee: 7))
            try context.commit()
            context.undoGroup { context.delete(author) }
            if isCommitted { try context.commit() } else { try context.save() }
            try context.undo()
            try body(context, author.id)
            try context.commit()
            #expect(try context.find(author.id)?.fee == 7)
        }
        let rows = try await stack.background { try $0.rows(Author.all) }
        #expect(rows.map(\.fee) == [7])
        try await stack.close()
    }

    @Test("An object that an undo has brought back can be deleted and brought back again", arguments: [false, true])
    func again(isCommitted: Bool) async throws {
        try await withBroughtBack(isCommitted: isCommitted) { context, id in
            for _ in 0..<3 {
                let author = try #require(try context.find(id))
                context.undoGroup(named: "delete") { context.delete(author) }
                #expect(author.isDeleted && context.undoName == "delete")
                #expect(try context.undo())
                #expect(!author.isDeleted && author.fee == 7)
                #expect(try context.redo())
                #expect(author.isDeleted)
                #expect(try context.undo())
                #expect(!author.isDeleted)
            }
        }
    }

    @Test(
        "A savepoint that throws takes back the delete of an object that an undo has brought back",
        arguments: [false, true],
        [false, true]
    )
    func savepoint(isCommitted: Bool, isPublished: Bool) async throws {
        try await withBroughtBack(isCommitted: isCommitted) { context, id in
            let author = try #require(try context.find(id))
            #expect(throws: Stop.self) {
                try context.savepoint {
                    context.delete(author)
                    if isPublished { #expect(try context.count(Author.all) == 0) }
                    throw Stop()
                }
            }
            #expect(!author.isDeleted && author.fee == 7)
            #expect(try context.count(Author.all) == 1)
        }
    }

    @Test("An undo brings an object back again after a save of its second delete", arguments: [false, true])
    func savedAgain(isCommitted: Bool) async throws {
        try await withBroughtBack(isCommitted: isCommitted) { context, id in
            context.delete(try #require(try context.find(id)))
            try context.save()
            try context.undo()
            #expect(try context.find(id)?.fee == 7)
            try context.save()
            context.delete(try #require(try context.find(id)))
            try context.undo()
            #expect(try context.find(id)?.fee == 7)
        }
    }

    @Test("A rollback drops the undo together with the delete, because both are unsaved edits")
    func rollback() async throws {
        let stack = try await openStack()
        try await stack.background { context in
            context.undoLevels = 10
            let author = context.insert(Author(name: "a"))
            try context.commit()
            context.undoGroup { context.delete(author) }
            try context.save()
            try context.undo()
            context.delete(author)
            context.rollback([author])
            #expect(try context.count(Author.all) == 0 && author.isDeleted)
            #expect(try context.undo())
        }
        try await stack.close()
    }
}
