import Foundation
import Strata
import StrataTesting
import Testing

@testable import StrataPipeline

@Suite("Retention of finished operations", .timeLimit(.minutes(1))) struct RetentionTests {
    @Test("Finished operations are deleted when they are too old or too many")
    func pruning() async throws {
        let harness = try await PipelineHarness.open(
            retention: FinishedRetention(maximumAge: .seconds(100), maximumCount: 2)
        )
        try await harness.commit(["A", "B", "C"])
        harness.pipeline.resume()
        for name in ["A", "B", "C"] {
            try await harness.end(name)
            harness.clock.advance(by: .seconds(1))
        }
        harness.clock.advance(by: .seconds(10))
        await harness.pipeline.waitUntilProcessed()
        #expect(try await harness.stack.background { try $0.count(FinishedOperation.all) } == 2)
        #expect(try await harness.result("A") == nil)
        harness.clock.advance(by: .seconds(100))
        await harness.pipeline.waitUntilProcessed()
        #expect(try await harness.stack.background { try $0.count(FinishedOperation.all) } == 0)
        try await harness.close()
    }

    @Test("The longest retention applies, even of a closed pipeline; a renamed pipeline uses its new retention")
    func longestRetention() async throws {
        let harness = try await PipelineHarness.open(retention: FinishedRetention(maximumAge: .seconds(100)))
        func openAudit(_ name: PipelineName, formerly former: [PipelineName] = [], _ seconds: Int) async throws
            -> Pipeline
        {
            try await Pipeline.open(
                harness.stack,
                named: name,
                previousNames: former,
                options: PipelineOptions(
                    retention: FinishedRetention(maximumAge: .seconds(seconds)),
                    clock: harness.clock
                )
            ) { (_: Attempt<Named>) in .done }
        }
        func finished() async throws -> Int {
            await harness.pipeline.waitUntilProcessed()
            return try await harness.stack.background { try $0.count(FinishedOperation.all) }
        }
        let audit = try await openAudit("audit", 1000)
        _ = try await audit.perform(Named(name: "A"), in: "audit")
        await audit.close()
        harness.clock.advance(by: .seconds(500))
        #expect(try await finished() == 1)
        let renamed = try await openAudit("renamed", formerly: ["audit"], 600)
        harness.clock.advance(by: .seconds(99))
        #expect(try await finished() == 1)
        harness.clock.advance(by: .seconds(10))
        #expect(try await finished() == 0)
        await renamed.close()
        try await harness.close()
    }

    @Test("One heartbeat removes all surplus results, in the order of their ids if they ended at the same time")
    func pruningOfMany() async throws {
        let harness = try await PipelineHarness.open(retention: FinishedRetention(maximumCount: 7))
        let names = (0..<(2 * OperationRepository.archivePortion + 50)).map { "\($0)" }
        try await harness.commit(names.map { Entry(stringLiteral: $0) })
        try await harness.stack.background { context in
            for operation in try context.fetch(QueuedOperation.self) { operation.complete() }
            try context.commit()
        }
        harness.clock.advance(by: .seconds(10))
        await harness.pipeline.waitUntilProcessed()
        let left = try await harness.stack.background { context in
            try context.fetch(FinishedOperation.sorted { $0.commit }).map {
                try Named.decoded($0.payload, version: 1).name
            }
        }
        #expect(Set(left) == Set(names.suffix(7)))
        try await harness.close()
    }
}
