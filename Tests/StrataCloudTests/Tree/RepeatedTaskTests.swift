import Synchronization
import Testing

@testable import StrataCloud

/// What is done again whenever somebody asks.
@Suite(.timeLimit(.minutes(5))) struct RepeatedTaskTests {
    @Test func `who asks while a run is under way gets one behind it`() async throws {
        let task = RepeatedTask()
        let (gate, opener) = AsyncStream.makeStream(of: Void.self)
        let count = Mutex(0)
        let body: @Sendable () async -> Void = {
            count.withLock { $0 += 1 }
            for await _ in gate { break }
        }
        task.ask(body)
        while count.withLock({ $0 }) == 0 { await Task.yield() }
        for _ in 0..<3 { task.ask(body) }
        opener.yield()
        opener.yield()
        await task.settle()
        #expect(count.withLock { $0 } == 2)
    }

    @Test func `one that was stopped is settled, and begins no more`() async throws {
        let task = RepeatedTask()
        let (gate, opener) = AsyncStream.makeStream(of: Void.self)
        let count = Mutex(0)
        let body: @Sendable () async -> Void = {
            count.withLock { $0 += 1 }
            for await _ in gate { break }
        }
        task.ask(body)
        while count.withLock({ $0 }) == 0 { await Task.yield() }
        task.ask(body)
        await task.stop()
        await task.settle()
        task.ask(body)
        await task.settle()
        #expect(count.withLock { $0 } == 1)
        opener.finish()
    }
}
