import Foundation
import Testing

@testable import StrataCloud

/// The rules that decide when requests reach a remote, when they rest, and when they try again.
@Suite struct CircuitBreakerTests {
    private let start = Date(timeIntervalSinceReferenceDate: 0)

    private func breaker() -> CircuitBreaker { CircuitBreaker(base: .seconds(1), cap: .seconds(60)) }

    private func at(_ seconds: Double) -> Date { start.addingTimeInterval(seconds) }

    @Test func `one attempt finds out whether the remote answers, and its first answer lets all others in`() {
        var breaker = breaker()
        #expect(breaker.enter() == .admitted)
        #expect(breaker.enter() == .busy)
        breaker.noteAnswer(isProgress: false, round: breaker.round, at: start)
        for _ in 0..<100 { #expect(breaker.enter() == .admitted) }
        for _ in 0..<101 { breaker.leave() }
        // The last answer no longer proves anything.
        #expect(breaker.phase == .trying)
    }

    @Test func `an attempt that ends without an answer lets the next one find it out`() {
        var breaker = breaker()
        #expect(breaker.enter() == .admitted)
        breaker.leave()
        #expect(breaker.enter() == .admitted)
        breaker.widen()
        #expect(breaker.enter() == .admitted)
        #expect(breaker.enter() == .busy)
    }

    @Test func `pauses double up to a limit, each at least half of it`() {
        for (random, part) in [(0.0, 0.5), (1.0, 1.0)] {
            var (breaker, now, pauses) = (breaker(), start, [Double]())
            for _ in 0..<9 {
                breaker.noteFailure(isRefusal: false, pause: nil, round: breaker.round, at: now, random: random)
                guard case .resting(let until) = breaker.phase else { return _ = Issue.record("It does not rest.") }
                pauses.append(until.timeIntervalSince(now))
                now = until
                breaker.tryAgain()
            }
            #expect(pauses == [1, 2, 4, 8, 16, 32, 60, 60, 60].map { $0 * part })
        }
    }

    @Test func `requests that fail together are one failure, and later news of them change nothing`() {
        var breaker = breaker()
        let round = breaker.round
        for _ in 0..<8 { breaker.noteFailure(isRefusal: false, pause: nil, round: round, at: start, random: 1) }
        #expect(breaker.failures == 1)
        breaker.tryAgain()
        breaker.noteFailure(isRefusal: false, pause: nil, round: round, at: at(30), random: 1)
        #expect(breaker.phase == .trying)
    }

    @Test func `progress has pauses begin anew, an answer to a question does not`() {
        var breaker = breaker()
        for _ in 0..<3 {
            breaker.noteFailure(isRefusal: false, pause: nil, round: breaker.round, at: start, random: 1)
            breaker.tryAgain()
            breaker.noteAnswer(isProgress: false, round: breaker.round, at: start)
            #expect(breaker.phase == .available)
        }
        #expect(breaker.failures == 3)
        breaker.noteAnswer(isProgress: true, round: breaker.round, at: start)
        breaker.noteFailure(isRefusal: false, pause: nil, round: breaker.round, at: start, random: 1)
        #expect(breaker.phase == .resting(until: at(1)))
    }

    @Test func `the pause that a server asks for is the least, whatever else is answered`() {
        var breaker = breaker()
        let round = breaker.round
        breaker.noteFailure(isRefusal: true, pause: .seconds(30), round: round, at: start, random: 1)
        #expect(breaker.phase == .resting(until: at(30)))
        // Another refusal in the same round asks for a longer pause.
        breaker.noteFailure(isRefusal: true, pause: .seconds(40), round: round, at: start, random: 1)
        #expect(breaker.phase == .resting(until: at(40)))
        breaker.noteAnswer(isProgress: true, round: breaker.round, at: at(20))
        #expect(breaker.isResting)
        breaker.noteAnswer(isProgress: true, round: breaker.round, at: at(40))
        #expect(breaker.phase == .available)
    }

    @Test func `progress of a request that has begun since ends a rest, that of an earlier one does not`() {
        var breaker = breaker()
        let round = breaker.round
        breaker.noteFailure(isRefusal: false, pause: nil, round: round, at: start, random: 1)
        breaker.noteAnswer(isProgress: true, round: round, at: start)
        #expect(breaker.isResting)
        breaker.noteAnswer(isProgress: true, round: breaker.round, at: start)
        #expect(breaker.phase == .available)
    }
}
