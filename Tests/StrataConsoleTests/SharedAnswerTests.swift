import Synchronization
import Testing

@testable import StrataConsole

@Suite("Answers that requests share", .timeLimit(.minutes(1))) struct SharedAnswerTests {
    private final class Counter: Sendable {
        private let count = Mutex(0)

        func next() -> Int {
            count.withLock { count in
                count += 1
                return count
            }
        }
    }

    @Test("Requests of the lifetime share one search, also while it runs")
    func shared() async {
        let counter = Counter()
        let answer = SharedAnswer(lifetime: .seconds(3600)) { () async -> Int in
            await Task.yield()
            return counter.next()
        }
        async let first = answer.current()
        async let second = answer.current()
        let both = await [first, second]
        let last = await answer.current()
        #expect(both == [1, 1] && last == 1)
    }

    @Test("After the lifetime, a request searches anew")
    func anew() async {
        let counter = Counter()
        let answer = SharedAnswer(lifetime: .zero) { () async -> Int in counter.next() }
        let first = await answer.current()
        let second = await answer.current()
        #expect(first == 1 && second == 2)
    }

    @Test("The end of a request does not end the search that others share")
    func cancellation() async {
        let answer = SharedAnswer(lifetime: .seconds(3600)) { () async -> Bool in
            await Task.yield()
            return Task.isCancelled
        }
        let request = Task { await answer.current() }
        request.cancel()
        let wasCancelled = await request.value
        let next = await answer.current()
        #expect(!wasCancelled && !next)
    }
}
