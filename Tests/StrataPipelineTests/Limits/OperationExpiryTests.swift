import Foundation
import Strata
import StrataTesting
import Testing

@testable import StrataPipeline

@Suite("Expiry of operations that have not started", .timeLimit(.minutes(2))) struct OperationExpiryTests {
    private static let minute = OperationOptions(expires: .after(.seconds(60)))

    private static func settingsCount(_ stack: ContextStack) async throws -> Int {
        try await stack.background { try $0.count(OperationSettings.all) }
    }

    @Test("An operation that has not started ends as expired at its date, without a call of its handler")
    func expires() async throws {
        let harness = try await PipelineHarness.open()
        try await harness.commit(["A", "B", "C"])
        try await harness.edit("A") { try $0.setOptions(Self.minute) }
        try await harness.edit("B") { operation in
            try operation.setOptions(Self.minute)
            try operation.hold("embargo", until: .distantFuture)
        }
        let date = harness.clock.now.addingTimeInterval(60)
        let (pipeline, id, other) = (harness.pipeline, harness.id("A"), harness.id("C"))
        let dates = try await harness.stack.background { context in
            try [id, other].map { try context.find($0)?.expiresAt() }
        }
        #expect(dates == [date, nil])
        harness.clock.advance(by: .seconds(59))
        await pipeline.waitUntilProcessed()
        #expect(try await harness.row("A")?.status == .pending)
        harness.clock.advance(by: .seconds(1))
        await pipeline.waitUntilProcessed()
        for name in ["A", "B"] {
            #expect(try await harness.result(name) == .expired)
            #expect(harness.ends(of: name) == 1)
        }
        let finished = try await harness.stack.background { try $0.finishedOperation(id)?.finishedAt }
        #expect(finished == date)
        let code = await pipelineCode { try await pipeline.result(of: id, as: Int.self) }
        #expect(code == .operationExpired)
        #expect(try await Self.settingsCount(harness.stack) == 0)
        // The engine does not wake up for the handled date again.
        #expect(harness.clock.alarms.allSatisfy { $0 > harness.clock.now })
        try await harness.play([.resume("C")])
        try await harness.close()
    }

    @Test("An operation that was started does not expire: neither while it runs, nor before its next attempt")
    func started() async throws {
        let harness = try await PipelineHarness.open()
        try await harness.commit(["A", "B"])
        for name in ["A", "B"] { try await harness.edit(name) { try $0.setOptions(Self.minute) } }
        try await harness.play([.resume("A", "B")])
        try await harness.end("A", .success(.retry(after: .seconds(100))))
        harness.clock.advance(by: .seconds(60))
        await harness.pipeline.waitUntilProcessed()
        #expect(try await harness.row("A")?.status == .held)
        #expect(try await harness.row("B")?.status == .active)
        #expect(harness.clock.alarms.allSatisfy { $0 > harness.clock.now })
        try await harness.play([.done("B"), .pass(.seconds(40), "A"), .done("A")])
        #expect(try await harness.result("A") == .completed)
        #expect(try await Self.settingsCount(harness.stack) == 0)
        try await harness.close()
    }

    @Test("Dependants of an expired operation follow their policies", arguments: DependencyPolicy.allCases)
    func dependants(_ policy: DependencyPolicy) async throws {
        let harness = try await PipelineHarness.open()
        try await harness.commit(["A", "B"])
        let id = harness.id("A")
        try await harness.edit("A") { operation in
            try operation.setOptions(Self.minute)
            try operation.hold("embargo", until: .distantFuture)
        }
        try await harness.edit("B") { try $0.addDependencies([id], onFailure: policy) }
        let starts = policy == .fail ? [] : ["B"]
        try await harness.play([.resume(), Step(event: .pass(.seconds(60)), starts: starts)])
        let row = try await harness.row("B")
        #expect(row?.status == (policy == .fail ? .failed : .active))
        if policy == .fail {
            let message = "Operation \(id.rawValue) has expired, and this operation depends on it."
            #expect(row?.failures.list.map(\.message) == [message])
        }
        try await harness.close()
    }

    @Test("An expired operation makes place for the next one of its lane", arguments: PipelineOrdering.allCases)
    func lane(_ ordering: PipelineOrdering) async throws {
        let harness = try await PipelineHarness.open(ordering: ordering, max: 1)
        // In `commits`, each of them has a separate commit.
        let names = ordering == .lifo ? ["B", "A"] : ["A", "B"]
        for name in names { try await harness.commit([Entry(stringLiteral: name)]) }
        try await harness.edit("A") { operation in
            try operation.setOptions(Self.minute)
            try operation.hold("embargo", until: .distantFuture)
        }
        harness.pipeline.resume()
        await harness.pipeline.waitUntilProcessed()
        #expect(harness.takeStarts() == (ordering == .flat ? ["B"] : []))
        harness.clock.advance(by: .seconds(60))
        await harness.pipeline.waitUntilProcessed()
        #expect(harness.takeStarts() == (ordering == .flat ? [] : ["B"]))
        #expect(try await harness.result("A") == .expired)
        try await harness.close()
    }

    @Test("Many operations expire in portions, and none of them starts meanwhile")
    func portions() async throws {
        let harness = try await PipelineHarness.open(max: 1000)
        let count = 2 * OperationRepository.expiryPortion + 50
        try await harness.stack.background { context in
            for number in 0..<count {
                context.enqueue(Named(name: "\(number)"), in: .work, options: Self.minute)
            }
            try context.commit()
        }
        await harness.pipeline.waitUntilProcessed()
        let before = try harness.stack.commitCount()
        harness.clock.advance(by: .seconds(60))
        while try await Self.settingsCount(harness.stack) > 0 { await harness.pipeline.waitUntilProcessed() }
        #expect(try harness.stack.commitCount() - before >= 3)
        let results = try await harness.stack.background { try $0.column(FinishedOperation.all, \.result) }
        #expect(results == [OperationResult](repeating: .expired, count: count))
        harness.pipeline.resume()
        await harness.pipeline.waitUntilProcessed()
        #expect(harness.log.started == [])
        try await harness.close()
    }

    @Test("A claim ends about one portion of expired operations, and the next one continues")
    func portionsOfClaims() async throws {
        let stack = try await ContextStack.open(.inMemory, models: Pipeline.models, stack: .rootOnly)
        let count = 2 * OperationRepository.expiryPortion + 50
        try await stack.background { context in
            let options = OperationOptions(expires: .at(.distantPast))
            for number in 0..<count {
                context.enqueue(Named(name: "\(number)"), in: .work, options: options)
            }
            try context.commit()
        }
        var left = [Int64(count)]
        for _ in 0..<3 {
            try stack.transact(author: "test") { transaction in
                let found = try OperationRepository(transaction).claim(8, of: .work, by: 1)
                #expect(found.claims.isEmpty)
                left.append(try transaction.integer("SELECT count(*) FROM QueuedOperation", []) ?? -1)
            }
        }
        #expect(left.last == 0)
        // A claim reads a few candidates at once.
        for (before, after) in zip(left, left.dropFirst()) {
            #expect(before - after <= Int64(OperationRepository.expiryPortion) + 10, "\(left)")
        }
        try await stack.close()
    }

    @Test("An operation whose time was over before a pipeline opened, or before its retry, never starts")
    func lateClaims() async throws {
        let stack = try await ContextStack.open(.inMemory, models: Pipeline.models, stack: .rootOnly)
        let clock = VirtualClock()
        let past = clock.now.addingTimeInterval(-1)
        let (first, reasons) = try await stack.background { context in
            let operation = context.enqueue(
                Named(name: "A"),
                in: .work,
                options: OperationOptions(expires: .at(.distantPast))
            )
            let other = context.enqueue(
                Named(name: "B"),
                in: .work,
                options: OperationOptions(expires: .at(past))
            )
            try other.addDependencies([operation], onFailure: .fail)
            try context.commit()
            return ([operation.id, other.id], try operation.waitReasons())
        }
        #expect(reasons == [.expired(at: .distantPast), .notOpen])
        let pipeline = try await Pipeline.open(stack, named: .work, options: PipelineOptions(clock: clock)) {
            (_: Attempt<Named>) in .done
        }
        let log = EventRecorder(pipeline)
        await pipeline.waitUntilProcessed()
        let (dependant, ended) = (first[1], first[0])
        let result = try await stack.background { try $0.finishedOperation(ended)?.result }
        #expect(result == .expired)
        // The dependant has expired too, or has failed with the first one. A failed one that is retried expires.
        try await stack.background { context in
            try context.find(dependant)?.retry()
            try context.commit()
        }
        await pipeline.waitUntilProcessed()
        let last = try await stack.background { try $0.finishedOperation(dependant)?.result }
        #expect(last == .expired)
        #expect(log.started == [])
        await pipeline.close()
        try await stack.close()
    }

    @Test("Options can be replaced and removed, and an operation that is never queued leaves none")
    func edits() async throws {
        let harness = try await PipelineHarness.open()
        try await harness.commit(["A", "B"])
        for name in ["A", "B"] { try await harness.edit(name) { try $0.setOptions(Self.minute) } }
        try await harness.edit("A") { try $0.setOptions(OperationOptions()) }
        try await harness.edit("B") { try $0.setOptions(OperationOptions(expires: .after(.seconds(90)))) }
        harness.clock.advance(by: .seconds(60))
        await harness.pipeline.waitUntilProcessed()
        #expect(try await harness.row("A") != nil)
        #expect(try await harness.row("B") != nil)
        harness.clock.advance(by: .seconds(30))
        await harness.pipeline.waitUntilProcessed()
        #expect(try await harness.row("A") != nil)
        #expect(try await harness.result("B") == .expired)
        try await harness.stack.background { context in
            context.enqueue(Named(name: "C"), in: .work, options: Self.minute).skip()
            let deleted = context.enqueue(Named(name: "D"), in: .work, options: Self.minute)
            context.delete(deleted)
            try context.commit()
        }
        #expect(try await Self.settingsCount(harness.stack) == 0)
        try await harness.close()
    }

    @Test("A payload that replaces another one does not have its expiry, and keeps the other options")
    func replacement() async throws {
        let harness = try await PipelineHarness.open()
        let options = OperationOptions(expires: .after(.seconds(60)), timeout: .seconds(30))
        let ids = try await harness.stack.background { context in
            let ids = ["kept", "replaced"].map { key in
                context.enqueue(Named(name: "A"), in: .work, key: key, options: options).id
            }
            try context.commit()
            try context.enqueue(Named(name: "B"), in: .work, key: "kept", onDuplicate: .keep)
            let replaced = try context.enqueue(Named(name: "B"), in: .work, key: "replaced", onDuplicate: .replace)
            #expect(try replaced.expiresAt() == nil)
            try context.commit()
            return ids
        }
        await harness.pipeline.waitUntilProcessed()
        harness.clock.advance(by: .seconds(60))
        await harness.pipeline.waitUntilProcessed()
        let (kept, replaced, timeouts) = try await harness.stack.background { context in
            (
                try context.finishedOperation(ids[0])?.result,
                try context.find(ids[1])?.payload(as: Named.self).name,
                try context.fetch(OperationSettings.all).map { $0.attempts?.timeout }
            )
        }
        #expect(kept == .expired)
        #expect(replaced == "B")
        #expect(timeouts == [.seconds(30)])
        try await harness.close()
    }

    @Test("A context can set options after a rollback, and after it has removed them")
    func again() async throws {
        let harness = try await PipelineHarness.open()
        try await harness.commit(["A"])
        let id = harness.id("A")
        let dates = try await harness.stack.background { context in
            let operation = try #require(try context.find(id))
            try operation.setOptions(Self.minute)
            context.rollback()
            var dates = [try operation.expiresAt()]
            try operation.setOptions(Self.minute)
            try context.commit()
            try operation.setOptions(OperationOptions())
            dates.append(try operation.expiresAt())
            try operation.setOptions(OperationOptions(expires: .at(.distantFuture)))
            try context.commit()
            dates.append(try operation.expiresAt())
            return dates
        }
        #expect(dates == [nil, nil, .distantFuture])
        #expect(try await Self.settingsCount(harness.stack) == 1)
        harness.clock.advance(by: .seconds(60))
        await harness.pipeline.waitUntilProcessed()
        #expect(try await harness.row("A") != nil)
        try await harness.close()
    }

    @Test("Tasks of a broker's queues expire too")
    func broker() async throws {
        let stack = try await ContextStack.open(.inMemory, models: Pipeline.models, stack: .rootOnly)
        let clock = VirtualClock()
        let broker = try await TaskBroker.open(
            stack,
            named: "chat",
            handles: { $0.hasPrefix("chat.") },
            options: PipelineOptions(isSuspended: true, clock: clock)
        ) { handlers in
            handlers.on(Named.self) { _, _ in .done }
        }
        let log = EventRecorder(broker)
        let id = try await stack.background { context in
            let operation = context.enqueue(Named(name: "A"), in: "chat.bob", options: Self.minute)
            try context.commit()
            return operation.id
        }
        await broker.waitUntilProcessed()
        clock.advance(by: .seconds(60))
        await broker.waitUntilProcessed()
        #expect(log.events.map(\.description) == ["\(id) is expired"])
        await broker.close()
        try await stack.close()
    }
}
