import Foundation
import Strata
import StrataPipeline
import Synchronization

/// The circuit breakers of the inboxes that messages are sent to. If an inbox has not answered yet or cannot be
/// reached, only one message at a time tries it. So messages to an unavailable machine do not delay all others while
/// each finds out separately that the machine is unavailable.
final class InboxBreakers: Sendable {
    struct Key: Hashable, Sendable {
        let recipient: UTF8Text
        /// The name of the remote. Another remote may replace it.
        let remote: UTF8Text
    }

    /// The result of an attempt for an inbox.
    enum Ending: Sendable {
        case unknown
        case answered
        case failed(RemoteError)
    }

    private struct Inbox {
        var breaker: CircuitBreaker
        /// Whether the last attempt could not reach the inbox.
        var isAway = false
    }

    private let clock: any PipelineClock
    private let retry: RetryPolicy
    private let inboxes = Mutex<[Key: Inbox]>([:])

    init(_ retry: RetryPolicy, _ clock: any PipelineClock) { (self.retry, self.clock) = (retry, clock) }

    /// The pause after an attempt that could not reach the inbox.
    static let rest = Duration.seconds(60)
    /// The pause of other messages while the first one tries the inbox.
    private static let pause = Duration.seconds(1)

    /// Begins to send a message. Call ``end(_:_:)`` when the attempt ends.
    ///
    /// - Returns: nil if the attempt may begin; otherwise the time for which the message is postponed.
    func begin(_ place: Key) -> Duration? {
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

    /// Whether any inbox pauses because it could not be reached.
    var isAnyAway: Bool { inboxes.withLock { inboxes in inboxes.values.contains(where: \.isAway) } }

    func end(_ place: Key, _ ending: Ending) {
        let now = clock.now
        inboxes.withLock { inboxes in
            guard var inbox = inboxes[place] else { return }
            let round = inbox.breaker.round
            switch ending {
            case .unknown: break
            case .answered:
                inbox.isAway = false
                inbox.breaker.recordAnswer(isProgress: true, round: round, at: now)
            case .failed(let error):
                inbox.isAway = error.code == .unreachable
                inbox.breaker.recordFailure(
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
