import Foundation
import Strata
import StrataPipeline
import Synchronization

/// The pulls of an account, one after the other.
final class PullLoop: Sendable {
    private struct State {
        var task: Task<Void, Never>?
        var suspensions = 0
        var hasPulled = false
        /// What is called behind each pull, with whether it was the first.
        var end: (@Sendable (Bool) -> Void)?
    }

    private let puller: Puller
    private let line = Line()
    private let state = Mutex(State())

    /// Runs one pull at a time.
    private actor Line {
        private var last: Task<PullSummary, any Error>?

        func run(_ body: @escaping @Sendable () async throws -> PullSummary) -> Task<PullSummary, any Error> {
            let before = last
            let task = Task {
                _ = await before?.result
                try Task.checkCancellation()
                return try await body()
            }
            last = task
            return task
        }
    }

    init(_ puller: Puller) { self.puller = puller }

    func pull() async throws -> PullSummary {
        let task = await line.run { [puller] in try await puller.pull() }
        let summary = try await withTaskCancellationHandler {
            try await task.value
        } onCancel: {
            task.cancel()
        }
        let (isFirst, end) = state.withLock { state in
            defer { state.hasPulled = true }
            return (!state.hasPulled, state.end)
        }
        end?(isFirst)
        return summary
    }

    func suspend() { state.withLock { $0.suspensions += 1 } }

    func resume() { state.withLock { $0.suspensions = max(0, $0.suspensions - 1) } }

    /// Pulls by itself, from now on.
    func start(_ policy: PullPolicy, _ clock: any PipelineClock, _ end: @escaping @Sendable (Bool) -> Void) {
        state.withLock { state in
            state.end = end
            guard let interval = policy.interval else { return }
            state.task = Task { [weak self] in
                while !Task.isCancelled {
                    guard let self else { return }
                    // What went wrong is tried again; who wants to know calls `pull()`.
                    if self.state.withLock({ $0.suspensions }) == 0 {
                        do {
                            _ = try await self.pull()
                        } catch {
                            self.puller.stack.log(.warning, "a pull has failed: \(error)")
                        }
                    }
                    do { try await clock.sleep(interval) } catch { return }
                }
            }
        }
    }

    func stop() async {
        let task = state.withLock { state in
            defer { state.task = nil }
            return state.task
        }
        task?.cancel()
        await task?.value
    }
}

extension PipelineClock {
    /// Waits by this clock.
    fileprivate func sleep(_ duration: Duration) async throws {
        let (end, continuation) = AsyncStream.makeStream(of: Void.self)
        let alarm = alarm(at: now.addingTimeInterval(duration / .seconds(1))) { continuation.finish() }
        for await _ in end {}
        alarm.cancel()
        try Task.checkCancellation()
    }
}
