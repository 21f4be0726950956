import Strata
import Testing

@testable import StrataPipeline

@Suite("Bulk actions and the changes of contexts", .timeLimit(.minutes(1))) struct BulkContextTests {
    private static func stack() async throws -> ContextStack {
        let models: [any Model.Type] = [Letter.self, Folder.self]
        return try await ContextStack.open(.inMemory, models: models + Pipeline.models, stack: .rootOnly)
    }

    @Test("A skip removes the ties of operations to their objects, and frees their keys")
    func tiesAndKeys() async throws {
        let stack = try await Self.stack()
        try await stack.background { context in
            let letter = context.insert(Letter(text: "A"))
            context.enqueue(Named(name: "A", letter: letter.id), in: .work, key: "one")
            try context.commit()
            #expect(try context.count(OperationItem.all) == 1)
            let skipped = try context.skipOperations(QueuedOperation.all)
            #expect(skipped == 1)
            #expect(try context.count(OperationItem.all) == 0)
            context.enqueue(Named(name: "B"), in: .work, key: "one")
            try context.commit()
            #expect(try context.first(QueuedOperation.all)?.key == "one")
            #expect(try context.first(FinishedOperation.all)?.key == "one")
        }
        try await stack.close()
    }

    @Test("The unsaved changes of the same context stay unsaved, and can be committed afterwards")
    func ownChanges() async throws {
        let stack = try await Self.stack()
        try await stack.background { context in
            let first = context.enqueue(Named(name: "A"), in: .work, tags: ["import"])
            try context.commit()
            first.sortKey = 5
            context.enqueue(Named(name: "B"), in: .work, tags: ["import"])
            let changed = try context.setPriority(3, of: QueuedOperation.where { $0.hasTag("import") })
            #expect(changed == 1)
            #expect(first.sortKey == 5)
            #expect(context.hasChanges)
            try context.commit()
            let inOrder = QueuedOperation.sorted { $0.sortKey }
            #expect(try context.column(inOrder, \.priority) == [0, 3])
            #expect(try context.column(inOrder, \.rank) == [~0, ~3])
        }
        try await stack.close()
    }

    @Test("If an operation is skipped, an unsaved edit of it is a conflict, and an unsaved delete is not")
    func skippedElsewhere() async throws {
        let stack = try await Self.stack()
        let id = try await stack.background { context in
            let operation = context.enqueue(Named(name: "A"), in: .work, tags: ["import"])
            try context.commit()
            return operation.id
        }
        let (editing, deleting) = (try stack.create(.private), try stack.create(.private))
        try await stack.on(editing) { try $0.find(id)?.priority = 7 }
        try await stack.on(deleting) { context in context.delete(try #require(try context.find(id))) }
        let skipped = try await stack.background { try $0.skipOperations(QueuedOperation.all) }
        #expect(skipped == 1)
        let error = await #expect(throws: StrataError.self) { try await editing.commit() }
        #expect(error?.code == .conflict)
        try await deleting.commit()
        // The delete found nothing, so the finished operation keeps its tags.
        let tags = try await stack.background { try $0.first(FinishedOperation.all)?.tags() }
        #expect(tags == ["import"])
        try await stack.close()
    }
}
