import Foundation
import StoreModels
import Strata
import Testing

@testable import StrataPipeline

private struct Chore: OperationPayload {
    var number: Int
}

@Suite("Two processes queue the same unique operations") struct UniqueProcessTests {
    @Test("Each key gets one operation, and both processes learn its id", .timeLimit(.minutes(2)))
    func unique() async throws {
        let folder = try ScratchFolder()
        let url = folder.file("s.sqlite")
        let count = 200
        let stack = try await ContextStack.open(.sqlite(url), models: Pipeline.models, stack: .rootOnly)
        // The operations end at once. So most of the second process's operations are duplicates of finished ones.
        let pipeline = try await Pipeline.open(stack, named: "chores") { (_: Attempt<Chore>) in .done }
        let processes = try (0..<2).map { _ in try HelperProcess("unique", url.path, "\(count)") }
        var answers: [[String]] = []
        for process in processes { answers.append(await process.end()) }
        #expect(answers[0] == answers[1])
        let ids = answers[0].first?.split(separator: " ").compactMap { Int64($0) } ?? []
        #expect(Set(ids).count == count)
        try await pipeline.waitUntilIdle()
        let finished = try await stack.background { try $0.fetch(FinishedOperation.all).map(\.id.rawValue) }
        #expect(finished.sorted() == ids.sorted())
        await pipeline.close()
        try await stack.close()
    }
}
