import Foundation
import StoreModels
import Strata
import StrataTesting
import Testing

@testable import StrataPipeline

/// Covers changes to `.flat` and, the other way, from `.fifo` and `.flat` to `.commits`.
@Suite(
    "Queued operations keep their order when the pipeline's ordering changes",
    .timeLimit(.minutes(1))
)
struct OrderChangeTests {
    /// A pipeline with these commits that was closed and opened with another ordering.
    private static func changed(
        _ folder: ScratchFolder,
        from former: PipelineOrdering,
        to ordering: PipelineOrdering,
        whenFailed: FailurePolicy? = nil,
        _ commits: [Entry]...
    ) async throws -> Stage {
        let location = StoreLocation.sqlite(folder.file("s.sqlite"))
        let first = try await Stage.open(location, ordering: former)
        for entries in commits { try await first.commit(entries) }
        try await first.close()
        let second = try await Stage.open(location, ordering: ordering, whenFailed: whenFailed)
        second.learn(from: first)
        return second
    }

    @Test("From .commits to .flat, queued commits stay one after the other, and new operations run beside them")
    func commitsToFlat() async throws {
        let folder = try ScratchFolder()
        let stage = try await Self.changed(folder, from: .commits, to: .flat, ["A", "B"], ["C"], ["D", "E"])
        try await stage.play([
            .commit("new"), .resume("A", "B", "new"), .done("A"), .done("B", "C"), .done("C", "D", "E"), .done("new"),
            .done("D"), .done("E"),
        ])
        #expect(try await stage.stack.background { try $0.count(OperationDependency.all) } == 0)
        try await stage.close()
    }

    @Test("The order survives another restart and a change back")
    func again() async throws {
        let folder = try ScratchFolder()
        let location = StoreLocation.sqlite(folder.file("s.sqlite"))
        var stage = try await Self.changed(folder, from: .commits, to: .flat, ["A"], ["B"], ["C"])
        for ordering in [PipelineOrdering.flat, .commits, .flat] {
            let former = stage
            try await former.close()
            stage = try await Stage.open(location, ordering: ordering)
            stage.learn(from: former)
        }
        try await stage.play([.resume("A"), .done("A", "B"), .done("B", "C"), .done("C")])
        try await stage.close()
    }

    @Test("From .fifo and .lifo, operations stay one after the other", arguments: [PipelineOrdering.fifo, .lifo])
    func exclusive(_ former: PipelineOrdering) async throws {
        let folder = try ScratchFolder()
        let stage = try await Self.changed(folder, from: former, to: .flat, ["A", "B"], ["C"])
        let names = former == .fifo ? ["A", "B", "C"] : ["C", "B", "A"]
        stage.pipeline.resume()
        for name in names {
            await stage.pipeline.settled()
            #expect(stage.takeStarts() == [name])
            try await stage.end(name)
        }
        try await stage.close()
    }

    @Test("From .fifo to .commits, operations stay sequential; from .flat, one commit runs before the next")
    func toCommits() async throws {
        let folder = try ScratchFolder()
        let stage = try await Self.changed(folder, from: .fifo, to: .commits, ["A", "B"], ["C"])
        try await stage.play([.resume("A"), .done("A", "B"), .done("B", "C"), .done("C")])
        try await stage.close()
        let other = try ScratchFolder()
        let flat = try await Self.changed(other, from: .flat, to: .commits, ["A", "B"], ["C"])
        try await flat.play([.resume("A", "B"), .done("A"), .done("B", "C"), .done("C")])
        try await flat.close()
    }

    @Test("Lanes do not wait for each other")
    func lanes() async throws {
        let folder = try ScratchFolder()
        let location = StoreLocation.sqlite(folder.file("s.sqlite"))
        let first = try await Stage.open(location, ordering: .commits)
        for name in ["a1", "b1", "a2", "b2"] {
            try await first.commit([Entry(stringLiteral: name)], lane: { String($0.prefix(1)) })
        }
        try await first.close()
        let stage = try await Stage.open(location)
        stage.learn(from: first)
        try await stage.play([.resume("a1", "b1"), .done("b1", "b2"), .done("a1", "a2"), .done("a2"), .done("b2")])
        try await stage.close()
    }

    @Test(
        "A failed operation holds back the others only if the policy says so",
        arguments: [FailurePolicy.block, .park]
    )
    func failed(_ policy: FailurePolicy) async throws {
        let folder = try ScratchFolder()
        let location = StoreLocation.sqlite(folder.file("s.sqlite"))
        let first = try await Stage.open(location, ordering: .commits)
        for name in ["A", "B", "C"] { try await first.commit([Entry(stringLiteral: name)]) }
        try await first.play([.resume("A")])
        try await first.end("A", .success(.fail("no")))
        try await first.close()
        let stage = try await Stage.open(location, whenFailed: policy)
        stage.learn(from: first)
        if policy == .park {
            try await stage.play([.resume("B")])
            try await stage.end("B", .success(.fail("no")))
            #expect(stage.takeStarts() == ["C"])
            try await stage.end("C")
        } else {
            try await stage.play([.resume()])
            try await stage.edit("A") { $0.retry() }
            #expect(stage.takeStarts() == ["A"])
            try await stage.play([.done("A", "B"), .done("B", "C"), .done("C")])
        }
        try await stage.close()
    }

    @Test("Operations taken over from a previous name keep their order")
    func formerName() async throws {
        let folder = try ScratchFolder()
        let location = StoreLocation.sqlite(folder.file("s.sqlite"))
        let first = try await Stage.open(location, ordering: .commits)
        for name in ["A", "B", "C"] { try await first.commit([Entry(stringLiteral: name)]) }
        try await first.close()
        let stack = try await ContextStack.open(location, models: Pipeline.models, stack: .rootOnly)
        let (begun, begin) = AsyncStream.makeStream(of: String.self)
        let pipeline = try await Pipeline.open(stack, named: "new", formerNames: [.work]) { (attempt: Attempt<Named>) in
            begin.yield("begins \(attempt.payload.name)")
            await Task.yield()
            begin.yield("ends \(attempt.payload.name)")
            return .done
        }
        try await pipeline.drained()
        begin.finish()
        var lines: [String] = []
        for await line in begun { lines.append(line) }
        #expect(lines == ["A", "B", "C"].flatMap { ["begins \($0)", "ends \($0)"] })
        try await stack.close()
    }

    @Test("Commits of many operations keep their order with few dependencies")
    func many() async throws {
        let stage = try await Stage.open(ordering: .commits)
        try await stage.stack.background { context in
            for _ in 0..<2 {
                for number in 0..<300 { context.enqueue(Named(name: "\(number)"), in: .work) }
                try context.commit()
            }
        }
        try stage.stack.transact(author: "test") { transaction in
            try OperationBook(transaction).keepOrder(
                of: .work,
                from: OperationBook.Rules(ordering: .commits),
                to: OperationBook.Rules(ordering: .flat)
            )
        }
        let numbers = try await stage.stack.background { context in
            try context.rows(QueuedOperation.all.sorted { $0.id.ascending }).map { $0.id.number }
        }
        let dependencies = try await stage.stack.background { try $0.rows(OperationDependency.all) }
        #expect(dependencies.count == 599)
        #expect(dependencies.allSatisfy { $0.isImplied && $0.whenFailed == DependencyPolicy.run })
        let first = numbers[300]
        let ofFirst = dependencies.filter { $0.dependant == first }.map { $0.prerequisite }
        #expect(ofFirst.sorted() == Array(numbers.prefix(300)))
        let others = dependencies.filter { $0.dependant != first }
        #expect(others.map { $0.dependant }.sorted() == Array(numbers.suffix(299)))
        #expect(others.allSatisfy { $0.prerequisite == first })
        try await stage.close()
    }
}
