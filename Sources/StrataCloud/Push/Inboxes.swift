import Foundation
import Strata
import StrataPipeline
import Synchronization

/// The circuit breakers of the inboxes that messages are sent to: as long as one has not answered, or cannot be reached, one message at a time tries
/// it, so that those to a machine that is away do not keep all others from being sent until they have found that out, each for itself.
final class Inboxes: Sendable {
    struct Place: Hashable, Sendable {
        let recipient: UTF8Text
        /// The name of the remote, which another one may be put in place of.
        let remote: UTF8Text
    }

    /// What an attempt has found out about an inbox.
    enum Ending: Sendable {
        case unknown
        case answered
        case failed(RemoteError)
    }

    private struct Inbox {
        var breaker: CircuitBreaker
        /// Whether it could not be reached the last time.
        var isAway = false
    }

    private let clock: any PipelineClock
    private let retry: RetryPolicy
    private let inboxes = Mutex<[Place: Inbox]>([:])

    init(_ retry: RetryPolicy, _ clock: any PipelineClock) { (self.retry, self.clock) = (retry, clock) }

    /// How long an inbox is left alone that cannot be reached.
    static let rest = Duration.seconds(60)
    /// How long messages are put off while the first one tries it.
    private static let pause = Duration.seconds(1)

    /// Begins to send a message. Call ``end(_:_:)`` when the attempt ends.
    ///
    /// - Returns: nil; or how long it is put off, and does not begin.
    func begin(_ place: Place) -> Duration? {
        let now = clock.now
        return inboxes.withLock { inboxes in
            var inbox = inboxes[place] ?? Inbox(breaker: CircuitBreaker(base: retry.base, cap: retry.cap))
            if case .resting(let until) = inbox.breaker.phase, until <= now { inbox.breaker.tryAgain() }
            let admission = inbox.breaker.enter()
            inboxes[place] = inbox
            switch admission {
            case .admitted: return nil
            case .busy: return inbox.isAway ? Self.rest : Self.pause
            case .resting(let until): return .seconds(until.timeIntervalSince(now))
            }
        }
    }

    /// Whether any inbox is left alone that could not be reached.
    var isAnyAway: Bool { inboxes.withLock { inboxes in inboxes.values.contains(where: \.isAway) } }

    func end(_ place: Place, _ ending: Ending) {
        let now = clock.now
        inboxes.withLock { inboxes in
            guard var inbox = inboxes[place] else { return }
            let round = inbox.breaker.round
            switch ending {
            case .unknown: break
            case .answered:
                inbox.isAway = false
                inbox.breaker.noteAnswer(isProgress: true, round: round, at: now)
            case .failed(let error):
                inbox.isAway = error.code == .unreachable
                inbox.breaker.noteFailure(
                    isRefusal: error.isRefusalOfAll,
                    pause: inbox.isAway ? max(Self.rest, error.retryAfter ?? .zero) : error.retryAfter,
                    round: round,
                    at: now
                )
            }
            inbox.breaker.leave()
            inboxes[place] = inbox
        }
    }
}
