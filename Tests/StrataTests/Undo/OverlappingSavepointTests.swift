import Dispatch
import Foundation
import Testing

@testable import Strata

@Suite("Savepoints of a context and of its parent at the same time") struct OverlappingSavepointTests {
    struct Stop: Error {}

    /// A context `desk` over root, and a context `draft` over the desk.
    private func open() async throws -> (stack: ContextStack, desk: ContextHandle, draft: ContextHandle) {
        let stack = try await openStack(.rootOnly)
        let desk = try stack.create(.private, named: "desk")
        let draft = try await stack.on(desk) { _ in try stack.create(.private, named: "draft") }
        return (stack, desk, draft)
    }

    /// Runs a savepoint of the desk that saves, and that throws after a savepoint of the draft has begun.
    private func overlap(
        _ desk: ContextHandle,
        _ draft: ContextHandle,
        meanwhile: @escaping @Sendable () throws -> Void = {},
        inDraft: @escaping @Sendable (SavingContext) throws -> Void = { _ in }
    ) async throws {
        let (isSaved, hasBegun, isBack) = (
            DispatchSemaphore(value: 0), DispatchSemaphore(value: 0), DispatchSemaphore(value: 0)
        )
        async let above: Void = draft.perform { context in
            _ = isSaved.wait(timeout: .now() + 20)
            #expect(throws: Stop.self) {
                try context.savepoint {
                    hasBegun.signal()
                    _ = isBack.wait(timeout: .now() + 20)
                    try inDraft(context)
                    throw Stop()
                }
            }
        }
        try await desk.perform { context in
            #expect(throws: Stop.self) {
                try context.savepoint {
                    try context.save()
                    try meanwhile()
                    isSaved.signal()
                    _ = hasBegun.wait(timeout: .now() + 20)
                    throw Stop()
                }
            }
            isBack.signal()
        }
        try await above
    }

    @Test("A child's earlier save survives when its parent's savepoint takes back a save", .timeLimit(.minutes(1)))
    func savedBefore() async throws {
        let (stack, desk, draft) = try await open()
        let id = try await draft.perform { context in
            let author = context.insert(Author(name: "kept"))
            try context.save()
            return author.id
        }
        try await overlap(desk, draft)
        for context in [desk, draft] {
            #expect(try await context.perform { try $0.find(id)?.name } == "kept")
        }
        try await desk.commit()
        #expect(try await stack.on(.root) { try $0.count(Author.all) } == 1)
        try await stack.close()
    }

    @Test(
        "Changes keep their order after overlapping savepoints, and objects show what queries find",
        .timeLimit(.minutes(1))
    )
    func order() async throws {
        let (stack, desk, draft) = try await open()
        let id = try await stack.on(.root) { context in
            let author = context.insert(Author(name: "stored"))
            try context.commit()
            return author.id
        }
        try await draft.perform { context in
            try #require(try context.find(id)).name = "by the draft"
            try context.save()
        }
        let other = try await stack.on(desk) { _ in try stack.create(.private, named: "other") }
        let isDone = DispatchSemaphore(value: 0)
        try await draft.perform { context in context.state[Held.self] = try context.find(id) }
        try await overlap(desk, draft) {
            // Runs on a separate executor, while the desk is in its savepoint.
            Task {
                try await other.perform { context in
                    try #require(try context.find(id)).name = "by another one"
                    try context.save()
                }
                isDone.signal()
            }
            _ = isDone.wait(timeout: .now() + 20)
        } inDraft: { context in
            context.insert(Author(name: "new"))
            try context.save()
        }
        let (shown, found, count) = try await draft.perform { context in
            let found = try context.count(Author.where { $0.name == "by another one" })
            return (context.state[Held.self]?.name, found, try context.count(Author.all))
        }
        #expect(shown == "by another one" && found == 1 && count == 1)
        try await stack.close()
    }

    /// Runs a body in another context while the calling block waits for it.
    private static func run(in handle: ContextHandle, _ body: @escaping @Sendable (SavingContext) throws -> Void) {
        let isDone = DispatchSemaphore(value: 0)
        Task.detached {
            do {
                try await handle.perform { context in try body(context) }
            } catch {
                Issue.record(error)
            }
            isDone.signal()
        }
        #expect(isDone.wait(timeout: .now() + 20) == .success)
    }

    @Test(
        "A child's edit saved during its parent's savepoint comes back with the parent's own changes",
        .timeLimit(.minutes(1))
    )
    func editedBefore() async throws {
        let (stack, desk, draft) = try await open()
        let id = try await stack.on(.root) { context in
            let author = context.insert(Author(name: "stored"))
            try context.commit()
            return author.id
        }
        try await desk.perform { try #require(try $0.find(id)).name = "by the desk" }
        try await draft.perform { try #require(try $0.find(id)).name = "by the draft" }
        try await desk.perform { context in
            #expect(throws: Stop.self) {
                try context.savepoint {
                    Self.run(in: draft) { try $0.save() }
                    try context.save()
                    throw Stop()
                }
            }
            let name = try context.find(id)?.name
            #expect(name == "by the draft")
        }
        #expect(try await stack.on(.root) { try $0.find(id)?.name } == "stored")
        try await stack.close()
    }

    @Test(
        "Two saves of a child, before and after its parent's save that is taken back, keep their order",
        .timeLimit(.minutes(1))
    )
    func childTwice() async throws {
        let (stack, desk, draft) = try await open()
        let id = try await stack.on(.root) { context in
            let author = context.insert(Author(name: "stored"))
            try context.commit()
            return author.id
        }
        try await desk.perform { context in
            #expect(throws: Stop.self) {
                try context.savepoint {
                    for name in ["first", "second"] {
                        Self.run(in: draft) { child in
                            try #require(try child.find(id)).name = name
                            try child.save()
                        }
                        if name == "first" { try context.save() }
                    }
                    throw Stop()
                }
            }
            let name = try context.find(id)?.name
            #expect(name == "second")
        }
        try await stack.close()
    }

    @Test(
        "Changes that a child's commit has included stay in the store, and are not written again",
        .timeLimit(.minutes(1))
    )
    func takenAlong() async throws {
        let (stack, _, draft) = try await open()
        let child = try await stack.on(draft) { _ in try stack.create(.private, named: "child") }
        try await draft.perform { context in
            context.insert(Author(name: "second"))
            #expect(throws: Stop.self) {
                try context.savepoint {
                    let id = context.insert(Author(name: "first")).id
                    // The save publishes the author, which the child then sees.
                    try context.save()
                    Self.run(in: child) { context in
                        context.insert(Article(title: "t", author: try context.find(id)))
                        try context.commit()
                    }
                    throw Stop()
                }
            }
            #expect(context.hasChanges)
        }
        try await stack.background(parent: .named(.root)) { context in
            let author = try #require(try context.first(Author.where { $0.name == "first" }))
            author.name = "changed"
            try context.commit()
        }
        try await draft.perform { try $0.commit() }
        let names = try await stack.on(.root) { try $0.rows(Author.named).map(\.name) }
        #expect(names == ["changed", "second"])
        try await stack.close()
    }

    @Test("Siblings and the parent do not see a save in a savepoint before it returns", .timeLimit(.minutes(1)))
    func isolation() async throws {
        let (stack, desk, draft) = try await open()
        let other = try await stack.on(desk) { _ in try stack.create(.private, named: "other") }
        try await draft.perform { context in
            try context.savepoint {
                context.insert(Author(name: "new"))
                try context.save()
                for handle in [desk, other] {
                    Self.run(in: handle) { context in
                        let count = try context.count(Author.all)
                        #expect(count == 0)
                    }
                }
            }
        }
        for handle in [desk, other] {
            #expect(try await handle.perform { try $0.count(Author.all) } == 1)
        }
        try await stack.close()
    }

    @Test(
        "A savepoint whose save conflicts with a later change of the parent throws, and its changes are dropped",
        .timeLimit(.minutes(1))
    )
    func conflictAtEnd() async throws {
        let (stack, desk, draft) = try await open()
        let id = try await stack.on(.root) { context in
            let author = context.insert(Author(name: "stored"))
            try context.commit()
            return author.id
        }
        try await draft.perform { context in
            let author = try #require(try context.find(id))
            author.fee = 1
            let error = #expect(throws: StrataError.self) {
                try context.savepoint {
                    author.name = "by the draft"
                    context.insert(Author(name: "new"))
                    try context.save()
                    Self.run(in: desk) { try #require(try $0.find(id)).name = "by the desk" }
                }
            }
            #expect(error?.code == .conflict && error?.details.map(\.column) == ["name"])
            #expect(author.name == "by the desk" && author.fee == 1)
            #expect(try context.count(Author.all) == 1)
            try context.save()
        }
        let (name, fee) = try await desk.perform { context in
            let author = try #require(try context.find(id))
            return (author.name, author.fee)
        }
        #expect(name == "by the desk" && fee == 1)
        try await stack.close()
    }

    @Test("A delete that the parent rolls back during a child's savepoint is not repeated", .timeLimit(.minutes(1)))
    func parentsDelete() async throws {
        let (stack, desk, draft) = try await open()
        let (id, other) = try await stack.on(.root) { context in
            let authors = (context.insert(Author(name: "stays")), context.insert(Author(name: "other")))
            try context.commit()
            return (authors.0.id, authors.1.id)
        }
        try await desk.perform { context in
            let author = try #require(try context.find(id))
            context.state[Held.self] = author
            context.delete(author)
            try #require(try context.find(other)).name = "edited"
        }
        _ = try await draft.perform { context in
            #expect(throws: Stop.self) {
                try context.savepoint {
                    context.insert(Author(name: "new"))
                    try context.save()
                    Self.run(in: desk) { desk in
                        desk.rollback([try #require(desk.state[Held.self])])
                    }
                    throw Stop()
                }
            }
        }
        let name = try await desk.perform { try $0.find(id)?.name }
        #expect(name == "stays")
        try await stack.close()
    }

    @Test(
        "A savepoint that throws puts deletes back without changing segments that a commit is writing",
        .timeLimit(.minutes(1)),
        arguments: [false, true]
    )
    func undoDuringCommit(isEdited: Bool) async throws {
        let (stack, desk, draft) = try await open()
        let id = try await stack.on(.root) { context in
            let author = context.insert(Author(name: "stored"))
            try context.commit()
            return author.id
        }
        try await draft.perform { context in
            let author = try #require(try context.find(id))
            if isEdited { author.fee = 1 }
            context.delete(author)
            context.insert(Author(name: "by the draft"))
        }
        try await desk.perform { context in
            context.undoLevels = 10
            let author = try #require(try context.find(id))
            context.undoGroup { context.delete(author) }
            Self.run(in: draft) { try $0.save() }
            let layers = context.store.layers
            var frozen: Set<Int> = []
            #expect(throws: Stop.self) {
                try context.savepoint {
                    try context.undo()
                    #expect(try context.count(Author.all) == 2)
                    // Like a commit of the draft that is being written.
                    frozen = layers.freeze([context.id])[context.id] ?? []
                    throw Stop()
                }
            }
            #expect(author.isDeleted)
            #expect(try context.count(Author.all) == 1)
            let level = layers.state.withLock { $0.layers[context.id] }
            for segment in level where frozen.contains(segment.id) {
                #expect(segment.parts.values.allSatisfy { !$0.kinds.contains(.delete) })
            }
            #expect(level.contains { $0.provenance == Provenance(draft.id) && !frozen.contains($0.id) })
            layers.thaw(frozen)
        }
        try await desk.commit()
        #expect(try await stack.on(.root) { try $0.rows(Author.all).map(\.name) } == ["by the draft"])
        try await stack.close()
    }

    @Test(
        "A delete that a savepoint puts back has seen the values that a child's commit has written meanwhile",
        .timeLimit(.minutes(1))
    )
    func commitBeforeReturn() async throws {
        let (stack, desk, draft) = try await open()
        let id = try await stack.on(.root) { context in
            let author = context.insert(Author(name: "stored"))
            try context.commit()
            return author.id
        }
        try await draft.perform { context in
            try #require(try context.find(id)).fee = 1
            try context.save()
        }
        try await desk.perform { context in
            context.undoLevels = 10
            let author = try #require(try context.find(id))
            context.undoGroup { context.delete(author) }
            #expect(throws: Stop.self) {
                try context.savepoint {
                    try context.undo()
                    Self.run(in: draft) { draft in
                        draft.insert(Author(name: "by the draft"))
                        try draft.commit()
                    }
                    throw Stop()
                }
            }
            #expect(author.isDeleted)
        }
        // The desk has deleted the author with this fee, so the delete is not a conflict.
        try await desk.commit()
        #expect(try await stack.on(.root) { try $0.rows(Author.all).map(\.name) } == ["by the draft"])
        try await stack.close()
    }

    @Test(
        "A savepoint that throws puts back a delete that a child has saved in it and an undo has removed",
        .timeLimit(.minutes(1)),
        arguments: [1, 2]
    )
    func undoOfSavedDelete(levels: Int) async throws {
        let (stack, desk, draft) = try await open()
        let id = try await stack.on(.root) { context in
            let author = context.insert(Author(name: "stored"))
            try context.commit()
            return author.id
        }
        try await draft.perform { context in
            context.delete(try #require(try context.find(id)))
            context.insert(Author(name: "by the draft"))
        }
        try await desk.perform { context in
            context.undoLevels = 10
            let author = try #require(try context.find(id))
            context.undoGroup { context.delete(author) }
            #expect(throws: Stop.self) {
                try context.savepoint {
                    Self.run(in: draft) { try $0.save() }
                    if levels == 1 { try context.undo() } else { try context.savepoint { _ = try context.undo() } }
                    #expect(try context.count(Author.all) == 2)
                    // This segment must not be merged with the one whose delete is removed.
                    Self.run(in: draft) { draft in
                        draft.insert(Author(name: "later"))
                        try draft.save()
                    }
                    throw Stop()
                }
            }
            // Drops the desk's own delete. The draft's one remains.
            context.rollback()
            #expect(author.isDeleted)
            #expect(try context.count(Author.all) == 2)
        }
        try await desk.commit()
        let names = try await stack.on(.root) { try $0.rows(Author.named).map(\.name) }
        #expect(names == ["by the draft", "later"])
        try await stack.close()
    }

    private enum Held: ContextStateKey { typealias Value = Author }
}
