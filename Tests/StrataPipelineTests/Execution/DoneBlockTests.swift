import Foundation
import StoreModels
import Strata
import StrataPipeline
import StrataTesting
import Synchronization
import Testing

/// A counter for handlers.
@Model final class Tally {
    var name: String
    var count: Int = 0
}

@Suite("Changes committed with the end of an operation", .timeLimit(.minutes(2))) struct DoneBlockTests {
    private struct Run: OperationPayload {
        var number: Int
    }

    private final class Flag: Sendable {
        private let value = Mutex(0)

        var count: Int { value.withLock { $0 } }

        func raise() { value.withLock { $0 += 1 } }
    }

    private static func open(
        _ stack: ContextStack,
        _ handler: @escaping @Sendable (Attempt<Run>) async throws -> Outcome
    ) async throws -> Pipeline {
        try await Pipeline.open(
            stack,
            named: .work,
            options: PipelineOptions(retry: .never, isSuspended: true),
            handler: handler
        )
    }

    private static func stack(_ location: StoreLocation = .inMemory) async throws -> ContextStack {
        try await ContextStack.open(location, models: Pipeline.models + [Tally.self], stack: .rootOnly)
    }

    private static func enqueue(_ count: Int, _ stack: ContextStack) async throws {
        try await stack.background { context in
            for number in 0..<count { context.enqueue(Run(number: number), in: .work) }
            try context.commit()
        }
    }

    private static func ends(_ stack: ContextStack) async throws -> [Int] {
        try await stack.background { context in
            [
                try context.count(FinishedOperation.where { $0.result == .completed }),
                try context.sum(FinishedOperation.all, \.attempts),
                try context.count(QueuedOperation.all),
            ]
        }
    }

    @Test("A block that reads and adds, or looks up and inserts, sees the changes of earlier blocks")
    func counted() async throws {
        let stack = try await Self.stack()
        let sent = Atomic(0)
        let pipeline = try await Self.open(stack) { _ in
            sent.add(1, ordering: .relaxed)
            return .done { context in
                let found = try context.first(Tally.where { $0.name == "all" })
                (found ?? context.insert(Tally(name: "all"))).count += 1
            }
        }
        try await Self.enqueue(200, stack)
        pipeline.resume()
        try await pipeline.waitUntilIdle()
        #expect(try await stack.background { try $0.fetch(Tally.all).map(\.count) } == [200])
        #expect(try await Self.ends(stack) == [200, 200, 0])
        #expect(sent.load(ordering: .relaxed) == 200)
        await pipeline.close()
        try await stack.close()
    }

    @Test("Passes continue after a short block while other handlers block all threads")
    func besideBlockedThreads() async throws {
        let stack = try await Self.stack()
        let threads = ProcessInfo.processInfo.activeProcessorCount
        let (isInBlock, blocked) = (Flag(), Flag())
        let release = DispatchSemaphore(value: 0)
        let pipeline = try await Pipeline.open(
            stack,
            named: .work,
            options: PipelineOptions(maxConcurrent: nil, retry: .never, isSuspended: true)
        ) { (attempt: Attempt<Run>) in
            let number = attempt.payload.number
            // The first one ends alone, and shows that blocks are short.
            if number == 0 || number > threads + 1 { return .done { $0.insert(Tally(name: "\(number)")) } }
            if number == 1 {
                return .done { context in
                    context.insert(Tally(name: "1"))
                    isInBlock.raise()
                    while blocked.count < threads { usleep(500) }
                }
            }
            // The last one leaves a thread to number 1 until its block runs.
            if number == threads + 1 {
                while isInBlock.count == 0 { try await Task.sleep(for: .milliseconds(1)) }
            }
            blocked.raise()
            release.wait()
            return .done
        }
        try await Self.enqueue(1, stack)
        pipeline.resume()
        try await pipeline.waitUntilIdle()
        try await stack.background { context in
            for number in 1...(threads + 1) { context.enqueue(Run(number: number), in: .work) }
            try context.commit()
        }
        let isActive = QueuedOperation.where { $0.status == .active }
        let end = ContinuousClock.now + .seconds(60)
        while try await stack.background({ try $0.count(FinishedOperation.all) }) < 2, ContinuousClock.now < end {
            try await Task.sleep(for: .milliseconds(5))
        }
        try await stack.background { context in
            context.enqueue(Run(number: 1_000), in: .work)
            try context.commit()
        }
        var active = 0
        while active < threads + 1, ContinuousClock.now < end {
            active = try await stack.background { try $0.count(isActive) }
            try await Task.sleep(for: .milliseconds(5))
        }
        #expect(active == threads + 1)
        for _ in 0..<threads { release.signal() }
        try await pipeline.waitUntilIdle()
        #expect(try await Self.ends(stack)[0] == threads + 3)
        await pipeline.close()
        try await stack.close()
    }

    @Test(
        "If others change the data that a block has read, the block runs again but the handler does not",
        arguments: [true, false]
    )
    func again(isOtherProcess: Bool) async throws {
        let folder = try ScratchFolder()
        let stack = try await Self.stack(.sqlite(folder.file("s.sqlite")))
        let other = isOtherProcess ? try await Self.stack(.sqlite(folder.file("s.sqlite"))) : stack
        try await stack.background { context in
            context.insert(Tally(name: "all"))
            try context.commit()
        }
        let handled = Atomic(0)
        let run = Atomic(0)
        let pipeline = try await Self.open(stack) { _ in
            handled.add(1, ordering: .relaxed)
            return .done { context in
                guard let tally = try context.first(Tally.all) else { return }
                if run.add(1, ordering: .relaxed).newValue == 1 {
                    try other.meanwhile { try $0.first(Tally.all)?.count += 1 }
                }
                tally.count += 1
            }
        }
        try await Self.enqueue(1, stack)
        pipeline.resume()
        try await pipeline.waitUntilIdle()
        #expect(try await stack.background { try $0.fetch(Tally.all).map(\.count) } == [2])
        #expect(try await Self.ends(stack) == [1, 1, 0])
        #expect(handled.load(ordering: .relaxed) == 1 && run.load(ordering: .relaxed) == 2)
        await pipeline.close()
        if isOtherProcess { try await other.close() }
        try await stack.close()
    }

    @Test("A block can neither commit nor run a batch: its changes are one commit with the end")
    func oneCommit() async throws {
        let stack = try await Self.stack()
        try await stack.background { context in
            context.insert(Tally(name: "all"))
            try context.commit()
        }
        let pipeline = try await Self.open(stack) { attempt in
            .done { context in
                context.insert(Tally(name: "new"))
                if attempt.payload.number == 0 { try context.cast.commit() }
                try context.cast.batchUpdate(Tally.all) { $0.count.set(to: 7) }
            }
        }
        try await Self.enqueue(2, stack)
        pipeline.resume()
        try await pipeline.waitUntilIdle()
        try await stack.background { context in
            #expect(try context.fetch(Tally.all).map(\.count) == [0])
            let failed = try context.fetch(QueuedOperation.where { $0.status == .failed })
            #expect(failed.count == 2)
            for operation in failed {
                #expect(operation.failures.list.last?.message.contains("after it has returned") == true)
            }
        }
        await pipeline.close()
        try await stack.close()
    }

    @Test("A finished operation is stored as done, even if it is skipped while its block runs again")
    func skippedMeanwhile() async throws {
        let stack = try await Self.stack()
        try await stack.background { context in
            context.insert(Tally(name: "all"))
            try context.commit()
        }
        let runs = Atomic(0)
        let pipeline = try await Self.open(stack) { attempt in
            .done { context in
                let tally = try context.first(Tally.all)
                if runs.add(1, ordering: .relaxed).newValue == 1 {
                    try stack.meanwhile { context in
                        try context.find(attempt.id)?.skip()
                        try context.first(Tally.all)?.count += 1
                    }
                    // Waits until the task is cancelled.
                    while !Task.isCancelled { usleep(1000) }
                }
                tally?.count += 1
            }
        }
        try await Self.enqueue(1, stack)
        pipeline.resume()
        try await pipeline.waitUntilIdle()
        #expect(try await stack.background { try $0.fetch(Tally.all).map(\.count) } == [2])
        #expect(try await Self.ends(stack) == [1, 1, 0])
        await pipeline.close()
        try await stack.close()
    }

    @Test("A handler that returns in time counts as in time, however long its block takes")
    func timeout() async throws {
        let stack = try await Self.stack()
        let clock = VirtualClock()
        let pipeline = try await Pipeline.open(
            stack,
            named: .work,
            options: PipelineOptions(retry: .never, timeout: .seconds(10), isSuspended: true, clock: clock)
        ) { (_: Attempt<Run>) in
            .done { context in
                clock.advance(by: .seconds(60))
                context.insert(Tally(name: "late"))
            }
        }
        try await Self.enqueue(1, stack)
        pipeline.resume()
        try await pipeline.waitUntilIdle()
        #expect(try await Self.ends(stack) == [1, 1, 0])
        await pipeline.close()
        try await stack.close()
    }

    @Test(
        "Closing a pipeline lets its waiting blocks finish; closing the stack leaves no partial result",
        arguments: [true, false]
    )
    func closing(isStack: Bool) async throws {
        let folder = try ScratchFolder()
        let stack = try await Self.stack(.sqlite(folder.file("s.sqlite")))
        let begun = Atomic(0)
        let pipeline = try await Self.open(stack) { _ in
            .done { context in
                begun.add(1, ordering: .relaxed)
                usleep(20_000)
                context.insert(Tally(name: "done"))
            }
        }
        try await Self.enqueue(8, stack)
        pipeline.resume()
        while begun.load(ordering: .relaxed) == 0 { try await Task.sleep(for: .milliseconds(1)) }
        if !isStack { await pipeline.close(grace: .seconds(60)) }
        try await stack.close()
        let again = try await Self.stack(.sqlite(folder.file("s.sqlite")))
        let (done, tallies) = try await again.background { context in
            (try context.count(FinishedOperation.all), try context.count(Tally.all))
        }
        #expect(done == tallies && (done == 8 || isStack))
        try await again.close()
    }
}
