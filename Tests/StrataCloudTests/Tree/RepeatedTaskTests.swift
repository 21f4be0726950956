import Synchronization
import Testing

@testable import StrataCloud

/// A task that runs again when a caller has asked during a run.
@Suite(.timeLimit(.minutes(5))) struct RepeatedTaskTests {
    /// A body that counts its runs. Each run waits until the gate releases it.
    private final class Runs: Sendable {
        let (gate, opener) = AsyncStream.makeStream(of: Void.self)
        private let begun = Mutex(0)

        var count: Int { begun.withLock { $0 } }
        var body: @Sendable () async -> Void {
            { [self] in
                begun.withLock { $0 += 1 }
                for await _ in gate { break }
            }
        }
    }

    @Test func `who asks while a run is under way gets one behind it`() async throws {
        let (task, runs) = (RepeatedTask(), Runs())
        task.ask(runs.body)
        while runs.count == 0 { await Task.yield() }
        for _ in 0..<3 { task.ask(runs.body) }
        runs.opener.yield()
        runs.opener.yield()
        await task.settle()
        #expect(runs.count == 2)
    }

    @Test func `one that was stopped is settled, and begins no more`() async throws {
        let (task, runs) = (RepeatedTask(), Runs())
        task.ask(runs.body)
        while runs.count == 0 { await Task.yield() }
        task.ask(runs.body)
        await task.stop()
        await task.settle()
        task.ask(runs.body)
        await task.settle()
        #expect(runs.count == 1)
        runs.opener.finish()
    }
}
