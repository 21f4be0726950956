import Foundation
import Strata
import StrataTesting
import Testing

@testable import StrataPipeline

@Suite("Retention of finished operations", .timeLimit(.minutes(1))) struct RetentionTests {
    @Test("Finished operations are deleted when they are too old or too many")
    func pruning() async throws {
        let stage = try await Stage.open(retention: FinishedRetention(maximumAge: .seconds(100), maximumCount: 2))
        try await stage.commit(["A", "B", "C"])
        stage.pipeline.resume()
        for name in ["A", "B", "C"] {
            try await stage.end(name)
            stage.clock.advance(by: .seconds(1))
        }
        stage.clock.advance(by: .seconds(10))
        await stage.pipeline.settled()
        #expect(try await stage.stack.background { try $0.count(FinishedOperation.all) } == 2)
        #expect(try await stage.result("A") == nil)
        stage.clock.advance(by: .seconds(100))
        await stage.pipeline.settled()
        #expect(try await stage.stack.background { try $0.count(FinishedOperation.all) } == 0)
        try await stage.close()
    }

    @Test("The longest retention applies, even of a closed pipeline; a renamed pipeline uses its new retention")
    func longestRetention() async throws {
        let stage = try await Stage.open(retention: FinishedRetention(maximumAge: .seconds(100)))
        func openAudit(_ name: PipelineName, formerly former: [PipelineName] = [], _ seconds: Int) async throws
            -> Pipeline
        {
            try await Pipeline.open(
                stage.stack,
                named: name,
                formerNames: former,
                retention: FinishedRetention(maximumAge: .seconds(seconds)),
                clock: stage.clock
            ) { (_: Attempt<Named>) in .done }
        }
        func finished() async throws -> Int {
            await stage.pipeline.settled()
            return try await stage.stack.background { try $0.count(FinishedOperation.all) }
        }
        let audit = try await openAudit("audit", 1000)
        _ = try await audit.perform(Named(name: "A"), in: "audit")
        await audit.close()
        stage.clock.advance(by: .seconds(500))
        #expect(try await finished() == 1)
        let renamed = try await openAudit("renamed", formerly: ["audit"], 600)
        stage.clock.advance(by: .seconds(99))
        #expect(try await finished() == 1)
        stage.clock.advance(by: .seconds(10))
        #expect(try await finished() == 0)
        await renamed.close()
        try await stage.close()
    }

    @Test("One heartbeat removes all surplus results, in the order of their ids if they ended at the same time")
    func pruningOfMany() async throws {
        let stage = try await Stage.open(retention: FinishedRetention(maximumCount: 7))
        let names = (0..<(2 * OperationBook.archivePortion + 50)).map { "\($0)" }
        try await stage.commit(names.map { Entry(stringLiteral: $0) })
        try await stage.stack.background { context in
            for operation in try context.fetch(QueuedOperation.self) { operation.complete() }
            try context.commit()
        }
        stage.clock.advance(by: .seconds(10))
        await stage.pipeline.settled()
        let left = try await stage.stack.background { context in
            try context.fetch(FinishedOperation.sorted { $0.commit }).map {
                try Named.decoded($0.payload, version: 1).name
            }
        }
        #expect(Set(left) == Set(names.suffix(7)))
        try await stage.close()
    }
}
