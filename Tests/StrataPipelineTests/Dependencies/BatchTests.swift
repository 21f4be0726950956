import Strata
import StrataPipeline
import StrataTesting
import Testing

@Suite("Batches with a completion operation", .timeLimit(.minutes(1))) struct BatchTests {
    /// A stage with a batch of the parts `A`, `B` and `C` and the completion `done`, and their ids in this order.
    private static func open(_ whenFailed: DependencyPolicy = .wait) async throws -> (
        Stage, [ObjectID<QueuedOperation>]
    ) {
        let stage = try await Stage.open()
        let ids = try await stage.stack.background { context in
            let batch = try context.enqueue(
                ["A", "B", "C"].map { Named(name: $0) },
                in: .work,
                then: Named(name: "done"),
                in: .work,
                whenFailed: whenFailed
            )
            try context.commit()
            return batch.operations.map(\.id) + [batch.completion.id]
        }
        stage.pipeline.resume()
        await stage.pipeline.settled()
        return (stage, ids)
    }

    private static func left(_ stage: Stage, _ completion: ObjectID<QueuedOperation>) async throws -> Int? {
        try await stage.stack.background { try $0.find(completion)?.dependencies().count }
    }

    @Test("The completion runs when all parts have finished, and reports how many are left")
    func completion() async throws {
        let (stage, ids) = try await Self.open()
        #expect(stage.log.started == Array(ids.prefix(3)))
        for (left, name) in zip([3, 2, 1], ["B", "A", "C"]) {
            #expect(try await Self.left(stage, ids[3]) == left)
            #expect(stage.log.started.count == 3)
            try await stage.end(name, id: ids[name == "A" ? 0 : name == "B" ? 1 : 2])
        }
        #expect(stage.log.started.last == ids[3] && stage.log.started.count == 4)
        try await stage.close()
    }

    @Test(
        "The declared policy decides whether a failed part holds the completion back",
        arguments: DependencyPolicy.allCases
    )
    func failed(_ whenFailed: DependencyPolicy) async throws {
        let (stage, ids) = try await Self.open(whenFailed)
        try await stage.end("A", id: ids[0], .success(.fail("no")))
        try await stage.end("B", id: ids[1])
        try await stage.end("C", id: ids[2])
        await stage.pipeline.settled()
        let status = try await stage.stack.background { try $0.find(ids[3])?.status }
        #expect(status == [.wait: .waiting, .fail: .failed, .run: .active][whenFailed])
        try await stage.close()
    }

    @Test("The completion waits for a part that is added later, and runs at once without parts")
    func later() async throws {
        let (stage, ids) = try await Self.open()
        try await stage.commit(["more"])
        let more = stage.id("more")
        try await stage.stack.background { context in
            try context.find(ids[3])?.addDependencies([more])
            try context.commit()
        }
        for (index, name) in ["A", "B", "C"].enumerated() { try await stage.end(name, id: ids[index]) }
        #expect(!stage.log.started.contains(ids[3]))
        try await stage.end("more")
        #expect(stage.log.started.last == ids[3])
        let alone = try await stage.stack.background { context in
            let batch = try context.enqueue([Named](), in: .work, then: Named(name: "alone"), in: .work)
            try context.commit()
            return batch.completion.id
        }
        await stage.pipeline.settled()
        #expect(stage.log.started.last == alone)
        try await stage.close()
    }
}
