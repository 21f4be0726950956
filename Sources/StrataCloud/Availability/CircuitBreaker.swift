import Foundation
import StrataPipeline

/// Decides whether a remote is asked: everything may be sent to one that answers, nothing to one that does not, and one attempt at a time to one of
/// which that is not known.
///
/// A failure has it rest. Pauses double with each failure up to a limit, and progress has them begin anew. Each pause is a random part of its limit,
/// at least half of it, so that many machines do not come back together.
struct CircuitBreaker: Sendable {
    enum Phase: Hashable, Sendable {
        /// Not known: one attempt finds it out, and the others wait for its first answer.
        case trying
        case available
        /// Nothing is sent before this moment.
        case resting(until: Date)
    }

    enum Admission: Hashable, Sendable {
        case admitted
        /// Another attempt finds out whether the remote answers.
        case busy
        case resting(until: Date)
    }

    private(set) var phase = Phase.trying
    /// How often the remote has begun to rest. Requests that have begun before the last time say nothing of the time since.
    private(set) var round = 0
    /// Failures since the last progress.
    private(set) var failures = 0
    /// When the server allows the next request.
    private(set) var floor = Date.distantPast
    private var lastFailure = Date.distantPast
    /// The attempts that are under way.
    private var entered = 0
    /// How many attempts may find out at once whether the remote answers.
    private var trials = 1
    private let base: Double
    private let cap: Double

    /// - Parameters:
    ///   - base: the limit of the first pause.
    ///   - cap: the limit beyond which pauses do not grow.
    init(base: Duration, cap: Duration) { (self.base, self.cap) = (base.seconds, max(base.seconds, cap.seconds)) }

    var isResting: Bool { if case .resting = phase { true } else { false } }

    // MARK: Attempts

    /// Begins an attempt, whose end ``leave()`` notes, if it is admitted.
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
        // The remote may have gone away since the last answer: the next attempt finds that out alone.
        if entered == 0, phase == .available { tryAgain() }
    }

    /// Lets twice as many attempts find out whether the remote answers: the first ones may take long.
    mutating func widen() { trials = min(trials * 2, 1 << 16) }

    /// Ends the pause, or discards the knowledge that the remote is available: the next attempt finds out whether it
    /// answers.
    mutating func tryAgain() { (phase, trials) = (.trying, 1) }

    // MARK: What requests find

    /// Notes an answer.
    ///
    /// - Parameters:
    ///   - isProgress: whether something was done. That a remote answers a question does not say that it takes content.
    ///   - round: ``round`` when the request began.
    mutating func noteAnswer(isProgress: Bool, round: Int, at now: Date) {
        if isProgress { failures = 0 }
        switch phase {
        case .available: break
        case .trying: phase = .available
        case .resting: if isProgress, round == self.round, now >= floor { phase = .available }
        }
    }

    /// Notes that a request has found the remote away, or that the server wants to be left alone.
    ///
    /// - Parameters:
    ///   - isRefusal: whether the server itself has said so: then no other answer ends the rest.
    ///   - pause: how long the server wants to be left alone at least.
    ///   - random: a number from 0 to 1.
    mutating func noteFailure(
        isRefusal: Bool,
        pause: Duration?,
        round: Int,
        at now: Date,
        random: Double = .random(in: 0...1)
    ) {
        if let pause { floor = max(floor, now.addingTimeInterval(pause.seconds)) }
        guard round == self.round else {
            // Of the outage that is known already, or of an earlier one.
            if case .resting(let until) = phase { phase = .resting(until: max(until, floor)) }
            return
        }
        // The last failure was more than ten times the longest pause ago: this outage has another cause.
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

    /// The network has returned: the next pause is the first one, but what the server has asked for holds.
    mutating func forgive() { failures = 0 }

    /// How long a remote rests that asks for no pause at all, in seconds.
    private static let leastPause = 0.1

    /// The limit of the pause after a number of failures, in seconds.
    static func pause(after failures: Int, _ base: Double, _ cap: Double) -> Double {
        min(base * pow(2, Double(min(max(failures, 1), 64) - 1)), cap)
    }
}
