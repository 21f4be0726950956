import Foundation
import Strata
import StrataTesting
import Synchronization
import Testing

@testable import StrataPipeline

@Model private final class Ticket {
    @Attribute(.unique) var name: String

    /// What makes one.
    static func make(_ name: String) -> @Sendable (ObjectContext) throws -> Void {
        { context in _ = context.insert(Ticket(name: name)) }
    }
}

@Suite("P10 what is committed at the same moment shares a transaction", .timeLimit(.minutes(1))) struct CommitGroupTests
{
    struct Stop: Error {}

    typealias Changes = @Sendable (ObjectContext) throws -> Void
    typealias Alongside = @Sendable (StoreTransaction) throws -> Void

    /// A store, and a group of which one member commits while the others come.
    private static func open() async throws -> (ContextStack, CommitGroup) {
        let stack = try await ContextStack.open(.inMemory, models: Pipeline.models + [Ticket.self], stack: .rootOnly)
        return (stack, CommitGroup(stack, author: "group"))
    }

    /// Has all of them gather behind a commit that is under way.
    ///
    /// - Returns: the errors of those that were refused, by their place.
    private static func commit(
        _ all: [Changes],
        alongside: [Int: Alongside] = [:],
        in group: CommitGroup,
        of stack: ContextStack
    ) async throws -> [Int: any Error] {
        let writer = await HeldWriter(stack)
        let (begun, begin) = AsyncStream.makeStream(of: Never.self)
        let first = Task { try await group.commit { _ in begin.finish() } }
        for await _ in begun {}
        return try await withThrowingTaskGroup(of: (Int, (any Error)?).self) { tasks in
            for (place, changes) in all.enumerated() {
                tasks.addTask {
                    do {
                        try await group.commit(changes, alongside: alongside[place] ?? { _ in })
                        return (place, nil)
                    } catch {
                        return (place, error)
                    }
                }
                // In their order.
                while group.waitingCount <= place { await Task.yield() }
            }
            writer.release()
            try await first.value
            return try await tasks.reduce(into: [:]) { errors, end in errors[end.0] = end.1 }
        }
    }

    private static func names(_ stack: ContextStack) async throws -> [String] {
        try await stack.background { try $0.rows(Ticket.sorted { $0.name }).map(\.name) }
    }

    @Test("what comes while a commit is under way goes into one")
    func together() async throws {
        let (stack, group) = try await Self.open()
        let names = (10..<30).map { "\($0)" }
        #expect(try await Self.commit(names.map(Ticket.make), in: group, of: stack).isEmpty)
        #expect(try await Self.names(stack) == names)
        #expect(try await stack.history().map { $0.of(Ticket.self).inserted.count } == [20])
        #expect(group.waitingCount == 0)
        // Whoever comes later is not forgotten.
        try await group.commit(Ticket.make("later"))
        #expect(try await Self.names(stack).last == "later")
        try await stack.close()
    }

    @Test("more than go into one go into the next")
    func many() async throws {
        let (stack, group) = try await Self.open()
        let names = (100..<200).map { "\($0)" }
        #expect(try await Self.commit(names.map(Ticket.make), in: group, of: stack).isEmpty)
        #expect(try await Self.names(stack) == names)
        #expect(try await stack.history().map { $0.of(Ticket.self).inserted.count } == [64, 36])
        try await stack.close()
    }

    @Test("one that throws leaves nothing behind, and the others as they are")
    func throwing() async throws {
        let (stack, group) = try await Self.open()
        let errors = try await Self.commit(
            [
                Ticket.make("a"),
                { context in
                    context.insert(Ticket(name: "b"))
                    throw Stop()
                },
                Ticket.make("c"),
            ],
            in: group,
            of: stack
        )
        #expect(errors.keys.sorted() == [1] && errors[1] is Stop)
        #expect(try await Self.names(stack) == ["a", "c"])
        #expect(try await stack.history().count == 1)
        try await stack.close()
    }

    @Test("who is refused by the commit is refused alone")
    func refused() async throws {
        let (stack, group) = try await Self.open()
        try await group.commit(Ticket.make("b"))
        let errors = try await Self.commit(["a", "b", "c"].map(Ticket.make), in: group, of: stack)
        #expect(errors.keys.sorted() == [1] && (errors[1] as? StrataError)?.code == .notUnique)
        #expect(try await Self.names(stack) == ["a", "b", "c"])
        try await stack.close()
    }

    @Test("so is who throws within the transaction, whose changes are gone")
    func refusedAlongside() async throws {
        let (stack, group) = try await Self.open()
        let errors = try await Self.commit(
            ["a", "b", "c"].map(Ticket.make),
            alongside: [1: { _ in throw Stop() }],
            in: group,
            of: stack
        )
        #expect(errors.keys.sorted() == [1] && errors[1] is Stop)
        #expect(try await Self.names(stack) == ["a", "c"])
        try await stack.close()
    }

    @Test("a block that commits by itself does so alone, and a rollback drops what is its own")
    func ownCommits() async throws {
        let (stack, group) = try await Self.open()
        let errors = try await Self.commit(
            [
                Ticket.make("a"),
                { context in
                    context.insert(Ticket(name: "b"))
                    try context.commit()
                    context.insert(Ticket(name: "c"))
                },
                { context in
                    context.insert(Ticket(name: "d"))
                    context.rollback()
                    context.insert(Ticket(name: "e"))
                },
            ],
            in: group,
            of: stack
        )
        #expect(errors.isEmpty)
        #expect(try await Self.names(stack) == ["a", "b", "c", "e"])
        #expect(try await stack.history().map { $0.of(Ticket.self).inserted.count } == [2, 1, 1])
        try await stack.close()
    }

    @Test("author and merge policy are those of the block that names them")
    func settings() async throws {
        let (stack, group) = try await Self.open()
        try await group.commit(Ticket.make("a"))
        let seen = Mutex<[String]>([])
        let errors = try await Self.commit(
            [
                { context in
                    (context.author, context.mergePolicy) = ("somebody", .mine)
                    context.insert(Ticket(name: "b"))
                },
                { context in
                    context.mergePolicy = .theirs
                    context.insert(Ticket(name: "c"))
                },
                { context in
                    seen.withLock { $0.append("\(context.author ?? "nobody") \(context.mergePolicy)") }
                    context.insert(Ticket(name: "d"))
                },
            ],
            in: group,
            of: stack
        )
        #expect(errors.isEmpty)
        #expect(seen.withLock(\.self) == ["nobody \(MergePolicy.error)"])
        #expect(try await Self.names(stack) == ["a", "b", "c", "d"])
        #expect(try await stack.history().map(\.author) == [nil, nil, "somebody"])
        try await stack.close()
    }

    @Test("attempts that end at the same moment, and write something down on their way, share their commits")
    func attempts() async throws {
        let stack = try await ContextStack.open(.inMemory, models: Pipeline.models + [Ticket.self], stack: .rootOnly)
        let count = 8
        let started = Atomic(0)
        let (all, isAll) = AsyncStream.makeStream(of: Never.self)
        let (goes, go) = (Gate(), Gate())
        let pipeline = try await Pipeline.open(stack, named: "work", maxConcurrent: count) {
            (attempt: Attempt<Named>) in
            if started.add(1, ordering: .relaxed).newValue == count { isAll.finish() }
            await goes.wait()
            try await attempt.commit(Ticket.make("begun \(attempt.payload.name)"))
            if started.add(1, ordering: .relaxed).newValue == 2 * count { go.open() }
            await go.wait()
            return .done(Ticket.make("done \(attempt.payload.name)"))
        }
        let events = pipeline.events
        try await stack.background { context in
            for number in 0..<count { context.enqueue(Named(name: "\(number)"), in: "work") }
            try context.commit()
        }
        for await _ in all {}
        let token = stack.historyToken
        let writer = await HeldWriter(stack)
        goes.open()
        while pipeline.handle.engine.commits.waitingCount < count - 1 { await Task.yield() }
        writer.release()
        var finished = 0
        for await case .finished in events {
            finished += 1
            if finished == count { break }
        }
        await pipeline.close()
        #expect(try await Self.names(stack).count == 2 * count)
        let begun = try await stack.history(since: token).filter { !$0.of(Ticket.self).inserted.isEmpty }
        #expect(begun.prefix(2).map { $0.of(Ticket.self).inserted.count } == [1, count - 1])
        try await stack.close()
    }
}

/// Lets tasks pass once it is open.
private final class Gate: Sendable {
    private let state = Mutex<(isOpen: Bool, waiting: [CheckedContinuation<Void, Never>])>((false, []))

    func wait() async {
        await withCheckedContinuation { continuation in
            let isOpen = state.withLock { state in
                if !state.isOpen { state.waiting.append(continuation) }
                return state.isOpen
            }
            if isOpen { continuation.resume() }
        }
    }

    func open() {
        let waiting = state.withLock { state in
            defer { state = (true, []) }
            return state.waiting
        }
        for continuation in waiting { continuation.resume() }
    }
}
