import Foundation
import Strata
import StrataPipeline
import StrataTesting
import Testing

@Suite("Ids of another store are refused wherever an operation or item is named", .timeLimit(.minutes(1)))
struct ForeignIDTests {
    private static func open() async throws -> ContextStack {
        try await ContextStack.open(
            .inMemory,
            models: [Letter.self, Folder.self] + Pipeline.models,
            stack: .rootOnly
        )
    }

    /// Commits an operation and a letter, and returns their ids.
    private static func foreign(_ stack: ContextStack) async throws -> (ObjectID<QueuedOperation>, ObjectID<Letter>) {
        try await stack.background { context in
            let letter = context.insert(Letter(text: "there"))
            let operation = context.enqueue(Named(name: "there"), in: .work)
            try context.commit()
            return (operation.id, letter.id)
        }
    }

    private static func expectForeign(
        _ comment: Comment,
        sourceLocation: SourceLocation = #_sourceLocation,
        _ body: () throws -> Void
    ) {
        let error = #expect(throws: StrataError.self, comment, sourceLocation: sourceLocation, performing: body)
        #expect(error?.code == .idOfOtherStore, comment, sourceLocation: sourceLocation)
    }

    @Test("Operations of another store are refused") func operations() async throws {
        let (stack, other) = try await (Self.open(), Self.open())
        let (id, _) = try await Self.foreign(other)
        // This store has an operation of the same number.
        let own = try await Self.foreign(stack).0
        #expect(own.rawValue == id.rawValue && own != id)
        try await stack.background { context in
            let operation = context.enqueue(Named(name: "here"), in: .work)
            try operation.addDependencies([own])
            Self.expectForeign("addDependencies") { try operation.addDependencies([id]) }
            Self.expectForeign("removeDependencies") { try operation.removeDependencies([id]) }
            Self.expectForeign("enqueue") {
                _ = try context.enqueue(Named(name: "as"), as: id, in: .work)
            }
            Self.expectForeign("finishedOperation") { _ = try context.finishedOperation(id) }
            // Nothing has changed.
            #expect(try operation.dependencies() == [own])
            try context.commit()
        }
        #expect(try await stack.background { try $0.count(OperationDependency.all) } == 1)
        for stack in [stack, other] { try await stack.close() }
    }

    @Test("Ids of the same store are accepted, including an id that is not used yet")
    func known() async throws {
        let stack = try await Self.open()
        let id = try await Self.foreign(stack).0
        try await stack.background { context in
            let operation = context.enqueue(Named(name: "here"), in: .work)
            try operation.addDependencies([id, try context.newID(for: stack)])
            try context.commit()
        }
        try await stack.close()
    }

    @Test("Payload items of another store are refused") func items() async throws {
        let (stack, other) = try await (Self.open(), Self.open())
        let (_, id) = try await Self.foreign(other)
        let item = try await other.background { context in QueuedItem(try #require(try context.find(id))) }
        _ = try await Self.foreign(stack)
        try await stack.background { context in try Self.refuse(item, in: context, of: stack) }
        #expect(try await stack.background { try $0.count(OperationItem.all) } == 0)
        for stack in [stack, other] { try await stack.close() }
    }

    /// Expects that every way to enqueue an item refuses one of another store.
    private static func refuse(
        _ item: QueuedItem<Letter>,
        in context: SavingContext,
        of stack: ContextStack
    ) throws {
        expectForeign("enqueue as") {
            _ = try context.enqueue(item, as: try stack.newID(for: QueuedOperation.self), in: .work)
        }
        expectForeign("enqueue with a key") {
            _ = try context.enqueue(item, in: .work, key: "key", onDuplicate: .replace)
        }
        let operation = context.enqueue(Named(name: "here"), in: .work)
        expectForeign("setPayload") { try operation.setPayload(item) }
        try context.commit()
        // `enqueue` without a key cannot throw, so the save refuses the item.
        context.enqueue(item, in: .work)
        let error = #expect(throws: StrataError.self) { try context.commit() }
        #expect(error?.code == .validation && error?.description.contains("another store") == true)
        context.rollback()
    }

    @Test("A fault injected for an operation of another store never fires") func fault() async throws {
        let (stack, other) = try await (Self.open(), Self.open())
        let (id, _) = try await Self.foreign(other)
        let own = try await Self.foreign(stack).0
        #expect(own.rawValue == id.rawValue)
        let pipeline = try await Pipeline.open(stack, named: .work) { (_: Attempt<Named>) in .done }
        let fault = pipeline.inject(.crashBeforeHandler, into: id)
        try await pipeline.waitUntilIdle()
        #expect(fault.remaining == 1)
        for stack in [stack, other] { try await stack.close() }
    }
}

extension ObjectContext {
    /// An id that is allocated but not used yet.
    fileprivate func newID(for stack: ContextStack) throws -> ObjectID<QueuedOperation> {
        try stack.newID(for: QueuedOperation.self)
    }
}
