import Foundation
import Hummingbird
import Strata
import StrataPipeline
import Testing

@testable import StrataConsole

@Suite("Figures of the queues, which requests share", .timeLimit(.minutes(1))) struct QueueFiguresTests {
    private static func count(_ cache: QueueFiguresCache, _ stack: ContextStack) async throws -> Int {
        let figures = try await stack.overStore { context in try cache.current(in: context, at: Date()) }
        return figures.counts["photos"]?[.pending] ?? 0
    }

    @Test("A small store is counted for each request")
    func small() async throws {
        let fixture = try await ConsoleFixture()
        let cache = QueueFiguresCache(shortestLifetime: .seconds(3600))
        for number in 1...3 {
            let count = try await Self.count(cache, fixture.stack)
            #expect(count == number)
            try await ConsoleFixture.enqueue(["photos"], on: fixture.stack)
        }
        try await fixture.stack.close()
    }

    @Test("A large store is counted again after a time, and after a change by the console")
    func large() async throws {
        let fixture = try await ConsoleFixture()
        let cache = QueueFiguresCache(exactSize: 0, shortestLifetime: .seconds(3600))
        let first = try await Self.count(cache, fixture.stack)
        try await ConsoleFixture.enqueue(["photos"], on: fixture.stack)
        let shared = try await Self.count(cache, fixture.stack)
        cache.forget()
        let counted = try await Self.count(cache, fixture.stack)
        #expect(first == 1 && shared == 1 && counted == 2)
        try await fixture.stack.close()
    }

    @Test("A change by a person lets the next page count")
    func change() async throws {
        let fixture = try await ConsoleFixture(allowsChanges: true)
        let cache = QueueFiguresCache(exactSize: 0, shortestLifetime: .seconds(3600))
        let store = StoreAccess(fixture.stack, maximumReaders: 1, allowsChanges: true, figures: cache)
        _ = try await Self.count(cache, fixture.stack)
        try await ConsoleFixture.enqueue(["photos"], on: fixture.stack)
        _ = try await store.change(by: "ada") { context in
            try context.updatePipelineSettings(of: "photos", by: "ada") { $0.isPaused = true }
        }
        let count = try await Self.count(cache, fixture.stack)
        #expect(count == 2)
        try await fixture.stack.close()
    }
}
