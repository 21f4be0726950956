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
struct OrderingChangeTests {
    /// A pipeline with these commits that was closed and opened with another ordering.
    private static func changed(
        _ folder: ScratchFolder,
        from former: PipelineOrdering,
        to ordering: PipelineOrdering,
        onFailure: FailurePolicy? = nil,
        _ commits: [Entry]...
    ) async throws -> PipelineHarness {
        let location = StoreLocation.sqlite(folder.file("s.sqlite"))
        let first = try await PipelineHarness.open(location, ordering: former)
        for entries in commits { try await first.commit(entries) }
        try await first.close()
        let second = try await PipelineHarness.open(location, ordering: ordering, onFailure: onFailure)
        second.learn(from: first)
        return second
    }

    @Test("From .commits to .flat, queued commits stay one after the other, and new operations run beside them")
    func commitsToFlat() async throws {
        let folder = try ScratchFolder()
        let harness = try await Self.changed(folder, from: .commits, to: .flat, ["A", "B"], ["C"], ["D", "E"])
        try await harness.play([
            .commit("new"), .resume("A", "B", "new"), .done("A"), .done("B", "C"), .done("C", "D", "E"), .done("new"),
            .done("D"), .done("E"),
        ])
        #expect(try await harness.stack.background { try $0.count(OperationDependency.all) } == 0)
        try await harness.close()
    }

    @Test("The order survives another restart and a change back")
    func again() async throws {
        let folder = try ScratchFolder()
        let location = StoreLocation.sqlite(folder.file("s.sqlite"))
        var harness = try await Self.changed(folder, from: .commits, to: .flat, ["A"], ["B"], ["C"])
        for ordering in [PipelineOrdering.flat, .commits, .flat] {
            let former = harness
            try await former.close()
            harness = try await PipelineHarness.open(location, ordering: ordering)
            harness.learn(from: former)
        }
        try await harness.play([.resume("A"), .done("A", "B"), .done("B", "C"), .done("C")])
        try await harness.close()
    }

    @Test("From .fifo and .lifo, operations stay one after the other", arguments: [PipelineOrdering.fifo, .lifo])
    func exclusive(_ former: PipelineOrdering) async throws {
        let folder = try ScratchFolder()
        let harness = try await Self.changed(folder, from: former, to: .flat, ["A", "B"], ["C"])
        let names = former == .fifo ? ["A", "B", "C"] : ["C", "B", "A"]
        harness.pipeline.resume()
        for name in names {
            await harness.pipeline.waitUntilProcessed()
            #expect(harness.takeStarts() == [name])
            try await harness.end(name)
        }
        try await harness.close()
    }

    @Test("From .fifo to .commits, operations stay sequential; from .flat, one commit runs before the next")
    func toCommits() async throws {
        let folder = try ScratchFolder()
        let harness = try await Self.changed(folder, from: .fifo, to: .commits, ["A", "B"], ["C"])
        try await harness.play([.resume("A"), .done("A", "B"), .done("B", "C"), .done("C")])
        try await harness.close()
        let other = try ScratchFolder()
        let flat = try await Self.changed(other, from: .flat, to: .commits, ["A", "B"], ["C"])
        try await flat.play([.resume("A", "B"), .done("A"), .done("B", "C"), .done("C")])
        try await flat.close()
    }

    @Test("Lanes do not wait for each other")
    func lanes() async throws {
        let folder = try ScratchFolder()
        let location = StoreLocation.sqlite(folder.file("s.sqlite"))
        let first = try await PipelineHarness.open(location, ordering: .commits)
        for name in ["a1", "b1", "a2", "b2"] {
            try await first.commit([Entry(stringLiteral: name)], lane: { String($0.prefix(1)) })
        }
        try await first.close()
        let harness = try await PipelineHarness.open(location)
        harness.learn(from: first)
        try await harness.play([.resume("a1", "b1"), .done("b1", "b2"), .done("a1", "a2"), .done("a2"), .done("b2")])
        try await harness.close()
    }

    @Test(
        "A failed operation holds back the others only if the policy says so",
        arguments: [FailurePolicy.blockLane, .setAside]
    )
    func failed(_ policy: FailurePolicy) async throws {
        let folder = try ScratchFolder()
        let location = StoreLocation.sqlite(folder.file("s.sqlite"))
        let first = try await PipelineHarness.open(location, ordering: .commits)
        for name in ["A", "B", "C"] { try await first.commit([Entry(stringLiteral: name)]) }
        try await first.play([.resume("A")])
        try await first.end("A", .success(.fail("no")))
        try await first.close()
        let harness = try await PipelineHarness.open(location, onFailure: policy)
        harness.learn(from: first)
        if policy == .setAside {
            try await harness.play([.resume("B")])
            try await harness.end("B", .success(.fail("no")))
            #expect(harness.takeStarts() == ["C"])
            try await harness.end("C")
        } else {
            try await harness.play([.resume()])
            try await harness.edit("A") { $0.retry() }
            #expect(harness.takeStarts() == ["A"])
            try await harness.play([.done("A", "B"), .done("B", "C"), .done("C")])
        }
        try await harness.close()
    }

    @Test("Operations taken over from a previous name keep their order")
    func formerName() async throws {
        let folder = try ScratchFolder()
        let location = StoreLocation.sqlite(folder.file("s.sqlite"))
        let first = try await PipelineHarness.open(location, ordering: .commits)
        for name in ["A", "B", "C"] { try await first.commit([Entry(stringLiteral: name)]) }
        try await first.close()
        let stack = try await ContextStack.open(location, models: Pipeline.models, stack: .rootOnly)
        let (begun, begin) = AsyncStream.makeStream(of: String.self)
        let pipeline = try await Pipeline.open(stack, named: "new", previousNames: [.work]) {
            (attempt: Attempt<Named>) in
            begin.yield("begins \(attempt.payload.name)")
            await Task.yield()
            begin.yield("ends \(attempt.payload.name)")
            return .done
        }
        try await pipeline.waitUntilIdle()
        begin.finish()
        var lines: [String] = []
        for await line in begun { lines.append(line) }
        #expect(lines == ["A", "B", "C"].flatMap { ["begins \($0)", "ends \($0)"] })
        try await stack.close()
    }

    @Test("Commits of many operations keep their order with few dependencies")
    func many() async throws {
        let harness = try await PipelineHarness.open(ordering: .commits)
        try await harness.stack.background { context in
            for _ in 0..<2 {
                for number in 0..<300 { context.enqueue(Named(name: "\(number)"), in: .work) }
                try context.commit()
            }
        }
        try harness.stack.transact(author: "test") { transaction in
            try OperationRepository(transaction).keepOrder(
                of: .work,
                from: OperationRepository.Rules(ordering: .commits),
                to: OperationRepository.Rules(ordering: .flat)
            )
        }
        let numbers = try await harness.stack.background { context in
            try context.rows(QueuedOperation.all.sorted { $0.id.ascending }).map { $0.id.rawValue }
        }
        let dependencies = try await harness.stack.background { try $0.rows(OperationDependency.all) }
        #expect(dependencies.count == 599)
        #expect(dependencies.allSatisfy { $0.isImplied && $0.whenFailed == DependencyPolicy.run })
        let first = numbers[300]
        let ofFirst = dependencies.filter { $0.dependant == first }.map { $0.prerequisite }
        #expect(ofFirst.sorted() == Array(numbers.prefix(300)))
        let others = dependencies.filter { $0.dependant != first }
        #expect(others.map { $0.dependant }.sorted() == Array(numbers.suffix(299)))
        #expect(others.allSatisfy { $0.prerequisite == first })
        try await harness.close()
    }
}
