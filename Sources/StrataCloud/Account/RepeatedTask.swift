import Synchronization

/// Runs a body in a separate task on request: now, or once more after the current run.
///
/// Isolation: any.
final class RepeatedTask: Sendable {
    private struct State {
        var task: Task<Void, Never>?
        /// Whether a run was requested since the last run began.
        var isDue = false
        var isStopped = false
    }

    private let state = Mutex(State())

    /// Requests a run. All requests before the run begins must pass the same body, and one run serves them all.
    func ask(_ body: @escaping @Sendable () async -> Void) {
        state.withLock { state in
            guard !state.isStopped else { return }
            state.isDue = true
            guard state.task == nil else { return }
            state.task = Task { while self.beginDueRun() { await body() } }
        }
    }

    private func beginDueRun() -> Bool {
        state.withLock { state in
            defer { state.isDue = false }
            if !state.isDue { state.task = nil }
            return state.isDue
        }
    }

    /// Waits until no run is active or requested.
    func waitUntilIdle() async { while let task = state.withLock({ $0.task }) { await task.value } }

    /// Cancels the current run, and waits for its end. No run begins after that.
    func stop() async {
        let task = state.withLock { state in
            (state.isStopped, state.isDue) = (true, false)
            return state.task
        }
        task?.cancel()
        await task?.value
    }
}
