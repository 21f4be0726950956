import Foundation
import Strata
import StrataPipeline
import StrataTesting
import Synchronization
import Testing

@Suite("Limits and suspension of all pipelines of a stack", .timeLimit(.minutes(1))) struct StackPipelinesTests {
    /// Handlers that wait until they are released, and record their names.
    private final class Gate: Sendable {
        private let state = Mutex((running: [String](), most: 0, waiting: [CheckedContinuation<Void, Never>]()))

        var running: [String] { state.withLock { $0.running } }
        var most: Int { state.withLock { $0.most } }

        func pass(_ name: String) async {
            await withCheckedContinuation { continuation in
                state.withLock { state in
                    state.running.append(name)
                    state.most = max(state.most, state.running.count)
                    state.waiting.append(continuation)
                }
            }
        }

        /// Releases the first waiting handler.
        func open() {
            state.withLock { state in
                state.running.removeFirst()
                return state.waiting.removeFirst()
            }.resume()
        }
    }

    private static func open(_ stack: ContextStack, _ name: PipelineName, _ gate: Gate) async throws -> Pipeline {
        try await Pipeline.open(stack, named: name) { (attempt: Attempt<Named>) in
            await gate.pass(attempt.payload.name)
            return .done
        }
    }

    private static func queue(_ count: Int, _ stack: ContextStack) async throws {
        try await stack.background { context in
            for name in ["a", "b", "c"] {
                for _ in 0..<count { context.enqueue(Named(name: name), in: PipelineName(name)) }
            }
            try context.commit()
        }
    }

    private static func wait(_ condition: () async throws -> Bool) async throws {
        while try await !condition() { try await Task.sleep(for: .milliseconds(1)) }
    }

    @Test("Pipelines share the stack's limit, and each of them gets its share")
    func limit() async throws {
        let stack = try await ContextStack.open(.inMemory, models: Pipeline.models, stack: .rootOnly)
        try stack.pipelines.setMaxConcurrent(2)
        #expect(throws: PipelineError.self) { try stack.pipelines.setMaxConcurrent(0) }
        try await Self.queue(4, stack)
        let gate = Gate()
        for name in ["a", "b", "c"] { _ = try await Self.open(stack, PipelineName(name), gate) }
        var order: [String] = []
        for _ in 0..<10 {
            try await Self.wait { gate.running.count == 2 }
            order.append(gate.running[0])
            gate.open()
        }
        #expect(gate.most == 2)
        // No pipeline waits long: any six starts in a row include all three pipelines.
        for start in 0...4 { #expect(Set(order[start..<(start + 6)]).count == 3, "\(order)") }
        try stack.pipelines.setMaxConcurrent(nil)
        while try await stack.background({ try $0.count(QueuedOperation.all) }) > 0 {
            if gate.running.isEmpty { try await Task.sleep(for: .milliseconds(1)) } else { gate.open() }
        }
        try await stack.close()
    }

    @Test("All pipelines are suspended and resumed together, beside each one's own count, even before they open")
    func suspension() async throws {
        let stack = try await ContextStack.open(.inMemory, models: Pipeline.models, stack: .rootOnly)
        #expect(stack.pipelines.suspend() == 1)
        #expect(stack.pipelines.suspend() == 2)
        try await Self.queue(1, stack)
        let gate = Gate()
        let all = try await [
            Self.open(stack, "a", gate), Self.open(stack, "b", gate), Self.open(stack, "c", gate),
        ]
        #expect(all[1].suspend() == 1)
        #expect(stack.pipelines.resume() == 1)
        for pipeline in all { await pipeline.waitUntilProcessed() }
        #expect(gate.running == [])
        #expect(stack.pipelines.resume() == 0)
        #expect(stack.pipelines.resume() == 0)
        try await Self.wait { gate.running.count == 2 }
        #expect(Set(gate.running) == ["a", "c"])
        // Running handlers continue.
        stack.pipelines.suspend()
        gate.open()
        gate.open()
        all[1].resume()
        try await Self.wait { try await stack.background { try $0.count(FinishedOperation.all) } == 2 }
        for pipeline in all { await pipeline.waitUntilProcessed() }
        #expect(gate.running == [])
        stack.pipelines.resume()
        try await Self.wait { gate.running == ["b"] }
        gate.open()
        try await Self.wait { try await stack.background { try $0.count(FinishedOperation.all) } == 3 }
        try await stack.close()
    }

    @Test("`waitUntilIdle()` of a stack waits for pipelines that queue work for each other and depend on each other")
    func waitUntilIdle() async throws {
        let stack = try await ContextStack.open(.inMemory, models: Pipeline.models, stack: .rootOnly)
        let names: [PipelineName] = ["ping", "pong"]
        var pipelines: [Pipeline] = []
        for (place, name) in names.enumerated() {
            pipelines.append(
                try await Pipeline.open(stack, named: name) { (attempt: Attempt<Named>) in
                    let rest = String(attempt.payload.name.dropFirst())
                    return rest.isEmpty ? .done : .done { $0.enqueue(Named(name: rest), in: names[1 - place]) }
                }
            )
        }
        try await stack.pipelines.waitUntilIdle()
        for round in 1...100 {
            try await stack.background { context in
                let first = context.enqueue(Named(name: "abcdef"), in: names[round % 2])
                try context.enqueue(Named(name: "x"), in: names[1 - round % 2]).addDependencies([first])
                try context.commit()
            }
            try await stack.pipelines.waitUntilIdle()
            let left = try await stack.background { try $0.count(QueuedOperation.all) }
            let done = try await stack.background { try $0.count(FinishedOperation.all) }
            #expect(left == 0 && done == 7 * round)
        }
        for pipeline in pipelines { await pipeline.close() }
        try await stack.pipelines.waitUntilIdle()
        try await stack.close()
    }
}
