import Foundation
import StoreModels
import Strata
import TestHomeTraits
import Testing

@testable import StrataPipeline
@testable import StrataTesting

@Suite(
    "Queues in a backup, and checks of queues",
    .aboutTheFile("opens backups, which stay working copies"),
    .timeLimit(.minutes(1))
) struct CopiedQueueTests {
    @Test("An operation that runs during a backup is ready in the copy, and its attempt does not count")
    func running() async throws {
        let folder = try ScratchFolder()
        let harness = try await PipelineHarness.open(.sqlite(folder.file("s.sqlite")))
        harness.pipeline.resume()
        try await harness.commit(["A", "B←A"])
        await harness.pipeline.waitUntilProcessed()
        #expect(try await harness.row("A")?.status == .active)
        let copy = folder.file("copy.sqlite")
        try await harness.stack.backup(to: copy)

        // The second harness is suspended, so nothing runs in the copy.
        let restored = try await PipelineHarness.open(.sqlite(copy))
        let id = harness.id("A")
        let found = try await restored.stack.background { try $0.find(id)?.snapshot }
        let row = try #require(found)
        #expect(row.status == .pending && row.attempts == 0)
        #expect(row.crashes == 0 && row.suspicion == nil && row.worker == nil)
        let (operations, workers) = try await restored.stack.background { context in
            (try context.count(QueuedOperation.all), try context.count(PipelineWorker.all))
        }
        #expect(operations == 2 && workers == 1)
        let findings = try await restored.stack.check()
        #expect(findings == [])
        try await restored.close()

        // The original is not affected.
        #expect(try await harness.row("A")?.status == .active)
        try await harness.end("A")
        try await harness.end("B")
        #expect(try await harness.stack.check() == [])
        try await harness.close()
    }

    @Test("A request that was made while the operation ran is carried out in the copy")
    func request() async throws {
        let folder = try ScratchFolder()
        let harness = try await PipelineHarness.open(.sqlite(folder.file("s.sqlite")))
        harness.pipeline.resume()
        try await harness.commit(["A"])
        await harness.pipeline.waitUntilProcessed()
        // The engine does not see this request, so the handler continues.
        try harness.stack.transact(author: "test") { transaction in
            try transaction.run("UPDATE QueuedOperation SET request = 0 WHERE status = 3")
        }
        let copy = folder.file("copy.sqlite")
        try await harness.stack.backup(to: copy)
        let restored = try await PipelineHarness.open(.sqlite(copy))
        let results = try await restored.stack.background { context in
            (try context.count(QueuedOperation.all), try context.fetch(FinishedOperation.all).map(\.result))
        }
        #expect(results.0 == 0 && results.1 == [.skipped])
        try await restored.close()
        try await harness.end("A")
        try await harness.close()
    }

    @Test("Rows that belong to operations which are not queued are found")
    func strays() async throws {
        let harness = try await PipelineHarness.open()
        try await harness.commit(["A", "B←A"])
        #expect(try await harness.stack.check() == [])
        try harness.stack.transact(author: "test") { transaction in
            try transaction.run("UPDATE OperationDependency SET dependant = 12345")
            try transaction.run("UPDATE QueuedOperation SET \"commit\" = 100000 WHERE status = 0")
        }
        let findings = try await harness.stack.check()
        #expect(findings.allSatisfy { $0.kind == .inconsistentQueue })
        #expect(findings.contains { $0.subject == "OperationDependency" })
        #expect(findings.contains { $0.subject == "QueuedOperation" && $0.message.contains("commit") })
        try await harness.close()
    }
}
