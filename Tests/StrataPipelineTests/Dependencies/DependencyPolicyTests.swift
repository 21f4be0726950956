import Strata
import StrataPipeline
import StrataTesting
import Testing

@Suite("Policies for operations whose prerequisite has failed", .timeLimit(.minutes(1)))
struct DependencyPolicyTests {
    /// A stage in which `A` has failed and `B` depends on `A`.
    private static func failed(_ policy: DependencyPolicy, whenFailed: FailurePolicy = .park) async throws -> Stage {
        let stage = try await Stage.open(whenFailed: whenFailed)
        try await stage.commit(["A", "B←A"])
        try await change(stage, "B", "A", policy)
        try await stage.play([.resume("A")])
        try await stage.end("A", .success(.fail("no")))
        await stage.pipeline.settled()
        return stage
    }

    private static func change(_ stage: Stage, _ dependant: String, _ other: String, _ policy: DependencyPolicy)
        async throws
    {
        let prerequisite = stage.id(other)
        try await stage.edit(dependant) { try $0.addDependencies([prerequisite], whenFailed: policy) }
    }

    @Test("With .wait, an operation starts only after the failed prerequisite is skipped")
    func waits() async throws {
        let stage = try await Self.failed(.wait)
        #expect(stage.takeStarts() == [])
        #expect(try await stage.row("B")?.status == .waiting)
        try await stage.play([.skip("A", "B")])
        try await stage.close()
    }

    @Test("With .run, an operation runs although its prerequisite has failed", arguments: FailurePolicy.allCases)
    func runs(_ whenFailed: FailurePolicy) async throws {
        let stage = try await Self.failed(.run, whenFailed: whenFailed)
        #expect(stage.takeStarts() == ["B"])
        try await stage.play([.done("B")])
        #expect(try await stage.result("B") == .completed)
        try await stage.close()
    }

    @Test("With .fail, an operation fails as well and names the failed prerequisite", arguments: FailurePolicy.allCases)
    func fails(_ whenFailed: FailurePolicy) async throws {
        let stage = try await Self.failed(.fail, whenFailed: whenFailed)
        #expect(stage.takeStarts() == [])
        if whenFailed == .drop {
            #expect(try await stage.result("A") == .dropped)
            #expect(try await stage.result("B") == .dropped)
        } else {
            let row = try #require(try await stage.row("B"))
            #expect(row.status == .failed && row.attempts == 0)
            #expect(
                row.failures.list.map(\.message) == [
                    "Operation \(stage.id("A").number), which it depends on, has failed."
                ]
            )
        }
        #expect(stage.log.events.count { $0.isEnd(of: stage.id("B")) } == 1)
        try await stage.close()
    }

    @Test(
        "A chain of a thousand operations fails with its head; dependants with other policies do not fail",
        arguments: [FailurePolicy.park, .drop]
    )
    func chain(_ whenFailed: FailurePolicy) async throws {
        let stage = try await Stage.open(whenFailed: whenFailed)
        let names = (0..<1000).map { "n\($0)" }
        try await stage.commit(names.map { Entry(stringLiteral: $0) } + ["waits", "runs"])
        let ids = names.map { stage.id($0) }
        let (waits, runs) = (stage.id("waits"), stage.id("runs"))
        try await stage.stack.background { context in
            for (id, next) in zip(ids, ids.dropFirst()) {
                try context.find(next)?.addDependencies([id], whenFailed: .fail)
            }
            try context.find(waits)?.addDependencies([ids[999]])
            try context.find(runs)?.addDependencies([ids[999]], whenFailed: .run)
            try context.commit()
        }
        try await stage.play([.resume("n0")])
        try await stage.end("n0", .success(.fail("no")))
        await stage.pipeline.settled()
        if whenFailed == .drop {
            #expect(Set(stage.takeStarts()) == ["waits", "runs"])
            #expect(
                try await stage.stack.background { try $0.count(FinishedOperation.where { $0.result == .dropped }) }
                    == 1000
            )
        } else {
            #expect(stage.takeStarts() == ["runs"])
            #expect(
                try await stage.stack.background { try $0.count(QueuedOperation.where { $0.status == .failed }) }
                    == 1000
            )
            #expect(try await stage.row("waits")?.status == .waiting)
        }
        try await stage.close()
    }

    @Test("A dependency on an already failed operation follows its policy at once")
    func late() async throws {
        let stage = try await Self.failed(.wait)
        try await stage.commit(["C←A", "D←A", "E←A"])
        #expect(stage.takeStarts() == [])
        try await Self.change(stage, "C", "A", .run)
        try await Self.change(stage, "D", "A", .fail)
        #expect(stage.takeStarts() == ["C"])
        #expect(try await stage.row("D")?.status == .failed)
        #expect(try await stage.row("E")?.status == .waiting)
        // A retried operation checks its prerequisites again; `A` has not been retried yet.
        try await stage.edit("D") { $0.retry() }
        #expect(try await stage.row("D")?.status == .failed)
        try await stage.edit("A") { $0.retry() }
        try await stage.edit("D") { $0.retry() }
        #expect(stage.takeStarts() == ["A"])
        #expect(try await stage.row("D")?.status == .waiting)
        try await stage.end("A")
        await stage.pipeline.settled()
        #expect(Set(stage.takeStarts()) == ["B", "D", "E"])
        try await stage.close()
    }

    @Test("Adding a dependency twice keeps one dependency, with the policy named last")
    func twice() async throws {
        let stage = try await Stage.open()
        let count = try await stage.stack.background { context in
            let first = context.enqueue(Named(name: "A"), in: .work)
            let second = context.enqueue(Named(name: "B"), in: .work)
            try second.addDependencies([first, first])
            try second.addDependencies([first], whenFailed: .run)
            try context.commit()
            let all = try context.fetch(OperationDependency.all)
            return all.map(\.whenFailed)
        }
        #expect(count == [.run])
        try await stage.close()
    }

    @Test("An operation that a late failure releases starts at once, even if its pipeline has already run its pass")
    func letGoLate() async throws {
        let stage = try await Stage.open()
        let other = try await Pipeline.open(stage.stack, named: "other", isSuspended: true, clock: stage.clock) {
            (_: Attempt<Named>) in .done
        }
        try await stage.commit(["Y"])
        try await stage.play([.resume("Y")])
        try await stage.end("Y", .success(.fail("no")))
        let failed = stage.id("Y")
        other.resume()
        let runs = try await stage.stack.background { context in
            let fails = context.enqueue(Named(name: "X"), in: "other")
            try fails.addDependencies([failed], whenFailed: .fail)
            let runs = context.enqueue(Named(name: "Z"), in: .work)
            try runs.addDependencies([fails], whenFailed: .run)
            try context.commit()
            return runs.id
        }
        await stage.pipeline.settled()
        #expect(stage.log.started.last == runs)
        try await stage.close()
    }

    @Test(
        "Dependants examined in the same pass as the operation that fails are not overlooked",
        arguments: [FailurePolicy.park, .drop]
    )
    func together(_ whenFailed: FailurePolicy) async throws {
        let stage = try await Stage.open(whenFailed: .park)
        let other = try await Pipeline.open(
            stage.stack,
            named: "other",
            whenFailed: whenFailed,
            isSuspended: true,
            clock: stage.clock
        ) {
            (_: Attempt<Named>) in .done
        }
        let log = EventLog(other)
        try await stage.commit(["F"])
        try await stage.play([.resume("F")])
        try await stage.end("F", .success(.fail("no")))
        let failed = stage.id("F")
        let late = stage.clock.now.addingTimeInterval(100)
        let (runs, held) = try await stage.stack.background { context in
            let fails = context.enqueue(Named(name: "A"), in: "other")
            try fails.addDependencies([failed], whenFailed: .fail)
            let runs = context.enqueue(Named(name: "B"), in: "other")
            try runs.addDependencies([fails], whenFailed: whenFailed == .drop ? .wait : .run)
            let held = context.enqueue(Named(name: "C"), in: "other", notBefore: late)
            try held.addDependencies([fails], whenFailed: .fail)
            try context.commit()
            return (runs.id, held.id)
        }
        other.resume()
        try await log.waitForEnd(of: runs)
        #expect(log.finished.contains(runs))
        let status = try await stage.stack.background { try $0.find(held)?.status }
        #expect(status == (whenFailed == .drop ? nil : .failed))
        #expect(log.events.count { $0.isEnd(of: held) } == 1)
        try await stage.close()
    }
}
