import Foundation
import StrataPipeline
import Synchronization

/// The circuit breaker of an account's remote.
///
/// All requests to the remote report their results to it, and operations, pulls and downloads wait for it.
///
/// While the remote rests, only this object asks it, for its first folder. All others continue when there is an answer.
/// This object is also the constraint of the gate of the account's pipeline.
///
/// Isolation: any.
final class RemoteAvailability: ConstraintSource {
    private struct State {
        var breaker: CircuitBreaker
        /// Grows with every change that a waiter may wait for.
        var version = 0
        var waiters: [Int: CheckedContinuation<Void, any Error>] = [:]
        var lastWaiter = 0
        var outage: (since: Date, error: RemoteError)?
        var probe: (round: Int, deadline: Date, task: Task<Void, Never>?)?
        /// When the breaker checks the network again, in case `reachability` does not report its return.
        var look: Date?
        /// When further attempts are admitted, in addition to the attempts that test the remote.
        var widening: Date?
        var alarm: (any PipelineAlarm)?
        var alarmDate: Date?
        var alarmNumber = 0
        var observers: [@Sendable () -> Void] = []
        var streams: [Int: AsyncStream<RemoteOutage?>.Continuation] = [:]
        var lastStream = 0
        var isClosed = false
    }

    let constraint: Constraint = "remote"
    private let remote: any Remote
    private let clock: any PipelineClock
    private let reachability: any ConstraintSource
    private let state: Mutex<State>

    /// How long attempts wait for the first answer to another attempt before more attempts are admitted, in seconds.
    private static let patience = 4.0

    /// Creates the circuit breaker of a remote.
    ///
    /// - Parameters:
    ///   - remote: the remote itself, which receives the probes.
    ///   - retry: the lengths of pauses. The first pause is limited to one second, and all pauses to one minute.
    ///   - reachability: reports whether there is a network. Without a network, no probe is sent after a failure.
    init(
        _ remote: any Remote,
        _ retry: RetryPolicy,
        _ reachability: any ConstraintSource,
        _ clock: any PipelineClock
    ) {
        (self.remote, self.reachability, self.clock) = (remote, reachability, clock)
        let breaker = CircuitBreaker(base: min(retry.base, .seconds(1)), cap: min(retry.cap, .seconds(60)))
        state = Mutex(State(breaker: breaker))
        reachability.observe { [weak self] in self?.reachabilityChanged() }
    }

    // MARK: Looking

    /// Whether requests may be sent.
    var isSatisfied: Bool { state.withLock { !$0.breaker.isResting } }

    func observe(_ body: @escaping @Sendable () -> Void) { state.withLock { $0.observers.append(body) } }

    var outage: RemoteOutage? {
        let isNetworkThere = reachability.isSatisfied
        return state.withLock { outage($0, isNetworkThere) }
    }

    private func outage(_ state: State, _ isNetworkThere: Bool) -> RemoteOutage? {
        guard case .resting(let until) = state.breaker.phase, let (since, error) = state.outage else { return nil }
        return RemoteOutage(since: since, restsUntil: isNetworkThere && state.probe == nil ? until : nil, error: error)
    }

    func outageChanges() -> AsyncStream<RemoteOutage?> {
        let isNetworkThere = reachability.isSatisfied
        let (stream, continuation) = AsyncStream<RemoteOutage?>.makeStream(bufferingPolicy: .bufferingNewest(1))
        let number = state.withLock { state in
            continuation.yield(outage(state, isNetworkThere))
            if state.isClosed { continuation.finish() }
            state.lastStream += 1
            state.streams[state.lastStream] = continuation
            return state.lastStream
        }
        continuation.onTermination = { [weak self] _ in
            // The removed continuation must be released outside of the lock, so the closure returns it.
            _ = self?.state.withLock { $0.streams.removeValue(forKey: number) }
        }
        return stream
    }

    // MARK: Attempts

    /// Begins an attempt of an operation. The caller reports its end by ``leave()``.
    ///
    /// - Returns: false if the remote rests, or if another attempt has just failed to reach it. Then the caller must
    ///   not send anything.
    /// - Throws: `CancellationError`.
    func enter() async throws -> Bool {
        while true {
            let (admission, version) = beginAttempt()
            switch admission {
            case .admitted: return true
            case .resting: return false
            case .busy: try await change(since: version)
            }
        }
    }

    /// Begins an attempt of a transfer, and waits until the remote is available.
    ///
    /// - Parameter isPatient: whether the transfer waits without a limit. Otherwise it waits for at most one further
    ///   probe, and throws at once if the pause is longer than 30 seconds or the network is away.
    /// - Throws: the `RemoteError` that caused the outage; `CancellationError`.
    func enterWhenThere(isPatient: Bool) async throws {
        var round: Int?
        while true {
            let (admission, version) = beginAttempt()
            switch admission {
            case .admitted: return
            case .busy: break
            case .resting(let until):
                let (now, isNetworkThere) = (clock.now, reachability.isSatisfied)
                let (current, error) = state.withLock { ($0.breaker.round, $0.outage?.error) }
                let isLong = !isNetworkThere || until.timeIntervalSince(now) > Self.longestRest
                if let error, !isPatient, isLong || round.map({ $0 != current }) ?? false { throw error }
                round = current
            }
            try await change(since: version)
        }
    }

    /// The longest pause that a transfer waits for before it has begun, in seconds.
    private static let longestRest = 30.0

    func leave() {
        update { state in
            state.breaker.leave()
            state.version += 1
        }
    }

    private func beginAttempt() -> (CircuitBreaker.Admission, version: Int) {
        let now = clock.now
        return update { state in
            let admission = state.breaker.enter()
            if admission == .busy, state.widening == nil {
                state.widening = now.addingTimeInterval(Self.patience)
            }
            return (admission, state.version)
        }
    }

    // MARK: What requests find

    /// The round that a request records when it begins, and passes to `recordAnswer` or `recordFailure` later.
    var round: Int { state.withLock { $0.breaker.round } }

    func recordAnswer(isProgress: Bool, round: Int) {
        // Most answers do not change the state.
        let isKnown = state.withLock { $0.breaker.phase == .available && (!isProgress || $0.breaker.failures == 0) }
        if isKnown { return }
        let now = clock.now
        update { $0.breaker.recordAnswer(isProgress: isProgress, round: round, at: now) }
    }

    func recordFailure(_ error: RemoteError, round: Int) {
        let now = clock.now
        update { state in
            let isResting = state.breaker.isResting
            state.breaker.recordFailure(isRefusal: error.isRefusalOfAll, pause: error.retryAfter, round: round, at: now)
            guard state.breaker.isResting else { return }
            state.outage = (isResting ? state.outage?.since ?? now : now, error)
        }
    }

    // MARK: The network

    private func reachabilityChanged() {
        let (now, isNetworkThere) = (clock.now, reachability.isSatisfied)
        let round: Int? = update { state in
            if isNetworkThere { state.breaker.forgive() }
            return beginProbe(&state, at: now, isNetworkThere)
        }
        if let round { probe(round) }
    }

    // MARK: Waiting

    private func change(since version: Int) async throws {
        let number = state.withLock { state in
            state.lastWaiter += 1
            return state.lastWaiter
        }
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                let result: Result<Void, any Error>? = state.withLock { state in
                    if Task.isCancelled || state.isClosed { return .failure(CancellationError()) }
                    if state.version != version { return .success(()) }
                    state.waiters[number] = continuation
                    return nil
                }
                if let result { continuation.resume(with: result) }
            }
        } onCancel: {
            state.withLock { $0.waiters.removeValue(forKey: number) }?.resume(throwing: CancellationError())
        }
    }

    /// Changes the state, and notifies the waiters, observers and streams.
    @discardableResult
    private func update<Value>(_ body: (inout State) -> Value) -> Value {
        let isNetworkThere = reachability.isSatisfied
        let (value, waiters, observers, probe, set) = state.withLock { state in
            let (phase, version) = (state.breaker.phase, state.version)
            let value = body(&state)
            let hasChanged = state.breaker.phase != phase
            if hasChanged {
                state.version += 1
                state.widening = nil
            }
            var probe: Task<Void, Never>?
            if !state.breaker.isResting {
                probe = state.probe?.task
                (state.probe, state.outage, state.look) = (nil, nil, nil)
            }
            let waiters = state.version != version ? Array(state.waiters.values) : []
            if state.version != version { state.waiters = [:] }
            let wasResting = if case .resting = phase { true } else { false }
            let observers = state.breaker.isResting != wasResting ? state.observers : []
            let set = plan(&state, isNetworkThere)
            if hasChanged || set != nil, state.breaker.isResting || wasResting {
                for stream in state.streams.values { stream.yield(outage(state, isNetworkThere)) }
            }
            return (value, waiters, observers, probe, set)
        }
        probe?.cancel()
        for waiter in waiters { waiter.resume() }
        for observer in observers { observer() }
        if let set { setAlarm(set) }
        return value
    }

    // MARK: Time

    private typealias Alarm = (date: Date?, number: Int, old: (any PipelineAlarm)?)

    /// The next date at which the state must be examined; nil if the date is unchanged.
    private func plan(_ state: inout State, _ isNetworkThere: Bool) -> Alarm? {
        var date: Date?
        switch state.breaker.phase {
        case .available: break
        case .trying: date = state.widening
        case .resting(let until):
            date = state.probe?.deadline ?? (isNetworkThere ? until : max(until, state.look ?? until))
        }
        if state.isClosed { date = nil }
        guard date != state.alarmDate else { return nil }
        defer { state.alarm = nil }
        state.alarmDate = date
        state.alarmNumber += 1
        return (date, state.alarmNumber, state.alarm)
    }

    private func setAlarm(_ set: Alarm) {
        set.old?.cancel()
        guard let date = set.date else { return }
        // The alarm is set outside of the lock, because an alarm that is due already fires at once.
        let alarm = clock.alarm(at: date) { [weak self] in self?.ring(set.number) }
        let isStale = state.withLock { state in
            guard state.alarmNumber == set.number, state.alarmDate != nil else { return true }
            state.alarm = alarm
            return false
        }
        if isStale { alarm.cancel() }
    }

    private func ring(_ number: Int) {
        let (now, isNetworkThere) = (clock.now, reachability.isSatisfied)
        let round: Int? = update { state in
            guard state.alarmNumber == number, let date = state.alarmDate else { return nil }
            (state.alarm, state.alarmDate) = (nil, nil)
            // The clock has fired too early, so a new alarm is set.
            guard date <= now else { return nil }
            switch state.breaker.phase {
            case .available: break
            case .trying:
                state.breaker.widen()
                state.version += 1
                state.widening = nil
            case .resting:
                guard let probe = state.probe else { return beginProbe(&state, at: now, isNetworkThere) }
                // The wait for a remote that never answers must end.
                probe.task?.cancel()
                state.breaker.tryAgain()
            }
            return nil
        }
        if let round { probe(round) }
    }

    private static let lookInterval = 60.0
    private static let longestProbe = 60.0

    // MARK: Asking

    /// Records that a probe of the remote begins now, unless the server has asked for a longer pause, or a probe is
    /// running already.
    private func beginProbe(_ state: inout State, at now: Date, _ isNetworkThere: Bool) -> Int? {
        state.look = isNetworkThere ? nil : now.addingTimeInterval(Self.lookInterval)
        guard state.breaker.isResting, state.probe == nil, isNetworkThere, !state.isClosed, state.breaker.floor <= now
        else { return nil }
        state.probe = (state.breaker.round, now.addingTimeInterval(Self.longestProbe), nil)
        return state.breaker.round
    }

    private func probe(_ round: Int) {
        let task = Task { [remote, weak self] in
            do {
                _ = try await remote.head(RemoteKey([Trunk.home.rawValue]))
                self?.endProbe(round, nil)
            } catch {
                self?.endProbe(round, error)
            }
        }
        let isStale = state.withLock { state in
            guard state.probe?.round == round else { return true }
            state.probe?.task = task
            return false
        }
        if isStale { task.cancel() }
    }

    private func endProbe(_ round: Int, _ error: (any Error)?) {
        let now = clock.now
        let failure = (error as? RemoteError).flatMap { $0.isOfRemote ? $0 : nil }
        update { state in
            guard state.probe?.round == round else { return }
            state.probe = nil
            // Other requests may have found meanwhile that the remote is still away.
            guard state.breaker.round == round, state.breaker.isResting else { return }
            if let failure {
                state.breaker.recordFailure(
                    isRefusal: failure.isRefusalOfAll,
                    pause: failure.retryAfter,
                    round: round,
                    at: now
                )
                state.outage = (state.outage?.since ?? now, failure)
            } else if state.breaker.floor <= now {
                // All other errors concern only the requests themselves: the remote has answered.
                state.breaker.tryAgain()
            }
        }
    }

    func close() {
        let (waiters, streams, task) = update { state in
            state.isClosed = true
            defer { (state.waiters, state.streams, state.probe) = ([:], [:], nil) }
            return (state.waiters.values, state.streams.values, state.probe?.task)
        }
        task?.cancel()
        for waiter in waiters { waiter.resume(throwing: CancellationError()) }
        for stream in streams { stream.finish() }
    }
}
