import Foundation
import StoreModels
import Strata
import StrataTesting
import TestHomeTraits
import Testing

@testable import StrataPipeline

@Suite("Tags of operations", .timeLimit(.minutes(1))) struct OperationTagTests {
    private static func stack() async throws -> ContextStack {
        try await ContextStack.open(.inMemory, models: Pipeline.models, stack: .rootOnly)
    }

    private static func names(_ operations: [QueuedOperation]) throws -> [String] {
        try operations.map { try $0.payload(as: Named.self).name }.sorted()
    }

    @Test("A query finds operations by one tag and by any of several, before and after the commit")
    func query() async throws {
        let stack = try await Self.stack()
        try await stack.background { context in
            context.enqueue(Named(name: "A"), in: .work, tags: ["import", "june", "import"])
            context.enqueue(Named(name: "B"), in: .work, tags: ["june"])
            context.enqueue(Named(name: "C"), in: .work)
            for isCommitted in [false, true] {
                if isCommitted { try context.commit() }
                let tagged = try context.fetch(QueuedOperation.where { $0.hasTag("import") })
                #expect(try Self.names(tagged) == ["A"], "\(isCommitted)")
                #expect(try tagged.first?.tags() == ["import", "june"], "\(isCommitted)")
                let any = try context.fetch(QueuedOperation.where { $0.hasAnyTag(of: ["june", "july"]) })
                #expect(try Self.names(any) == ["A", "B"], "\(isCommitted)")
                let untagged = try context.fetch(QueuedOperation.where { !$0.hasTag("june") && $0.pipeline == .work })
                #expect(try Self.names(untagged) == ["C"], "\(isCommitted)")
                #expect(try context.count(QueuedOperation.where { $0.hasAnyTag(of: []) }) == 0)
            }
        }
        try await stack.close()
    }

    @Test("Tags can be added and removed, and two contexts that add the same tag do not conflict")
    func editing() async throws {
        let stack = try await Self.stack()
        let id = try await stack.background { context in
            let operation = context.enqueue(Named(name: "A"), in: .work, tags: ["old"])
            try context.commit()
            return operation.id
        }
        let other = try stack.create(.private, named: "other")
        try await stack.on(other) { try $0.find(id)?.addTags(["new", "other"]) }
        try await stack.background { context in
            let operation = try #require(try context.find(id))
            try operation.addTags(["new", "old"])
            try operation.removeTags(["old", "unknown"])
            #expect(try operation.tags() == ["new"])
            try context.commit()
        }
        try await other.commit()
        let tags = try await stack.background { try $0.find(id)?.tags() }
        #expect(tags == ["new", "other"])
        #expect(try await stack.background { try $0.count(OperationTag.all) } == 2)
        try await stack.close()
    }

    @Test("An empty tag is refused, and nothing changes")
    func empty() async throws {
        let stack = try await Self.stack()
        try await stack.background { context in
            let operation = context.enqueue(Named(name: "A"), in: .work)
            let error = #expect(throws: PipelineError.self) { try operation.addTags(["fine", ""]) }
            #expect(error?.code == .invalidArgument)
            let tags = try operation.tags()
            #expect(tags == [])
            context.enqueue(Named(name: "B"), in: .work, tags: [""])
            let refusal = #expect(throws: StrataError.self) { try context.commit() }
            #expect(refusal?.code == .validation)
            context.rollback()
        }
        #expect(try await stack.background { try $0.count(QueuedOperation.all) } == 0)
        try await stack.close()
    }

    @Test("A finished operation keeps its tags until it is deleted or pruned")
    func finished() async throws {
        let harness = try await PipelineHarness.open(retention: FinishedRetention(maximumAge: .seconds(3600)))
        try await harness.commit(["A", "B", "C"])
        for name in ["A", "B", "C"] { try await harness.edit(name) { try $0.addTags(["import", name]) } }
        try await harness.play([.resume("A", "B", "C"), .done("A"), .done("B")])
        try await harness.stack.background { context in
            let finished = try context.fetch(FinishedOperation.where { $0.hasTag("import") })
            let tags = try finished.flatMap { try $0.tags() }.sorted()
            #expect(tags == ["A", "B", "import", "import"])
            let queued = try context.column(QueuedOperation.where { $0.hasAnyTag(of: ["import"]) }, \.status)
            #expect(queued == [.active])
            // The application deletes one of the records.
            context.delete(try #require(finished.first))
            try context.commit()
            #expect(try context.count(OperationTag.all) == 4)
        }
        // The next heartbeats prune the other one.
        for _ in 0..<3 {
            harness.clock.advance(by: .seconds(7200))
            await harness.pipeline.waitUntilProcessed()
        }
        try await harness.stack.background { context in
            let finished = try context.count(FinishedOperation.all)
            let tags = try context.column(OperationTag.sorted { $0.name }, \.name)
            #expect(finished == 0)
            #expect(tags == ["C", "import"])
        }
        try await harness.end("C")
        try await harness.close()
    }

    @Test("A deleted operation leaves no tags behind, whether it was committed or not")
    func deleted() async throws {
        let stack = try await Self.stack()
        try await stack.background { context in
            let committed = context.enqueue(Named(name: "A"), in: .work, tags: ["import"])
            try context.commit()
            context.delete(committed)
            context.enqueue(Named(name: "B"), in: .work, tags: ["import"]).skip()
            let unseen = context.enqueue(Named(name: "C"), in: .work, tags: ["import"])
            context.delete(unseen)
            try context.commit()
            #expect(try context.count(QueuedOperation.all) == 0)
            #expect(try context.count(OperationTag.all) == 0)
        }
        try await stack.close()
    }

    @Test(
        "A store without the table of tags gets it when it is opened, and keeps its operations",
        .aboutTheFile("migrates a store")
    )
    func olderStore() async throws {
        let folder = try ScratchFolder()
        let location = StoreLocation.sqlite(folder.file("s.sqlite"))
        let older = Pipeline.models.filter { $0 != OperationTag.self }
        #expect(older.count == Pipeline.models.count - 1)
        let before = try await ContextStack.open(location, models: older, stack: .rootOnly)
        // Not by a context: the rules for its commits need all models.
        try before.transact(author: "test") { transaction in
            let id = try transaction.newID()
            try transaction.run(
                QueueSQL.insertOperation,
                [
                    .integer(id), .text("work"), .text(""), .integer(0), .text("Named"),
                    .blob(Data(#"{"name":"A"}"#.utf8)), .integer(1), .null, .real(0), .integer(transaction.number),
                    try AttemptFailures().storedValue,
                ]
            )
            try transaction.report(inserted: id, of: QueuedOperation.self)
        }
        try await before.close()
        let after = try await ContextStack.open(location, models: Pipeline.models, stack: .rootOnly)
        let count = try await after.background { context in
            let operation = try #require(try context.first(QueuedOperation.all))
            try operation.addTags(["old"])
            try context.commit()
            return try context.retryOperations(QueuedOperation.where { $0.hasTag("old") })
        }
        #expect(count == 0)
        #expect(try await after.background { try $0.count(QueuedOperation.where { $0.hasTag("old") }) } == 1)
        try await after.close()
    }
}
