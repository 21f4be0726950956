import Strata
import StrataPipeline
import StrataTesting
import Testing

@Suite("Inline execution of operations", .timeLimit(.minutes(1))) struct InlineTests {
    struct Stop: Error {}

    /// Opens the pipeline of a test: the first letter of a name decides how it is handled.
    private func open(
        _ name: PipelineName = .work,
        on stack: ContextStack,
        isSuspended: Bool = false,
        clock: VirtualClock = VirtualClock()
    ) async throws -> Pipeline {
        try await Pipeline.open(stack, named: name, options: PipelineOptions(isSuspended: isSuspended, clock: clock)) {
            (attempt: Attempt<Named>) in
            let text = attempt.payload.name
            switch text.first {
            case "x": throw Stop()
            case "f": return .fail("broken")
            case "w": return .wait(.manual)
            case "r": return .retry(after: .seconds(60))
            case "p": return .snooze(for: .seconds(60))
            case "s": return .skip
            default:
                let rest = Named(name: String(text.dropFirst()))
                return .done { if !rest.name.isEmpty { $0.enqueue(rest, in: .work) } }
            }
        }
    }

    private func queue(_ name: String, in pipeline: PipelineName = .work, _ stack: ContextStack) async throws
        -> ObjectID<QueuedOperation>
    {
        try await stack.background { context in
            let id = context.enqueue(Named(name: name), in: pipeline).id
            try context.commit()
            return id
        }
    }

    private func stack() async throws -> ContextStack {
        try await ContextStack.open(.inMemory, models: Pipeline.models, stack: .rootOnly)
    }

    @Test(
        "An inline call runs the operations of its block and those that handlers queue, and leaves waiting ones",
        arguments: [false, true]
    )
    func done(isSuspended: Bool) async throws {
        let stack = try await stack()
        let pipeline = try await open(on: stack, isSuspended: isSuspended)
        let value = try await pipeline.inline {
            _ = try await queue("aaa", stack)
            _ = try await queue("a", stack)
            _ = try await queue("s", stack)
            return "value"
        }
        #expect(value == "value")
        #expect(try await stack.background { try $0.count(QueuedOperation.all) } == 0)
        #expect(try await stack.background { try $0.count(FinishedOperation.all) } == 5)
        // The suspension is as before, even after a call that has thrown.
        await #expect(throws: Stop.self) { try await pipeline.inline { throw Stop() } }
        #expect(pipeline.suspensions == (isSuspended ? 1 : 0))
        try await pipeline.inline { _ = try await queue("w", stack) }
        #expect(try await stack.background { try $0.enqueued(Named.self) } == [Named(name: "w")])
        try await stack.close()
    }

    @Test(
        "An inline call throws if an operation is not done, with the operation and its outcome",
        arguments: ["x", "f", "r", "p", "ax"]
    )
    func failure(_ name: String) async throws {
        let stack = try await stack()
        let pipeline = try await open(on: stack, isSuspended: true)
        let failure = await #expect(throws: InlineFailure.self) {
            try await pipeline.inline { _ = try await queue(name, stack) }
        }
        let left = try await stack.background { try $0.fetch(QueuedOperation.all).map(\.id) }
        #expect(left == [try #require(failure).operation] && pipeline.suspensions == 1)
        switch (name, failure?.event) {
        case ("f", .failed(_, let message)?): #expect(message == "broken")
        case ("r", .retrying(_, _, let message)?), ("p", .retrying(_, _, let message)?):
            #expect(message == "requested by the handler")
        case ("x", .retrying(_, _, let message)?), ("ax", .retrying(_, _, let message)?): #expect(message == "Stop()")
        default: Issue.record("\(failure as Any)")
        }
        #expect(failure?.description == failure.map { "\($0.event)" })
        try await stack.close()
    }

    @Test("An inline call throws for a failed operation even if others run beside it", arguments: [false, true])
    func failuresBesideOthers(isSuspended: Bool) async throws {
        let stack = try await stack()
        let clock = VirtualClock()
        let pipeline = try await open(on: stack, isSuspended: isSuspended, clock: clock)
        let other = try await open("other", on: stack, clock: clock)
        for _ in 1...min(400, max(1, RandomHistories.runs / 2)) {
            await #expect(throws: InlineFailure.self) {
                try await pipeline.inline {
                    try await stack.background { context in
                        let failing = context.enqueue(Named(name: "f"), in: .work)
                        context.enqueue(Named(name: "a"), in: .work)
                        try context.enqueue(Named(name: "a"), in: "other").addDependencies([failing])
                        context.enqueue(Named(name: "a"), in: "other")
                        try context.commit()
                    }
                }
            }
        }
        try await other.waitUntilIdle()
        try await stack.close()
    }

    @Test("An inline call throws instead of waiting if all pipelines of the stack are suspended")
    func together() async throws {
        let stack = try await stack()
        let pipeline = try await open(on: stack)
        stack.pipelines.suspend()
        let error = await #expect(throws: PipelineError.self) {
            try await pipeline.inline { _ = try await queue("a", stack) }
        }
        #expect(error?.code == .invalidArgument)
        stack.pipelines.resume()
        try await pipeline.waitUntilIdle()
        #expect(try await stack.background { try $0.count(FinishedOperation.all) } == 1)
        try await stack.close()
    }

    @Test("Inline calls of several pipelines can be nested")
    func several() async throws {
        let stack = try await stack()
        let clock = VirtualClock()
        let (work, other) = (
            try await open(on: stack, isSuspended: true, clock: clock),
            try await open("other", on: stack, isSuspended: true, clock: clock)
        )
        // Operations of `other` queue work, so the call of `other` is the inner one.
        try await work.inline { try await other.inline { _ = try await queue("aa", in: "other", stack) } }
        #expect(try await stack.background { try $0.count(QueuedOperation.all) } == 0)
        #expect(try await stack.background { try $0.count(FinishedOperation.all) } == 2)
        try await stack.close()
    }
}
