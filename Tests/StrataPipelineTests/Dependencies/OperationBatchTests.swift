import Strata
import StrataPipeline
import StrataTesting
import Testing

@Suite("Batches with a completion operation", .timeLimit(.minutes(1))) struct OperationBatchTests {
    /// A harness with a batch of the parts `A`, `B` and `C` and the completion `done`, and their ids in this order.
    private static func open(_ onFailure: DependencyPolicy = .wait) async throws -> (
        PipelineHarness, [ObjectID<QueuedOperation>]
    ) {
        let harness = try await PipelineHarness.open()
        let ids = try await harness.stack.background { context in
            let batch = try context.enqueue(
                ["A", "B", "C"].map { Named(name: $0) },
                in: .work,
                then: Named(name: "done"),
                in: .work,
                onFailure: onFailure
            )
            try context.commit()
            return batch.operations.map(\.id) + [batch.completion.id]
        }
        harness.pipeline.resume()
        await harness.pipeline.waitUntilProcessed()
        return (harness, ids)
    }

    private static func left(_ harness: PipelineHarness, _ completion: ObjectID<QueuedOperation>) async throws -> Int? {
        try await harness.stack.background { try $0.find(completion)?.dependencies().count }
    }

    @Test("The completion runs when all parts have finished, and reports how many are left")
    func completion() async throws {
        let (harness, ids) = try await Self.open()
        #expect(harness.log.started == Array(ids.prefix(3)))
        for (left, name) in zip([3, 2, 1], ["B", "A", "C"]) {
            #expect(try await Self.left(harness, ids[3]) == left)
            #expect(harness.log.started.count == 3)
            try await harness.end(name, id: ids[name == "A" ? 0 : name == "B" ? 1 : 2])
        }
        #expect(harness.log.started.last == ids[3] && harness.log.started.count == 4)
        try await harness.close()
    }

    @Test(
        "The declared policy decides whether a failed part holds the completion back",
        arguments: DependencyPolicy.allCases
    )
    func failed(_ onFailure: DependencyPolicy) async throws {
        let (harness, ids) = try await Self.open(onFailure)
        try await harness.end("A", id: ids[0], .success(.fail("no")))
        try await harness.end("B", id: ids[1])
        try await harness.end("C", id: ids[2])
        await harness.pipeline.waitUntilProcessed()
        let status = try await harness.stack.background { try $0.find(ids[3])?.status }
        #expect(status == [.wait: .waiting, .fail: .failed, .run: .active][onFailure])
        try await harness.close()
    }

    @Test("The completion waits for a part that is added later, and runs at once without parts")
    func later() async throws {
        let (harness, ids) = try await Self.open()
        try await harness.commit(["more"])
        let more = harness.id("more")
        try await harness.stack.background { context in
            try context.find(ids[3])?.addDependencies([more])
            try context.commit()
        }
        for (index, name) in ["A", "B", "C"].enumerated() { try await harness.end(name, id: ids[index]) }
        #expect(!harness.log.started.contains(ids[3]))
        try await harness.end("more")
        #expect(harness.log.started.last == ids[3])
        let alone = try await harness.stack.background { context in
            let batch = try context.enqueue([Named](), in: .work, then: Named(name: "alone"), in: .work)
            try context.commit()
            return batch.completion.id
        }
        await harness.pipeline.waitUntilProcessed()
        #expect(harness.log.started.last == alone)
        try await harness.close()
    }
}
