import Dispatch
import Foundation
import Strata
import StrataTesting
import Synchronization
import Testing

@testable import StrataPipeline

@Suite("Engine passes and handlers share threads", .timeLimit(.minutes(2))) struct EngineExecutorTests {
    /// More handlers than there are threads for them.
    private static let many = ProcessInfo.processInfo.activeProcessorCount + 2

    @Test("Handlers that block all threads delay no engine pass, and a close returns attempts that have not begun")
    func blocked() async throws {
        let stack = try await ContextStack.open(.inMemory, models: Pipeline.models, stack: .rootOnly)
        let isLetGo = DispatchSemaphore(value: 0)
        let begun = Mutex(0)
        _ = try await Pipeline.open(stack, named: "blocking", options: PipelineOptions(maxConcurrent: Self.many)) {
            (_: Attempt<Named>) in
            begun.withLock { $0 += 1 }
            isLetGo.block()
            return .done
        }
        let other = try await Pipeline.open(stack, named: "other") { (_: Attempt<Named>) in .done }
        try await stack.background { context in
            for number in 0..<Self.many { context.enqueue(Named(name: "\(number)"), in: "blocking") }
            try context.commit()
        }
        while begun.withLock({ $0 }) < ProcessInfo.processInfo.activeProcessorCount, !Task.isCancelled {
            await Task.yield()
        }

        try await stack.background { context in
            context.enqueue(Named(name: "A"), in: "other")
            try context.commit()
        }
        let ofOther = QueuedOperation.where { $0.pipeline == "other" }
        while try await stack.background({ try $0.first(ofOther)?.status }) != .active, !Task.isCancelled {
            await Task.yield()
        }
        await other.close()
        let row = try #require(try await stack.background { try $0.first(ofOther)?.snapshot })
        #expect(row.status == .pending && row.attempts == 0 && row.crashes == 0)

        for _ in 0..<Self.many { isLetGo.signal() }
        while try await stack.background({ try $0.count(FinishedOperation.all) }) < Self.many {
            try await Task.sleep(for: .milliseconds(1))
        }
        #expect(begun.withLock { $0 } == Self.many)
        try await stack.close()
    }

    @Test("An attempt that times out before a thread is free never begins")
    func timedOut() async throws {
        let stack = try await ContextStack.open(.inMemory, models: Pipeline.models, stack: .rootOnly)
        let isLetGo = DispatchSemaphore(value: 0)
        let begun = Mutex<[String]>([])
        let clock = VirtualClock()
        let pipeline = try await Pipeline.open(
            stack,
            named: .work,
            options: PipelineOptions(
                maxConcurrent: Self.many,
                retry: RetryPolicy(maxAttempts: 1),
                timeout: .seconds(5),
                clock: clock
            )
        ) { (attempt: Attempt<Named>) in
            begun.withLock { $0.append(attempt.payload.name) }
            isLetGo.block()
            return .done
        }
        try await stack.background { context in
            for number in 0..<Self.many { context.enqueue(Named(name: "\(number)"), in: .work) }
            try context.commit()
        }
        while begun.withLock({ $0.count }) < ProcessInfo.processInfo.activeProcessorCount, !Task.isCancelled {
            await Task.yield()
        }
        clock.advance(by: .seconds(6))
        let failed = QueuedOperation.where { $0.status == .failed }
        while try await stack.background({ try $0.count(failed) }) < Self.many {
            try await Task.sleep(for: .milliseconds(5))
        }
        for _ in 0..<Self.many { isLetGo.signal() }
        await pipeline.close()
        #expect(begun.withLock { $0.count } == ProcessInfo.processInfo.activeProcessorCount)
        try await stack.close()
    }

    @Test("An attempt that is skipped does not wait for a thread")
    func skipped() async throws {
        let stack = try await ContextStack.open(.inMemory, models: Pipeline.models, stack: .rootOnly)
        let isLetGo = DispatchSemaphore(value: 0)
        let begun = Mutex<Set<String>>([])
        let pipeline = try await Pipeline.open(
            stack,
            named: .work,
            options: PipelineOptions(maxConcurrent: Self.many)
        ) { (attempt: Attempt<Named>) in
            begun.withLock { _ = $0.insert(attempt.payload.name) }
            isLetGo.block()
            return .done
        }
        let log = EventRecorder(pipeline)
        try await stack.background { context in
            for number in 0..<Self.many { context.enqueue(Named(name: "\(number)"), in: .work) }
            try context.commit()
        }
        while begun.withLock({ $0.count }) < ProcessInfo.processInfo.activeProcessorCount, !Task.isCancelled {
            await Task.yield()
        }
        let skipped = try await stack.background { context in
            let waiting = try context.fetch(QueuedOperation.all).filter { operation in
                let name = try operation.payload(as: Named.self).name
                return begun.withLock { !$0.contains(name) }
            }
            for operation in waiting { operation.skip() }
            try context.commit()
            return waiting.map(\.id)
        }
        for id in skipped { try await log.waitForEnd(of: id) }
        for _ in 0..<Self.many { isLetGo.signal() }
        await pipeline.close()
        #expect(skipped.count == Self.many - ProcessInfo.processInfo.activeProcessorCount)
        #expect(begun.withLock { $0.count } == ProcessInfo.processInfo.activeProcessorCount)
        try await stack.close()
    }

    @Test("No wake-up is lost while the clock stands still", arguments: [1, 2, 3, 8])
    func wakeUps(handlers: Int) async throws {
        let stack = try await ContextStack.open(.inMemory, models: Pipeline.models, stack: .rootOnly)
        let pipeline = try await Pipeline.open(
            stack,
            named: .work,
            options: PipelineOptions(maxConcurrent: handlers, clock: VirtualClock())
        ) { (attempt: Attempt<Named>) in
            for _ in 0..<attempt.payload.name.utf8.count % 3 { await Task.yield() }
            return .done
        }
        let count = min(3_000, 10 * RandomHistories.runs)
        try await stack.background { context in
            for number in 0..<count {
                context.enqueue(Named(name: "\(number)"), in: .work)
                // From time to time another commit asks for a pass.
                if number % 10 == 0 { try context.commit() }
            }
            try context.commit()
        }
        while try await stack.background({ try $0.count(FinishedOperation.all) }) < count {
            try await Task.sleep(for: .milliseconds(10))
        }
        await pipeline.close()
        try await stack.close()
    }

    @Test("Busy handlers do not delay handlers that have not begun")
    func allBegin() async throws {
        let stack = try await ContextStack.open(.inMemory, models: Pipeline.models, stack: .rootOnly)
        let meeting = Meeting(of: Self.many)
        let haveMet = Mutex(true)
        let pipeline = try await Pipeline.open(
            stack,
            named: .work,
            options: PipelineOptions(maxConcurrent: Self.many)
        ) { (_: Attempt<Named>) in
            meeting.join()
            while meeting.isAwaited, !Task.isCancelled { await Task.yield() }
            haveMet.withLock { $0 = $0 && meeting.isComplete }
            return .done
        }
        try await stack.background { context in
            for number in 0..<Self.many { context.enqueue(Named(name: "\(number)"), in: .work) }
            try context.commit()
        }
        while try await stack.background({ try $0.count(FinishedOperation.all) }) < Self.many {
            try await Task.sleep(for: .milliseconds(1))
        }
        #expect(haveMet.withLock { $0 })
        await pipeline.close()
        try await stack.close()
    }

    @Test("Passes that request further passes do not delay handlers")
    func passesWithoutEnd() async throws {
        let executor = EngineExecutor()
        let meeting = Meeting(of: ProcessInfo.processInfo.activeProcessorCount)
        let passes = EndlessPasses(executor) { !meeting.isAwaited }
        await withTaskGroup { group in
            // One thread is left for handlers.
            for _ in 1..<meeting.size {
                group.addTask(executorPreference: executor) {
                    meeting.join()
                    meeting.wait()
                }
            }
            while meeting.missing > 1, !Task.isCancelled { await Task.yield() }
            passes.take()
            group.addTask(executorPreference: executor) { meeting.join() }
        }
        await executor.waitUntilIdle()
        #expect(meeting.isComplete)
    }

    @Test("No thread is lost while it waits for more work")
    func threads() async throws {
        let executor = EngineExecutor()
        await withTaskGroup { group in
            for _ in 0..<6 {
                group.addTask(executorPreference: executor) {
                    for round in 0..<3000 {
                        executor.requestPass(isPatient: true) {}
                        // The task continues when the timer fires, before or after the pass.
                        await withCheckedContinuation { continuation in
                            DispatchQueue.global().asyncAfter(deadline: .now() + .microseconds(round % 5 * 60)) {
                                continuation.resume()
                            }
                        }
                    }
                }
            }
        }
        let meeting = Meeting(of: ProcessInfo.processInfo.activeProcessorCount)
        let haveMet = await withTaskGroup { group in
            for _ in 0..<meeting.size {
                group.addTask(executorPreference: executor) {
                    meeting.join()
                    meeting.wait()
                    return meeting.isComplete
                }
            }
            return await group.reduce(true) { $0 && $1 }
        }
        #expect(haveMet)
    }

    @Test("Handlers that block after quick ones do not delay other handlers")
    func quickBefore() async throws {
        let executor = EngineExecutor()
        let count = ProcessInfo.processInfo.activeProcessorCount
        for round in 0..<300 {
            let meeting = Meeting(of: count)
            await withTaskGroup { group in
                for _ in 0..<50 {
                    group.addTask(executorPreference: executor) { executor.requestPass(isPatient: true) {} }
                }
                await group.waitForAll()
                for _ in 0..<count {
                    group.addTask(executorPreference: executor) {
                        meeting.join()
                        meeting.wait()
                    }
                }
            }
            #expect(meeting.isComplete, "round \(round)")
        }
    }

    @Test("No pass is lost, and no pass runs beside another pass or a guest", arguments: [false, true])
    func passes(isPatient: Bool) async throws {
        let executor = EngineExecutor()
        let log = PassLog()
        await withTaskGroup { group in
            for _ in 0..<4 {
                group.addTask(executorPreference: executor) {
                    for round in 0..<500 {
                        let number = log.ask()
                        executor.requestPass(isPatient: isPatient && round % 3 > 0) { log.take() }
                        if round % 7 == 0 { try? await executor.perform { log.take() } }
                        while log.seen < number, !Task.isCancelled { await Task.yield() }
                    }
                }
            }
        }
        await executor.waitUntilIdle()
        #expect(log.overlaps == 0)
        #expect(log.seen == 2000)
    }
}

/// Participants that wait for each other for a limited time.
private final class Meeting: Sendable {
    let size: Int
    private let present = Atomic(0)
    private let end = ContinuousClock.now + .seconds(20)

    init(of size: Int) { self.size = size }

    var missing: Int { size - present.load(ordering: .acquiring) }
    var isComplete: Bool { missing == 0 }
    var isAwaited: Bool { !isComplete && ContinuousClock.now < end }

    /// Counts a participant, unless the others have stopped waiting.
    func join() { if ContinuousClock.now < end { present.add(1, ordering: .acquiringAndReleasing) } }

    /// Blocks the thread.
    func wait() { while isAwaited { Thread.sleep(forTimeInterval: 0.001) } }
}

/// Passes that each request the next one.
private final class EndlessPasses: Sendable {
    private let executor: EngineExecutor
    private let isOver: @Sendable () -> Bool

    init(_ executor: EngineExecutor, until isOver: @escaping @Sendable () -> Bool) {
        self.executor = executor
        self.isOver = isOver
    }

    func take() { if !isOver() { executor.requestPass { self.take() } } }
}

/// Records which requests the passes have seen.
private final class PassLog: Sendable {
    private let asked = Atomic(0)
    private let isBusy = Atomic(false)
    private let state = Mutex((seen: 0, overlaps: 0))

    var seen: Int { state.withLock { $0.seen } }
    /// How many passes ran beside another one.
    var overlaps: Int { state.withLock { $0.overlaps } }

    func ask() -> Int { asked.add(1, ordering: .acquiringAndReleasing).newValue }

    /// Runs a pass, which sees all earlier requests.
    func take() {
        let isAlone = !isBusy.exchange(true, ordering: .acquiringAndReleasing)
        let count = asked.load(ordering: .acquiring)
        state.withLock { state in
            state.seen = max(state.seen, count)
            if !isAlone { state.overlaps += 1 }
        }
        isBusy.store(false, ordering: .releasing)
    }
}

extension DispatchSemaphore {
    /// Waits and blocks the thread of a task, which code outside tests must not do.
    fileprivate func block() { wait() }
}
