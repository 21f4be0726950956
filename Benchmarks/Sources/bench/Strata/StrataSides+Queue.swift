import Foundation
import Strata
import StrataPipeline
import Synchronization

private struct Job: OperationPayload {
    var number: Int
}

extension PipelineName {
    fileprivate static let work: PipelineName = "work"
}

extension StrataSides {
    private static func queueStack(_ round: Round, _ synchronous: Synchronous = .normal) async throws -> ContextStack {
        try await ContextStack.open(
            .sqlite(round.file),
            models: Pipeline.models,
            stack: .rootOnly,
            configuration: .init(synchronous: synchronous == .full ? .full : .normal)
        )
    }

    private static func queue(
        _ count: Int,
        perCommit: Int,
        lanes: Int? = nil,
        _ stack: ContextStack
    ) async throws -> Double {
        try await stack.background { context in
            let watch = Stopwatch()
            var number = 0
            while number < count {
                for _ in 0..<min(perCommit, count - number) {
                    number += 1
                    context.enqueue(Job(number: number), in: .work, lane: lanes.map { "\(number % $0)" } ?? "")
                }
                try context.commit()
            }
            return watch.seconds
        }
    }

    static func enqueue(_ round: Round, perCommit: Int, _ synchronous: Synchronous) async throws -> Sample {
        let stack = try await queueStack(round, synchronous)
        let seconds = try await queue(round.sizes.enqueued(perCommit), perCommit: perCommit, stack)
        var check = Checksum()
        check.add(number: try await stack.background { try $0.count(QueuedOperation.all) })
        try await stack.close()
        return Sample(cost: seconds, check: check)
    }

    static func work(_ round: Round, handlers: Int) async throws -> Sample {
        try await work(round, queued: round.sizes.worked, done: round.sizes.worked, handlers: handlers)
    }

    static func workLanes(_ round: Round, _ lanes: Int) async throws -> Sample {
        try await work(round, queued: round.sizes.worked, done: round.sizes.worked, handlers: 8, lanes: lanes)
    }

    static func workBacklog(_ round: Round, of backlog: Int) async throws -> Sample {
        try await work(round, queued: backlog, done: round.sizes.chosenOfBacklog, handlers: 8)
    }

    /// Queues operations, and does the first of them.
    private static func work(
        _ round: Round,
        queued: Int,
        done count: Int,
        handlers: Int,
        lanes: Int? = nil
    ) async throws -> Sample {
        let stack = try await queueStack(round)
        _ = try await queue(queued, perCommit: 10_000, lanes: lanes, stack)
        let check = Mutex(Checksum())
        let (last, end) = AsyncStream.makeStream(of: Void.self)
        let pipeline = try await Pipeline.open(
            stack,
            named: .work,
            ordering: lanes == nil ? .flat : .fifo,
            maxConcurrent: handlers,
            isSuspended: true
        ) { (attempt: Attempt<Job>) in
            let place = check.withLock { check in
                // What is started beyond is left to others.
                guard check.count < count else { return count + 1 }
                check.add(number: attempt.payload.number)
                return check.count
            }
            if place == count { end.finish() }
            return place > count ? .wait(.person) : .done
        }
        let watch = Stopwatch()
        pipeline.resume()
        for await _ in last {}
        // What they have said is in the file when it is closed.
        await pipeline.close(grace: .seconds(60))
        let seconds = watch.seconds
        guard try await stack.background({ try $0.count(FinishedOperation.all) }) == count else {
            throw BenchError("not all are done")
        }
        try await stack.close()
        return Sample(cost: seconds, check: check.withLock { $0 })
    }

    static func openQueue(_ round: Round, of backlog: Int) async throws -> Sample {
        let first = try await queueStack(round)
        _ = try await queue(backlog, perCommit: 10_000, first)
        try await first.close()
        let watch = Stopwatch()
        let stack = try await queueStack(round)
        let pipeline = try await Pipeline.open(stack, named: .work, isSuspended: true) { (_: Attempt<Job>) in .done }
        let seconds = watch.seconds
        await pipeline.close()
        try await stack.close()
        return Sample(cost: seconds)
    }
}
