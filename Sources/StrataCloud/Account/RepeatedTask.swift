import Synchronization

/// Runs a body in a task of its own whenever that is asked for: now, or once more behind the run that is under way.
///
/// Isolation: any.
final class RepeatedTask: Sendable {
    private struct State {
        var task: Task<Void, Never>?
        /// Whether it was asked for since the last run began.
        var isDue = false
        var isStopped = false
    }

    private let state = Mutex(State())

    /// Asks for a run. All who ask before it begins give the same body, and are served by one.
    func ask(_ body: @escaping @Sendable () async -> Void) {
        state.withLock { state in
            guard !state.isStopped else { return }
            state.isDue = true
            guard state.task == nil else { return }
            state.task = Task { while self.takeDue() { await body() } }
        }
    }

    private func takeDue() -> Bool {
        state.withLock { state in
            defer { state.isDue = false }
            if !state.isDue { state.task = nil }
            return state.isDue
        }
    }

    /// Waits until no run is under way, nor asked for.
    func settle() async { while let task = state.withLock({ $0.task }) { await task.value } }

    /// Cancels the run that is under way, and waits for its end. None begins any more.
    func stop() async {
        let task = state.withLock { state in
            (state.isStopped, state.isDue) = (true, false)
            return state.task
        }
        task?.cancel()
        await task?.value
    }
}
