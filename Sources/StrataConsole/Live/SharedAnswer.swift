import Synchronization

/// The answer to a costly question, which the requests of some seconds share.
final class SharedAnswer<Value: Sendable>: Sendable {
    private struct Search: Sendable {
        let start: ContinuousClock.Instant
        let result: Task<Value, Never>
    }

    private let lifetime: Duration
    private let search: @Sendable () async -> Value
    private let newest = Mutex<Search?>(nil)

    /// - Parameters:
    ///   - lifetime: how long an answer is shared, from the beginning of its search.
    ///   - search: finds the answer, in a separate task. The end of a request does not cancel it.
    init(lifetime: Duration = .seconds(5), search: @escaping @Sendable () async -> Value) {
        (self.lifetime, self.search) = (lifetime, search)
    }

    /// The shared answer, or a new one.
    func current() async -> Value {
        let shared = newest.withLock { newest -> Search in
            if let newest, newest.start.duration(to: .now) < lifetime { return newest }
            let started = Search(start: .now, result: Task.detached { [search] in await search() })
            newest = started
            return started
        }
        return await shared.result.value
    }
}
