import Foundation
import Strata
import StrataTesting
import Testing

@testable import StrataPipeline

/// Passes without an engine: the state gives the input, one transaction writes it, and the state takes the result.
@Suite("One pass of the dispatcher", .timeLimit(.minutes(1)))
struct PassDispatcherTests {
    private let now = VirtualClock().now
    private let consumer = Consumer(
        name: Consumer.name(of: .work),
        scope: .pipeline(.work),
        options: PipelineOptions(maxConcurrent: 2),
        handlers: [],
        events: EventHub()
    )

    private func runPass(_ stack: ContextStack, _ state: inout QueueEngine.State) throws -> PassResult {
        let taken = state.takeInput(at: now) { running in 8 - running }
        let input = try #require(taken)
        var result = PassResult(memory: input.memory)
        try stack.transact(author: "test") { transaction in
            let repository = OperationRepository(
                transaction,
                now: input.now,
                QueueEngine.rules(of: input.consumers.values)
            )
            let isUnchanged = try repository.adopt(input.memory.cachedFacts)
            result = try PassDispatcher.dispatch(input, repository, isUnchanged: isUnchanged)
        }
        _ = state.apply(result, of: input)
        return result
    }

    @Test("One transaction ends the last attempts and claims the next ones")
    func endsAndClaims() async throws {
        let stack = try await ContextStack.open(.inMemory, models: Pipeline.models, stack: .rootOnly)
        let numbers = try await stack.background { context in
            let operations = (0..<3).map { context.enqueue(Named(name: "\($0)"), in: .work) }
            try context.commit()
            return operations.map(\.id.rawValue)
        }
        var state = QueueEngine.State()
        state.consumers[consumer.id] = consumer
        state.work.hasUnseenWork = true
        // An engine without a worker runs no pass.
        let isEarly = state.takeInput(at: now) { running in 8 - running } == nil
        #expect(isEarly && state.work.hasUnseenWork)
        var worker: Int64 = 0
        try stack.transact(author: "test") { worker = try OperationRepository($0).register(.own) }
        state.memory = PassMemory(worker: worker)

        let first = try runPass(stack, &state)
        let begun = first.claims.map(\.operation.claim.operation)
        #expect(begun.count == 2 && Set(begun).isSubset(of: numbers))
        #expect(Set(state.running.keys) == Set(begun))
        #expect(state.memory?.isBusy == true && state.memory?.lastServed == consumer.id)
        #expect(state.work.isEmpty)

        state.work.ended = first.claims.map { claim in
            AttemptEnd(operation: claim.operation, consumer: claim.consumer, outcome: .success(.done))
        }
        let before = try stack.commitCount()
        let second = try runPass(stack, &state)
        #expect(try stack.commitCount() - before == 1)
        #expect(Set(second.events.map(\.operation)) == Set(begun))
        #expect(Set(second.claims.map(\.operation.claim.operation)) == Set(numbers).subtracting(begun))
        #expect(state.running.count == 1 && state.consumers[consumer.id]?.runningCount == 1)
        let results = try await stack.background { try $0.column(FinishedOperation.all, \.result) }
        #expect(results == [.completed, .completed])
        try await stack.close()
    }

    @Test("The work of a pass that was not written comes before later work")
    func restored() {
        let claim = Claim(operation: 1, worker: 1, epoch: 1)
        var earlier = PassWork()
        (earlier.decided, earlier.progress, earlier.hasUnseenWork) = ([1], [claim: 0.1], true)
        var work = PassWork()
        (work.decided, work.progress, work.haveSchedulesChanged) = ([2], [claim: 0.2], true)
        work.restore(earlier)
        #expect(work.decided == [1, 2])
        #expect(work.progress == [claim: 0.2])
        #expect(work.hasUnseenWork && work.haveSchedulesChanged && !work.haveConstraintsChanged)
    }
}
