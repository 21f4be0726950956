import Dispatch
import Synchronization

/// The calls that wait until a working copy has everything that its home has now.
///
/// A *round* asks the home and applies the missing transactions. A call during a round waits for the next one, because
/// the home may have answered before this call. All waiting calls share the next round. So any number of requests needs
/// one thread, one connection and few round trips.
///
/// Isolation: any.
final class HomeCatchUp: Sendable {
    private typealias Waiter = CheckedContinuation<Void, any Error>

    private struct State {
        /// The waiting calls by their numbers.
        var waiters: [Int: Waiter] = [:]
        /// The number of the last call.
        var last = 0
        var isRunning = false
    }

    private let state = Mutex(State())
    private let queue = DispatchQueue(label: "strata.home.newest", qos: .userInitiated)

    /// The number of waiting calls, for tests.
    var waitingCount: Int { state.withLock { $0.waiters.count } }

    /// Waits for the end of a round that begins after this call.
    ///
    /// - Parameter round: makes a round, on a separate queue. The functions of all calls do the same.
    /// - Throws: the error of a round that has failed after this call; `CancellationError` at once when the task is
    ///   cancelled. The round continues for other calls.
    nonisolated(nonsending) func wait(for round: @escaping @Sendable () throws -> Void) async throws {
        let number = state.withLock { state in
            state.last += 1
            return state.last
        }
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { (waiter: Waiter) in add(waiter, number: number, round) }
        } onCancel: {
            let waiter = state.withLock { $0.waiters.removeValue(forKey: number) }
            waiter?.resume(throwing: CancellationError())
        }
    }

    private func add(_ waiter: Waiter, number: Int, _ round: @escaping @Sendable () throws -> Void) {
        let (isAdded, isFirst) = state.withLock { state -> (Bool, Bool) in
            // Checked under the lock, so that a later cancellation finds the waiter.
            if Task.isCancelled { return (false, false) }
            state.waiters[number] = waiter
            defer { state.isRunning = true }
            return (true, !state.isRunning)
        }
        guard isAdded else { return waiter.resume(throwing: CancellationError()) }
        if isFirst { queue.async { self.run(round) } }
    }

    /// Makes rounds until no call waits.
    private func run(_ round: () throws -> Void) {
        while let last = beginRound() {
            let result = Result { try round() }
            var hasFailed = false
            if case .failure = result { hasFailed = true }
            // The home has failed after the calls that came during the round, too. They need not wait for another one.
            for waiter in endRound(servingThrough: hasFailed ? .max : last) { waiter.resume(with: result) }
        }
    }

    /// Returns the number of the last call that a new round serves; nil if no call waits.
    private func beginRound() -> Int? {
        state.withLock { state in
            state.isRunning = !state.waiters.isEmpty
            return state.isRunning ? state.last : nil
        }
    }

    private func endRound(servingThrough last: Int) -> [Waiter] {
        state.withLock { state in
            let served = state.waiters.keys.filter { $0 <= last }
            return served.compactMap { state.waiters.removeValue(forKey: $0) }
        }
    }
}
