import FleetFixture
import Strata
import StrataPipeline
import Synchronization
import Testing

/// Pipelines whose operations several nodes claim, over a home in PostgreSQL.
@Suite("Pipelines over PostgreSQL", .timeLimit(.minutes(2))) struct NodePipelineTests {
    private static let models: [any Model.Type] = [Parcel.self] + Pipeline.models
    private static let count = 30

    /// The calls of the handlers of all nodes.
    private final class Deliveries: Sendable {
        private let calls = Mutex<[(node: String, number: Int)]>([])

        var numbers: [Int] { calls.withLock { $0.map(\.number) } }
        var nodes: Set<String> { calls.withLock { Set($0.map(\.node)) } }

        func add(_ node: String, _ number: Int) { calls.withLock { $0.append((node, number)) } }

        /// Waits until handlers of both nodes were called, so that one node does not do everything.
        func waitForBothNodes() async throws {
            let end = ContinuousClock.now + .seconds(30)
            while nodes.count < 2, ContinuousClock.now < end { try await Task.sleep(for: .milliseconds(2)) }
        }
    }

    private func openPipeline(
        _ node: String,
        _ stack: ContextStack,
        _ deliveries: Deliveries
    ) async throws -> Pipeline {
        let options = PipelineOptions(maxConcurrent: 3)
        return try await Pipeline.open(stack, named: "parcels", options: options) { (attempt: Attempt<Deliver>) in
            let number = attempt.payload.number
            deliveries.add(node, number)
            try await deliveries.waitForBothNodes()
            return .done { context in
                let parcel = try #require(try context.first(Parcel.where { $0.number == number }))
                parcel.deliveries += 1
                parcel.node = node
            }
        }
    }

    private func enqueueAll(_ stack: ContextStack) async throws {
        try await stack.write { context in
            for number in 0..<Self.count {
                context.insert(Parcel(number: number))
                context.enqueue(Deliver(number: number), in: "parcels")
            }
        }
    }

    @Test(
        "Two nodes claim each operation once, and the change of each handler is committed once",
        arguments: Route.allCases
    )
    func claims(_ route: Route) async throws {
        let nodes = try PostgresNodes(models: Self.models, route: route)
        let stacks = ["left": try await nodes.open("left"), "right": try await nodes.open("right")]
        let deliveries = Deliveries()
        var pipelines: [Pipeline] = []
        for (name, stack) in stacks { pipelines.append(try await openPipeline(name, stack, deliveries)) }
        try await enqueueAll(try #require(stacks["left"]))
        for stack in stacks.values { try await stack.catchUp() }
        for pipeline in pipelines { try await pipeline.waitUntilIdle() }
        #expect(deliveries.numbers.sorted() == Array(0..<Self.count))
        #expect(deliveries.nodes == ["left", "right"])
        for pipeline in pipelines { await pipeline.close() }
        for stack in stacks.values {
            try await stack.catchUp()
            let parcels = try await stack.background { try $0.rows(Parcel.all) }
            #expect(parcels.count == Self.count)
            #expect(parcels.allSatisfy { $0.deliveries == 1 })
            #expect(Set(parcels.compactMap(\.node)) == ["left", "right"])
            #expect(try await stack.background { try $0.count(QueuedOperation.all) } == 0)
        }
        try await nodes.end()
    }

    @Test("Operations that one node enqueues are run by another one, also by one that was closed meanwhile")
    func otherNode() async throws {
        let nodes = try PostgresNodes(models: Self.models)
        let web = try await nodes.open("web")
        try await nodes.open("worker").close()
        try await enqueueAll(web)
        let worker = try await nodes.open("worker")
        let deliveries = Deliveries()
        // The handler waits for both nodes.
        deliveries.add("web", -1)
        let pipeline = try await openPipeline("worker", worker, deliveries)
        try await worker.catchUp(to: web.historyToken)
        try await pipeline.waitUntilIdle()
        await pipeline.close()
        #expect(deliveries.numbers.sorted() == Array(-1..<Self.count))
        try await web.catchUp()
        let parcels = try await web.background { try $0.rows(Parcel.all) }
        #expect(parcels.count == Self.count)
        #expect(parcels.allSatisfy { $0.deliveries == 1 && $0.node == "worker" })
        try await nodes.end()
    }
}

/// A row that a handler changes.
@Model final class Parcel {
    @Attribute(.unique) var number: Int
    var deliveries: Int = 0
    var node: String?
}

private struct Deliver: OperationPayload {
    var number: Int
}
