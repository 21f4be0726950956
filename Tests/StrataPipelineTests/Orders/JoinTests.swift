import Foundation
import StoreModels
import Strata
import StrataPipeline
import StrataTesting
import Testing

@Suite("Operations that join an earlier commit", .timeLimit(.minutes(1))) struct JoinTests {
    @Test("A joined operation runs with its commit, before operations queued later")
    func turn() async throws {
        for ordering in [PipelineOrdering.commits, .fifo, .flat] {
            let stage = try await Stage.open(ordering: ordering, max: 1)
            try await stage.commit(["A", "B"])
            try await stage.commit(["C"])
            try await stage.commit(["D"], joining: "B")
            // An operation can also join through another joined one.
            try await stage.commit(["E"], joining: "D")
            try await stage.play([
                .resume("A"), .done("A", "B"), .done("B", "D"), .done("D", "E"), .done("E", "C"), .done("C"),
            ])
            try await stage.close()
        }
    }

    @Test("With .commits, the next commit waits for joined operations, even if they came while the others ran")
    func late() async throws {
        let stage = try await Stage.open(ordering: .commits)
        try await stage.commit(["A"])
        try await stage.commit(["B"])
        try await stage.play([.resume("A")])
        try await stage.commit(["C"], joining: "A")
        #expect(stage.takeStarts() == ["C"])
        try await stage.play([.done("A"), .done("C", "B"), .done("B")])
        try await stage.close()
    }

    @Test("A joined operation takes over the sort key and still follows its commit after the store reopens")
    func sortKey() async throws {
        let folder = try ScratchFolder()
        let stage = try await Stage.open(.sqlite(folder.file("s.sqlite")), ordering: .fifo)
        try await stage.commit(["A"])
        try await stage.commit(["B"])
        try await stage.edit("A") { $0.sortKey = 5 }
        try await stage.commit(["C"], joining: "A")
        let (first, joined) = (try await stage.row("A"), try await stage.row("C"))
        #expect(joined?.commit == first?.commit && joined?.sortKey == 5 && first?.commit ?? 0 > 0)
        try await stage.close()
        let again = try await Stage.open(.sqlite(folder.file("s.sqlite")), ordering: .fifo)
        again.learn(from: stage)
        try await again.play([.resume("B"), .done("B", "A"), .done("A", "C"), .done("C")])
        try await again.close()
    }

    @Test("A join holds even if the operation was committed in the meantime")
    func committedMeanwhile() async throws {
        let stage = try await Stage.open(ordering: .fifo)
        try await stage.commit(["A"])
        let (stack, first) = (stage.stack, stage.id("A"))
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
        try await stage.close()
    }

    @Test("A join that would create a dependency cycle is refused")
    func ring() async throws {
        let stage = try await Stage.open(ordering: .commits)
        try await stage.commit(["A"])
        try await stage.commit(["B"])
        let error = await #expect(throws: PipelineError.self) { try await stage.commit(["C←B"], joining: "A") }
        #expect(error?.code == .dependencyCycle)
        try await stage.play([.resume("A"), .done("A", "B"), .done("B")])
        try await stage.close()
    }

    @Test("A queued operation or one of another pipeline cannot join; joining an uncommitted one has no effect")
    func refused() async throws {
        let stage = try await Stage.open()
        try await stage.commit(["A", "B"])
        let (first, second) = (stage.id("A"), stage.id("B"))
        try await stage.stack.background { context in
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
        try await stage.close()
    }
}
