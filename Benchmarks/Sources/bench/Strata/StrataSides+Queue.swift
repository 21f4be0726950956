import CBench
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
            models: [Tally.self] + Pipeline.models,
            stack: .rootOnly,
            configuration: .measured(synchronous == .full ? .full : .normal)
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

    static func work(_ round: Round, handlers: Int, _ synchronous: Synchronous = .normal) async throws -> Sample {
        let count = round.sizes.worked(handlers, synchronous)
        return try await work(round, of: count, handlers: handlers, synchronous) { stack in
            _ = try await queue(count, perCommit: 10_000, stack)
        }
    }

    static func retryFailed(_ round: Round) async throws -> Sample {
        let first = try await queueStack(round)
        _ = try await queue(round.sizes.tied, perCommit: 10_000, first)
        try await first.close()
        try Database(round.file).execute("UPDATE \"QueuedOperation\" SET \"status\" = 4, \"attempts\" = 10")
        let stack = try await queueStack(round)
        let (seconds, ready) = try await stack.background { context in
            let failed = QueuedOperation.where { $0.pipeline == .work && $0.status == .failed }
            let watch = Stopwatch()
            try context.retryOperations(failed)
            let seconds = watch.seconds
            return (seconds, try context.count(QueuedOperation.where { $0.status == .pending && $0.attempts == 0 }))
        }
        try await stack.close()
        var check = Checksum()
        check.add(number: ready)
        return Sample(cost: seconds, check: check)
    }

    static func workChanging(_ round: Round, _ synchronous: Synchronous) async throws -> Sample {
        let count = round.sizes.worked(8, synchronous)
        return try await work(round, of: count, .flat, handlers: 8, synchronous) { stack in
            try await stack.background { context in
                for number in 0..<JobTable.tallyCount { context.insert(Tally(number: number, count: 0)) }
                try context.commit()
            }
            _ = try await queue(count, perCommit: 10_000, stack)
        } done: { job in
            .done { context in
                let number = job.number % JobTable.tallyCount
                guard let tally = try context.first(Tally.where { $0.number == number }) else { return }
                tally.count += 1
            }
        } checking: { stack in
            guard try await stack.background({ try $0.sum(Tally.all, \.count) }) == count else {
                throw BenchError("not all are counted")
            }
        }
    }

    static func workLanes(_ round: Round, _ lanes: Int) async throws -> Sample {
        try await work(round, of: round.sizes.worked, .fifo) { stack in
            _ = try await queue(round.sizes.worked, perCommit: 10_000, lanes: lanes, stack)
        }
    }

    static func workBacklog(_ round: Round, of backlog: Int) async throws -> Sample {
        // It would wait for the rest for ever.
        guard backlog >= round.sizes.chosenOfBacklog else { throw BenchError("a backlog of \(backlog) is too short") }
        var sample = try await work(round, of: round.sizes.chosenOfBacklog) { stack in
            _ = try await queue(backlog, perCommit: 10_000, stack)
        }
        // Of the eight that run at last, those are done that are the first to say so; as many as were to be, which was looked at.
        sample.check = nil
        return sample
    }

    static func workAfter(_ finished: Int, _ round: Round) async throws -> Sample {
        try await queueStack(round).close()
        // Ids beyond those that are given: these are used already.
        let now = Date().timeIntervalSinceReferenceDate
        try Database(round.file).execute(
            """
            WITH RECURSIVE number(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM number WHERE n < \(finished)) \
            INSERT INTO "FinishedOperation" ("id", "pipeline", "type", "payload", "payloadVersion", "lane", "commit", "enqueuedAt", \
            "result", "finishedAt", "attempts", "failures", "_version") \
            SELECT 1000000000000 + n, 'work', 'Job', CAST('{"number":' || n || '}' AS BLOB), 1, '', 1, \(now), 'completed', \(now) - n / 1000.0, 1, '{"list":[]}', 1 \
            FROM number WHERE \(finished) > 0
            """
        )
        return try await work(round, of: round.sizes.chosenOfBacklog, besides: finished) { stack in
            _ = try await queue(round.sizes.chosenOfBacklog, perCommit: 10_000, stack)
        }
    }

    static func workTied(_ tie: Tie, _ round: Round) async throws -> Sample {
        try await work(round, of: round.sizes.tied) { stack in
            try await stack.background { context in
                var all: [QueuedOperation] = []
                for number in 1...round.sizes.tied {
                    let operation = context.enqueue(Job(number: number), in: .work)
                    if number > 1 { try operation.addDependencies([all[tie.prerequisite(of: number) - 1]]) }
                    all.append(operation)
                }
                try context.commit()
            }
        }
    }

    /// - Parameter blocked: how many operations are behind the one that has failed.
    static func workPoisoned(blocked: Int, _ round: Round) async throws -> Sample {
        let count = round.sizes.worked / 2
        return try await work(round, of: count, .fifo) { stack in
            if blocked > 0 {
                try await stack.background { context in
                    for number in 0...blocked { context.enqueue(Job(number: -number), in: .work, lane: "blocked") }
                    try context.commit()
                }
                let pipeline = try await Pipeline.open(
                    stack,
                    named: .work,
                    options: PipelineOptions(ordering: .fifo)
                ) { (_: Attempt<Job>) in
                    .fail("not today")
                }
                while try await stack.background({ try $0.count(QueuedOperation.where { $0.status == .failed }) }) == 0
                {
                    try await Task.sleep(for: .milliseconds(1))
                }
                await pipeline.close()
            }
            _ = try await queue(count, perCommit: 10_000, lanes: count, stack)
        }
    }

    /// Queues operations, and does so many of them, the first ones.
    private static func work(
        _ round: Round,
        of count: Int,
        _ ordering: PipelineOrdering = .flat,
        handlers: Int = 8,
        _ synchronous: Synchronous = .normal,
        besides finished: Int = 0,
        queueing: (ContextStack) async throws -> Void,
        done: @escaping @Sendable (Job) -> StrataPipeline.Outcome = { _ in .done },
        checking: (ContextStack) async throws -> Void = { _ in }
    ) async throws -> Sample {
        let stack = try await queueStack(round, synchronous)
        try await queueing(stack)
        let check = Mutex(Checksum())
        let (last, end) = AsyncStream.makeStream(of: Void.self)
        let pipeline = try await Pipeline.open(
            stack,
            named: .work,
            options: PipelineOptions(
                ordering: ordering,
                maxConcurrent: handlers,
                retention: .init(maximumCount: .max),
                isSuspended: true
            )
        ) { (attempt: Attempt<Job>) in
            let place = check.withLock { check in
                // What is started beyond is left to others.
                guard check.count < count else { return count + 1 }
                check.add(number: attempt.payload.number)
                return check.count
            }
            if place == count { end.finish() }
            return place > count ? .wait(.manual) : done(attempt.payload)
        }
        let watch = Stopwatch()
        pipeline.resume()
        for await _ in last {}
        // What they have said is in the file when it is closed.
        await pipeline.close(grace: .seconds(60))
        let seconds = watch.seconds
        guard try await stack.background({ try $0.count(FinishedOperation.all) }) == finished + count else {
            throw BenchError("not all are done")
        }
        try await checking(stack)
        try await stack.close()
        return Sample(cost: seconds, check: check.withLock { $0 })
    }

    /// - Parameter isMemory: whether bytes are counted, or seconds.
    static func openQueue(_ round: Round, of backlog: Int, isMemory: Bool = false) async throws -> Sample {
        let first = try await queueStack(round)
        _ = try await queue(backlog, perCommit: 10_000, first)
        try await first.close()
        let before = bench_heap_bytes()
        let watch = Stopwatch()
        let stack = try await queueStack(round)
        let pipeline = try await Pipeline.open(
            stack,
            named: .work,
            options: PipelineOptions(isSuspended: true)
        ) { (_: Attempt<Job>) in .done }
        let seconds = watch.seconds
        let bytes = bench_heap_bytes()
        await pipeline.close()
        try await stack.close()
        return Sample(cost: isMemory ? Double(bytes) - Double(before) : seconds)
    }
}
