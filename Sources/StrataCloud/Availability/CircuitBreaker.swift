import Foundation
import StrataPipeline

/// Decides whether requests may be sent to a remote.
///
/// A remote that answers receives all requests. A remote that does not answer receives none. If the state is unknown,
/// one attempt at a time tests the remote.
///
/// A failure starts a pause. Pauses double with each failure up to a limit, and progress resets them. Each pause is a
/// random fraction of its limit, at least half of it, so that many machines do not return at the same moment.
struct CircuitBreaker: Sendable {
    enum Phase: Hashable, Sendable {
        /// The state is unknown: one attempt tests the remote, and the others wait for its first answer.
        case trying
        case available
        /// Nothing is sent before this date.
        case resting(until: Date)
    }

    enum Admission: Hashable, Sendable {
        case admitted
        /// Another attempt is testing whether the remote answers.
        case busy
        case resting(until: Date)
    }

    private(set) var phase = Phase.trying
    /// The number of pauses so far. Requests that began before the last pause do not count for the time after it.
    private(set) var round = 0
    /// The number of failures since the last progress.
    private(set) var failures = 0
    /// The earliest date at which the server allows the next request.
    private(set) var floor = Date.distantPast
    private var lastFailure = Date.distantPast
    /// The number of running attempts.
    private var entered = 0
    /// The number of attempts that may test the remote at once.
    private var trials = 1
    private let base: Double
    private let cap: Double

    /// Creates a circuit breaker.
    ///
    /// - Parameters:
    ///   - base: the limit of the first pause.
    ///   - cap: the limit for all pauses.
    init(base: Duration, cap: Duration) { (self.base, self.cap) = (base.seconds, max(base.seconds, cap.seconds)) }

    var isResting: Bool { if case .resting = phase { true } else { false } }

    // MARK: Attempts

    /// Begins an attempt if it is admitted. The caller reports its end by ``leave()``.
    mutating func enter() -> Admission {
        switch phase {
        case .resting(let until): return .resting(until: until)
        case .trying where entered >= trials: return .busy
        case .trying, .available:
            entered += 1
            return .admitted
        }
    }

    mutating func leave() {
        entered = max(0, entered - 1)
        // The remote may have become unreachable since the last answer, so a single attempt tests it next.
        if entered == 0, phase == .available { tryAgain() }
    }

    /// Doubles the number of attempts that may test the remote at once, because the first ones may take long.
    mutating func widen() { trials = min(trials * 2, 1 << 16) }

    /// Ends the pause, or discards the knowledge that the remote is available.
    ///
    /// The next attempt tests whether the remote answers.
    mutating func tryAgain() { (phase, trials) = (.trying, 1) }

    // MARK: What requests find

    /// Records an answer.
    ///
    /// - Parameters:
    ///   - isProgress: whether the request has advanced the work. An answer to a question does not prove that the
    ///     remote accepts content.
    ///   - round: the value of ``round`` when the request began.
    mutating func recordAnswer(isProgress: Bool, round: Int, at now: Date) {
        if isProgress { failures = 0 }
        switch phase {
        case .available: break
        case .trying: phase = .available
        case .resting: if isProgress, round == self.round, now >= floor { phase = .available }
        }
    }

    /// Records that a request could not reach the remote, or that the server asks for a pause.
    ///
    /// - Parameters:
    ///   - isRefusal: whether the server itself has asked for the pause. Then no other answer ends the pause early.
    ///   - pause: the minimum pause that the server asks for.
    ///   - round: the value of ``round`` when the request began.
    ///   - random: a number from 0 to 1.
    mutating func recordFailure(
        isRefusal: Bool,
        pause: Duration?,
        round: Int,
        at now: Date,
        random: Double = .random(in: 0...1)
    ) {
        if let pause { floor = max(floor, now.addingTimeInterval(pause.seconds)) }
        guard round == self.round else {
            // The failure belongs to the current outage, which is already known, or to an earlier one.
            if case .resting(let until) = phase { phase = .resting(until: max(until, floor)) }
            return
        }
        // The last failure is older than ten times the longest pause, so this outage has another cause.
        if now.timeIntervalSince(lastFailure) > 10 * cap { failures = 0 }
        (failures, lastFailure) = (failures + 1, now)
        // If the server names a pause, that pause takes precedence over the computed one.
        let seconds =
            pause == nil ? Self.pause(after: failures, base, cap) * (1 + random) / 2 : min(base, Self.leastPause)
        let until = now.addingTimeInterval(seconds)
        if isRefusal { floor = max(floor, until) }
        self.round += 1
        phase = .resting(until: max(until, floor))
    }

    /// Resets the pauses after the network has returned. A pause that the server has asked for still holds.
    mutating func forgive() { failures = 0 }

    /// The pause, in seconds, after a server has asked for a pause of zero length.
    private static let leastPause = 0.1

    /// The limit of the pause after this number of failures, in seconds.
    static func pause(after failures: Int, _ base: Double, _ cap: Double) -> Double {
        min(base * pow(2, Double(min(max(failures, 1), 64) - 1)), cap)
    }
}
