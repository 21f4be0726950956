import Dispatch
import Foundation
import Testing

@testable import Strata

@Suite("C10 savepoints of a context and of its parent at the same time") struct OverlappingSavepointTests {
    struct Stop: Error {}

    /// A desk over root, and a draft over the desk.
    private func open() async throws -> (stack: ContextStack, desk: ContextHandle, draft: ContextHandle) {
        let stack = try await openStack(.rootOnly)
        let desk = try stack.create(.private, named: "desk")
        let draft = try await stack.on(desk) { _ in try stack.create(.private, named: "draft") }
        return (stack, desk, draft)
    }

    /// A savepoint of the desk that saves, and comes to nothing while one of the draft has begun. Its changes are in root meanwhile.
    private func overlap(
        _ desk: ContextHandle,
        _ draft: ContextHandle,
        meanwhile: @escaping @Sendable () throws -> Void = {},
        inDraft: @escaping @Sendable (ObjectContext) throws -> Void = { _ in }
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

    @Test("what the draft had saved before stays saved", .timeLimit(.minutes(1)))
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

    @Test("what lies above each other stays so, and objects show what queries find", .timeLimit(.minutes(1)))
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
            // On an executor of its own, while the desk is in its savepoint.
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

    private enum Held: ContextStateKey { typealias Value = Author }
}
