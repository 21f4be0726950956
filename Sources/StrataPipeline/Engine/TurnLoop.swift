import Dispatch
import Synchronization

/// Takes turns, one after the other, when they are asked for.
///
/// Turns under load follow each other on one thread: between two of them it waits a moment for what the next one is to do, which
/// costs less than to give the thread back and to take it again.
///
/// Isolation: any. Turns, and what is done by ``perform(_:)``, never run at once.
final class TurnLoop: Sendable {
    private struct State {
        /// Whether a turn is wanted now.
        var isAsked = false
        /// Whether a turn is wanted that may wait for more to do.
        var isAskedPatiently = false
        /// Whether the loop is on its way.
        var isLooping = false
        /// Whether it waits for more to do.
        var isGathering = false
        /// How many want to do something between two turns.
        var guests = 0
        /// Who waits for a moment in which no turn is wanted.
        var idleWaiters: [CheckedContinuation<Void, Never>] = []
    }

    /// How long a turn waits for more to do.
    private static let gathering = DispatchTimeInterval.microseconds(200)

    private let state = Mutex(State())
    private let queue = DispatchQueue(label: "strata.pipeline")
    /// Signalled by who ends the waiting.
    private let gathered = DispatchSemaphore(value: 0)

    /// Has a turn taken, once for all who ask before it.
    ///
    /// - Parameters:
    ///   - isPatient: whether it may wait a moment for more to do, unless somebody wants it sooner.
    ///   - turn: takes one turn. Says whether there may soon be more to do.
    func ask(isPatient: Bool = false, _ turn: @escaping @Sendable () -> Bool) {
        let isFirst = state.withLock { state in
            if isPatient { state.isAskedPatiently = true } else { state.isAsked = true }
            if !isPatient { endGathering(&state) }
            defer { state.isLooping = true }
            return !state.isLooping
        }
        if isFirst { queue.async { self.loop(turn, hasGivenWay: false) } }
    }

    private func endGathering(_ state: inout State) {
        guard state.isGathering else { return }
        state.isGathering = false
        gathered.signal()
    }

    private enum Step {
        case turn
        case gather
        /// Others have their turn first.
        case giveWay
        case leave([CheckedContinuation<Void, Never>])
    }

    /// - Parameter hasGivenWay: whether those who wanted to do something have just done it, so that a turn is next.
    private func loop(_ turn: @escaping @Sendable () -> Bool, hasGivenWay: Bool) {
        var (isMoreToCome, hasGivenWay) = (false, hasGivenWay)
        while true {
            let step = state.withLock { next(isMoreToCome, hasGivenWay, &$0) }
            switch step {
            case .turn:
                isMoreToCome = turn()
                hasGivenWay = false
            case .gather:
                gather()
                isMoreToCome = false
            case .giveWay: return queue.async { self.loop(turn, hasGivenWay: true) }
            case .leave(let waiters): return waiters.forEach { $0.resume() }
            }
        }
    }

    private func next(_ isMoreToCome: Bool, _ hasGivenWay: Bool, _ state: inout State) -> Step {
        if state.guests > 0, !hasGivenWay, state.isAsked || state.isAskedPatiently { return .giveWay }
        if state.isAsked || state.isAskedPatiently && hasGivenWay {
            (state.isAsked, state.isAskedPatiently) = (false, false)
            return .turn
        }
        if state.isAskedPatiently || isMoreToCome, state.guests == 0 {
            state.isGathering = true
            return .gather
        }
        state.isLooping = false
        defer { state.idleWaiters = [] }
        return .leave(state.idleWaiters)
    }

    private func gather() {
        let isEnded = gathered.wait(timeout: .now() + Self.gathering) == .success
        let isBeingEnded = state.withLock { state in
            defer { state.isGathering = false }
            // What has come meanwhile has waited long enough.
            if state.isAskedPatiently { state.isAsked = true }
            return !isEnded && !state.isGathering
        }
        // The signal that came too late is not to end the next waiting.
        if isBeingEnded { gathered.wait() }
    }

    /// Does something where no turn is taken meanwhile.
    func perform<Value: Sendable>(_ body: @escaping @Sendable () throws -> Value) async throws -> Value {
        try await withCheckedThrowingContinuation { continuation in
            enter { continuation.resume(with: Result { try body() }) }
        }
    }

    /// Waits until no turn is wanted.
    func settle() async {
        await withCheckedContinuation { continuation in
            // Behind what is being done, which may ask for a turn.
            enter {
                let isIdle = self.state.withLock { state in
                    if state.isLooping { state.idleWaiters.append(continuation) }
                    return !state.isLooping
                }
                if isIdle { continuation.resume() }
            }
        }
    }

    private func enter(_ body: @escaping @Sendable () -> Void) {
        state.withLock { state in
            state.guests += 1
            endGathering(&state)
            // Under the lock: a loop that gives way finds it in the queue.
            queue.async {
                self.state.withLock { $0.guests -= 1 }
                body()
            }
        }
    }
}
