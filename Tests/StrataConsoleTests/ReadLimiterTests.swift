import Testing

@testable import StrataConsole

@Suite("Places of pages that read the store", .timeLimit(.minutes(1))) struct ReadLimiterTests {
    @Test("A cancelled request no longer waits, and takes no place")
    func cancellation() async throws {
        let limiter = ReadLimiter(1)
        try await limiter.begin()
        let waiting = Task { try await limiter.begin() }
        while limiter.waitingCount == 0, !Task.isCancelled { await Task.yield() }
        waiting.cancel()
        let result = await waiting.result
        #expect(throws: CancellationError.self) { try result.get() }
        #expect(limiter.waitingCount == 0)
        limiter.end()
        try await limiter.begin()
        limiter.end()
    }

    @Test("Each waiting request gets its turn, and too many are refused")
    func waiting() async throws {
        let limiter = ReadLimiter(1)
        try await limiter.begin()
        let all = (0..<ReadLimiter.greatestWaiting).map { _ in
            Task {
                try await limiter.begin()
                limiter.end()
            }
        }
        while limiter.waitingCount < all.count, !Task.isCancelled { await Task.yield() }
        await #expect(throws: ConsoleError.self) { try await limiter.begin() }
        limiter.end()
        for task in all { try await task.value }
        #expect(limiter.waitingCount == 0)
    }

    @Test("Tokens of any number are a number of starts")
    func tokens() {
        let starts = [Double.nan, -.infinity, -1, 0.9, 2.5, .infinity].map { PipelinePage.starts($0) }
        #expect(starts == [0, 0, 0, 0, 2, 1_000_000_000_000_000])
    }
}
