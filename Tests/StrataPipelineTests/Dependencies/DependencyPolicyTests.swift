import Strata
import StrataPipeline
import StrataTesting
import Testing

@Suite("Policies for operations whose prerequisite has failed", .timeLimit(.minutes(1)))
struct DependencyPolicyTests {
    /// A harness in which `A` has failed and `B` depends on `A`.
    private static func failed(_ policy: DependencyPolicy, onFailure: FailurePolicy = .setAside) async throws
        -> PipelineHarness
    {
        let harness = try await PipelineHarness.open(onFailure: onFailure)
        try await harness.commit(["A", "B←A"])
        try await change(harness, "B", "A", policy)
        try await harness.play([.resume("A")])
        try await harness.end("A", .success(.fail("no")))
        await harness.pipeline.waitUntilProcessed()
        return harness
    }

    private static func change(
        _ harness: PipelineHarness,
        _ dependant: String,
        _ other: String,
        _ policy: DependencyPolicy
    )
        async throws
    {
        let prerequisite = harness.id(other)
        try await harness.edit(dependant) { try $0.addDependencies([prerequisite], onFailure: policy) }
    }

    @Test("With .wait, an operation starts only after the failed prerequisite is skipped")
    func waits() async throws {
        let harness = try await Self.failed(.wait)
        #expect(harness.takeStarts() == [])
        #expect(try await harness.row("B")?.status == .waiting)
        try await harness.play([.skip("A", "B")])
        try await harness.close()
    }

    @Test("With .run, an operation runs although its prerequisite has failed", arguments: FailurePolicy.allCases)
    func runs(_ onFailure: FailurePolicy) async throws {
        let harness = try await Self.failed(.run, onFailure: onFailure)
        #expect(harness.takeStarts() == ["B"])
        try await harness.play([.done("B")])
        #expect(try await harness.result("B") == .completed)
        try await harness.close()
    }

    @Test("With .fail, an operation fails as well and names the failed prerequisite", arguments: FailurePolicy.allCases)
    func fails(_ onFailure: FailurePolicy) async throws {
        let harness = try await Self.failed(.fail, onFailure: onFailure)
        #expect(harness.takeStarts() == [])
        if onFailure == .discard {
            #expect(try await harness.result("A") == .discarded)
            #expect(try await harness.result("B") == .discarded)
        } else {
            let row = try #require(try await harness.row("B"))
            #expect(row.status == .failed && row.attempts == 0)
            #expect(
                row.failures.list.map(\.message) == [
                    "Operation \(harness.id("A").rawValue) has failed, and this operation depends on it."
                ]
            )
        }
        #expect(harness.log.events.count { $0.isEnd(of: harness.id("B")) } == 1)
        try await harness.close()
    }

    @Test(
        "A chain of a thousand operations fails with its head; dependants with other policies do not fail",
        arguments: [FailurePolicy.setAside, .discard]
    )
    func chain(_ onFailure: FailurePolicy) async throws {
        let harness = try await PipelineHarness.open(onFailure: onFailure)
        let names = (0..<1000).map { "n\($0)" }
        try await harness.commit(names.map { Entry(stringLiteral: $0) } + ["waits", "runs"])
        let ids = names.map { harness.id($0) }
        let (waits, runs) = (harness.id("waits"), harness.id("runs"))
        try await harness.stack.background { context in
            for (id, next) in zip(ids, ids.dropFirst()) {
                try context.find(next)?.addDependencies([id], onFailure: .fail)
            }
            try context.find(waits)?.addDependencies([ids[999]])
            try context.find(runs)?.addDependencies([ids[999]], onFailure: .run)
            try context.commit()
        }
        try await harness.play([.resume("n0")])
        try await harness.end("n0", .success(.fail("no")))
        await harness.pipeline.waitUntilProcessed()
        if onFailure == .discard {
            #expect(Set(harness.takeStarts()) == ["waits", "runs"])
            #expect(
                try await harness.stack.background { try $0.count(FinishedOperation.where { $0.result == .discarded }) }
                    == 1000
            )
        } else {
            #expect(harness.takeStarts() == ["runs"])
            #expect(
                try await harness.stack.background { try $0.count(QueuedOperation.where { $0.status == .failed }) }
                    == 1000
            )
            #expect(try await harness.row("waits")?.status == .waiting)
        }
        try await harness.close()
    }

    @Test("A dependency on an already failed operation follows its policy at once")
    func late() async throws {
        let harness = try await Self.failed(.wait)
        try await harness.commit(["C←A", "D←A", "E←A"])
        #expect(harness.takeStarts() == [])
        try await Self.change(harness, "C", "A", .run)
        try await Self.change(harness, "D", "A", .fail)
        #expect(harness.takeStarts() == ["C"])
        #expect(try await harness.row("D")?.status == .failed)
        #expect(try await harness.row("E")?.status == .waiting)
        // A retried operation checks its prerequisites again; `A` has not been retried yet.
        try await harness.edit("D") { $0.retry() }
        #expect(try await harness.row("D")?.status == .failed)
        try await harness.edit("A") { $0.retry() }
        try await harness.edit("D") { $0.retry() }
        #expect(harness.takeStarts() == ["A"])
        #expect(try await harness.row("D")?.status == .waiting)
        try await harness.end("A")
        await harness.pipeline.waitUntilProcessed()
        #expect(Set(harness.takeStarts()) == ["B", "D", "E"])
        try await harness.close()
    }

    @Test("Adding a dependency twice keeps one dependency, with the policy named last")
    func twice() async throws {
        let harness = try await PipelineHarness.open()
        let count = try await harness.stack.background { context in
            let first = context.enqueue(Named(name: "A"), in: .work)
            let second = context.enqueue(Named(name: "B"), in: .work)
            try second.addDependencies([first, first])
            try second.addDependencies([first], onFailure: .run)
            try context.commit()
            let all = try context.fetch(OperationDependency.all)
            return all.map(\.whenFailed)
        }
        #expect(count == [.run])
        try await harness.close()
    }

    @Test("An operation that a late failure releases starts at once, even if its pipeline has already run its pass")
    func letGoLate() async throws {
        let harness = try await PipelineHarness.open()
        let other = try await Pipeline.open(
            harness.stack,
            named: "other",
            options: PipelineOptions(isSuspended: true, clock: harness.clock)
        ) { (_: Attempt<Named>) in .done }
        try await harness.commit(["Y"])
        try await harness.play([.resume("Y")])
        try await harness.end("Y", .success(.fail("no")))
        let failed = harness.id("Y")
        other.resume()
        let runs = try await harness.stack.background { context in
            let fails = context.enqueue(Named(name: "X"), in: "other")
            try fails.addDependencies([failed], onFailure: .fail)
            let runs = context.enqueue(Named(name: "Z"), in: .work)
            try runs.addDependencies([fails], onFailure: .run)
            try context.commit()
            return runs.id
        }
        await harness.pipeline.waitUntilProcessed()
        #expect(harness.log.started.last == runs)
        try await harness.close()
    }

    @Test(
        "Dependants examined in the same pass as the operation that fails are not overlooked",
        arguments: [FailurePolicy.setAside, .discard]
    )
    func together(_ onFailure: FailurePolicy) async throws {
        let harness = try await PipelineHarness.open(onFailure: .setAside)
        let other = try await Pipeline.open(
            harness.stack,
            named: "other",
            options: PipelineOptions(onFailure: onFailure, isSuspended: true, clock: harness.clock)
        ) { (_: Attempt<Named>) in .done }
        let log = EventRecorder(other)
        try await harness.commit(["F"])
        try await harness.play([.resume("F")])
        try await harness.end("F", .success(.fail("no")))
        let failed = harness.id("F")
        let late = harness.clock.now.addingTimeInterval(100)
        let (runs, held) = try await harness.stack.background { context in
            let fails = context.enqueue(Named(name: "A"), in: "other")
            try fails.addDependencies([failed], onFailure: .fail)
            let runs = context.enqueue(Named(name: "B"), in: "other")
            try runs.addDependencies([fails], onFailure: onFailure == .discard ? .wait : .run)
            let held = context.enqueue(Named(name: "C"), in: "other", notBefore: late)
            try held.addDependencies([fails], onFailure: .fail)
            try context.commit()
            return (runs.id, held.id)
        }
        other.resume()
        try await log.waitForEnd(of: runs)
        #expect(log.finished.contains(runs))
        let status = try await harness.stack.background { try $0.find(held)?.status }
        #expect(status == (onFailure == .discard ? nil : .failed))
        #expect(log.events.count { $0.isEnd(of: held) } == 1)
        try await harness.close()
    }
}
