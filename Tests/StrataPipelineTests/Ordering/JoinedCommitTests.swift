import Foundation
import StoreModels
import Strata
import StrataPipeline
import StrataTesting
import Testing

@Suite("Operations that join an earlier commit", .timeLimit(.minutes(1))) struct JoinedCommitTests {
    @Test("A joined operation runs with its commit, before operations queued later")
    func turn() async throws {
        for ordering in [PipelineOrdering.commits, .fifo, .flat] {
            let harness = try await PipelineHarness.open(ordering: ordering, max: 1)
            try await harness.commit(["A", "B"])
            try await harness.commit(["C"])
            try await harness.commit(["D"], joining: "B")
            // An operation can also join through another joined one.
            try await harness.commit(["E"], joining: "D")
            try await harness.play([
                .resume("A"), .done("A", "B"), .done("B", "D"), .done("D", "E"), .done("E", "C"), .done("C"),
            ])
            try await harness.close()
        }
    }

    @Test("With .commits, the next commit waits for joined operations, even if they came while the others ran")
    func late() async throws {
        let harness = try await PipelineHarness.open(ordering: .commits)
        try await harness.commit(["A"])
        try await harness.commit(["B"])
        try await harness.play([.resume("A")])
        try await harness.commit(["C"], joining: "A")
        #expect(harness.takeStarts() == ["C"])
        try await harness.play([.done("A"), .done("C", "B"), .done("B")])
        try await harness.close()
    }

    @Test("A joined operation takes over the sort key and still follows its commit after the store reopens")
    func sortKey() async throws {
        let folder = try ScratchFolder()
        let harness = try await PipelineHarness.open(.sqlite(folder.file("s.sqlite")), ordering: .fifo)
        try await harness.commit(["A"])
        try await harness.commit(["B"])
        try await harness.edit("A") { $0.sortKey = 5 }
        try await harness.commit(["C"], joining: "A")
        let (first, joined) = (try await harness.row("A"), try await harness.row("C"))
        #expect(joined?.commit == first?.commit && joined?.sortKey == 5 && first?.commit ?? 0 > 0)
        try await harness.close()
        let again = try await PipelineHarness.open(.sqlite(folder.file("s.sqlite")), ordering: .fifo)
        again.learn(from: harness)
        try await again.play([.resume("B"), .done("B", "A"), .done("A", "C"), .done("C")])
        try await again.close()
    }

    @Test("A join holds even if the operation was committed in the meantime")
    func committedMeanwhile() async throws {
        let harness = try await PipelineHarness.open(ordering: .fifo)
        try await harness.commit(["A"])
        let (stack, first) = (harness.stack, harness.id("A"))
        let parent = try stack.push(.private, named: "parent")
        let child = try stack.push(.private, named: "child")
        let id = try await stack.on(parent) { $0.enqueue(Named(name: "B"), in: .work).id }
        try await stack.on(child) { context in
            let operation = try #require(try context.find(id))
            try operation.join(try #require(try context.find(first)))
            #expect(operation.commit < 0)
            #expect(try context.enqueued(Named.self).map(\.name) == ["A", "B"])
        }
        try await parent.commit()
        try await child.save()
        try await parent.commit()
        let numbers = try await stack.background { context in
            try context.fetch(QueuedOperation.all).map { operation in operation.commit }
        }
        #expect(Set(numbers).count == 1 && numbers.count == 2 && numbers[0] > 0)
        try await harness.close()
    }

    @Test("A join that would create a dependency cycle is refused")
    func cycle() async throws {
        let harness = try await PipelineHarness.open(ordering: .commits)
        try await harness.commit(["A"])
        try await harness.commit(["B"])
        let error = await #expect(throws: PipelineError.self) { try await harness.commit(["C←B"], joining: "A") }
        #expect(error?.code == .dependencyCycle)
        try await harness.play([.resume("A"), .done("A", "B"), .done("B")])
        try await harness.close()
    }

    @Test("A queued operation or one of another pipeline cannot join; joining an uncommitted one has no effect")
    func refused() async throws {
        let harness = try await PipelineHarness.open()
        try await harness.commit(["A", "B"])
        let (first, second) = (harness.id("A"), harness.id("B"))
        try await harness.stack.background { context in
            let (first, second) = (try #require(try context.find(first)), try #require(try context.find(second)))
            let other = context.enqueue(Named(name: "other"), in: "other")
            let fresh = context.enqueue(Named(name: "fresh"), in: .work)
            for body in [{ try first.join(second) }, { try other.join(first) }] {
                let error = #expect(throws: PipelineError.self) { try body() }
                #expect(error?.code == .invalidArgument)
            }
            let another = context.enqueue(Named(name: "another"), in: .work)
            try another.join(fresh)
            try context.commit()
            #expect(another.commit == fresh.commit && fresh.commit > first.commit)
        }
        try await harness.close()
    }
}
