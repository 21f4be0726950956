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

    @Test("A request during a run causes one more run")
    func requestDuringRun() async throws {
        let (task, runs) = (RepeatedTask(), Runs())
        task.ask(runs.body)
        while runs.count == 0, !Task.isCancelled { await Task.yield() }
        for _ in 0..<3 { task.ask(runs.body) }
        runs.opener.yield()
        runs.opener.yield()
        await task.waitUntilIdle()
        #expect(runs.count == 2)
    }

    @Test("A stopped task has ended, and does not run again")
    func stopped() async throws {
        let (task, runs) = (RepeatedTask(), Runs())
        task.ask(runs.body)
        while runs.count == 0, !Task.isCancelled { await Task.yield() }
        task.ask(runs.body)
        await task.stop()
        await task.waitUntilIdle()
        task.ask(runs.body)
        await task.waitUntilIdle()
        #expect(runs.count == 1)
        runs.opener.finish()
    }
}
