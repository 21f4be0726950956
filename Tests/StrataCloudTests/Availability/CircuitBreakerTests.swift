import Foundation
import Testing

@testable import StrataCloud

/// The rules that decide when requests reach a remote, when they rest, and when they try again.
@Suite struct CircuitBreakerTests {
    private let start = Date(timeIntervalSinceReferenceDate: 0)

    private func breaker() -> CircuitBreaker { CircuitBreaker(base: .seconds(1), cap: .seconds(60)) }

    private func at(_ seconds: Double) -> Date { start.addingTimeInterval(seconds) }

    @Test("One attempt probes the remote, and its first answer lets all others in")
    func singleProbe() {
        var breaker = breaker()
        #expect(breaker.enter() == .admitted)
        #expect(breaker.enter() == .busy)
        breaker.recordAnswer(isProgress: false, round: breaker.round, at: start)
        for _ in 0..<100 { #expect(breaker.enter() == .admitted) }
        for _ in 0..<101 { breaker.leave() }
        // The last answer no longer proves anything.
        #expect(breaker.phase == .trying)
    }

    @Test("If a probe ends without an answer, the next attempt probes")
    func probeWithoutAnswer() {
        var breaker = breaker()
        #expect(breaker.enter() == .admitted)
        breaker.leave()
        #expect(breaker.enter() == .admitted)
        breaker.widen()
        #expect(breaker.enter() == .admitted)
        #expect(breaker.enter() == .busy)
    }

    @Test("Pauses double up to a limit, and each is at least half of its maximum")
    func pausesDouble() {
        for (random, part) in [(0.0, 0.5), (1.0, 1.0)] {
            var (breaker, now, pauses) = (breaker(), start, [Double]())
            for _ in 0..<9 {
                breaker.recordFailure(isRefusal: false, pause: nil, round: breaker.round, at: now, random: random)
                guard case .resting(let until) = breaker.phase else { return _ = Issue.record("It does not rest.") }
                pauses.append(until.timeIntervalSince(now))
                now = until
                breaker.tryAgain()
            }
            #expect(pauses == [1, 2, 4, 8, 16, 32, 60, 60, 60].map { $0 * part })
        }
    }

    @Test("Requests that fail together count as one failure, and later results of them have no effect")
    func simultaneousFailures() {
        var breaker = breaker()
        let round = breaker.round
        for _ in 0..<8 { breaker.recordFailure(isRefusal: false, pause: nil, round: round, at: start, random: 1) }
        #expect(breaker.failures == 1)
        breaker.tryAgain()
        breaker.recordFailure(isRefusal: false, pause: nil, round: round, at: at(30), random: 1)
        #expect(breaker.phase == .trying)
    }

    @Test("Progress resets the pauses, and the answer to a probe does not")
    func progressResetsPauses() {
        var breaker = breaker()
        for _ in 0..<3 {
            breaker.recordFailure(isRefusal: false, pause: nil, round: breaker.round, at: start, random: 1)
            breaker.tryAgain()
            breaker.recordAnswer(isProgress: false, round: breaker.round, at: start)
            #expect(breaker.phase == .available)
        }
        #expect(breaker.failures == 3)
        breaker.recordAnswer(isProgress: true, round: breaker.round, at: start)
        breaker.recordFailure(isRefusal: false, pause: nil, round: breaker.round, at: start, random: 1)
        #expect(breaker.phase == .resting(until: at(1)))
    }

    @Test("The pause that a server asks for is a minimum, whatever other answers arrive")
    func requestedPause() {
        var breaker = breaker()
        let round = breaker.round
        breaker.recordFailure(isRefusal: true, pause: .seconds(30), round: round, at: start, random: 1)
        #expect(breaker.phase == .resting(until: at(30)))
        // Another refusal in the same round asks for a longer pause.
        breaker.recordFailure(isRefusal: true, pause: .seconds(40), round: round, at: start, random: 1)
        #expect(breaker.phase == .resting(until: at(40)))
        breaker.recordAnswer(isProgress: true, round: breaker.round, at: at(20))
        #expect(breaker.isResting)
        breaker.recordAnswer(isProgress: true, round: breaker.round, at: at(40))
        #expect(breaker.phase == .available)
    }

    @Test("Progress ends a rest only if its request began after the rest")
    func progressOfNewerRequest() {
        var breaker = breaker()
        let round = breaker.round
        breaker.recordFailure(isRefusal: false, pause: nil, round: round, at: start, random: 1)
        breaker.recordAnswer(isProgress: true, round: round, at: start)
        #expect(breaker.isResting)
        breaker.recordAnswer(isProgress: true, round: breaker.round, at: start)
        #expect(breaker.phase == .available)
    }
}
