import Foundation
import Strata
import StrataPipeline
import StrataTesting
import Testing

@Suite("Dependency cycles", .timeLimit(.minutes(1))) struct DependencyCycleTests {
    @Test("An operation cannot depend on itself")
    func itself() async throws {
        let harness = try await PipelineHarness.open()
        try await harness.stack.background { context in
            let operation = context.enqueue(Named(name: "A"), in: .work)
            let error = try #require(throws: PipelineError.self) { try operation.addDependencies([operation]) }
            #expect(error.code == .dependencyCycle && error.operations == [operation.id.rawValue])
            try context.commit()
        }
        try await harness.close()
    }

    @Test("A dependency that closes a cycle throws in its commit, and the transaction can continue")
    func two() async throws {
        let harness = try await PipelineHarness.open()
        try await harness.stack.background { context in
            let (a, b) = (context.enqueue(Named(name: "A"), in: .work), context.enqueue(Named(name: "B"), in: .work))
            try a.addDependencies([b])
            let error = try #require(throws: PipelineError.self) { try b.addDependencies([a]) }
            #expect(Set(error.operations) == [a.id.rawValue, b.id.rawValue])
            try context.commit()
            #expect(try a.dependencies() == [b.id])
        }
        harness.pipeline.resume()
        await harness.pipeline.waitUntilProcessed()
        #expect(harness.log.started.count == 1)
        try await harness.close()
    }

    @Test("An operation that is queued later cannot close a cycle with an earlier dependency on it")
    func future() async throws {
        let harness = try await PipelineHarness.open()
        try await harness.commit(["A←B"])
        await #expect(throws: PipelineError.self) { try await harness.commit(["B←A"]) }
        try await harness.close()
    }

    @Test("A change of a queued operation cannot close a cycle")
    func modified() async throws {
        let harness = try await PipelineHarness.open()
        try await harness.commit(["A", "B←A"])
        let b = harness.id("B")
        await #expect(throws: PipelineError.self) { try await harness.edit("A") { try $0.addDependencies([b]) } }
        try await harness.play([.resume("A"), .done("A", "B"), .done("B")])
        try await harness.close()
    }

    @Test("If two contexts close a cycle together, the later commit throws and changes nothing")
    func concurrent() async throws {
        let harness = try await PipelineHarness.open()
        try await harness.commit(["A", "B"])
        let (a, b) = (harness.id("A"), harness.id("B"))
        let other = try harness.stack.create(.private, named: "other")
        try await harness.stack.on(other) { try $0.find(a)?.addDependencies([b]) }
        try await harness.edit("B") { try $0.addDependencies([a]) }
        let error = try await #require(throws: PipelineError.self) { try await other.commit() }
        #expect(error.code == .dependencyCycle)
        try await harness.stack.background { context in
            let dependants = try context.fetch(OperationDependency.all).map(\.dependant)
            #expect(dependants == [b.rawValue])
        }
        try await harness.play([.resume("A"), .done("A", "B"), .done("B")])
        try await harness.close()
    }

    @Test("The cycle check of two thousand operations in layers is not exponential")
    func layered() async throws {
        let harness = try await PipelineHarness.open()
        try await harness.stack.background { context in
            var before: [QueuedOperation] = []
            for layer in 0..<200 {
                let operations = (0..<10).map { context.enqueue(Named(name: "\(layer) \($0)"), in: .work) }
                if !before.isEmpty {
                    for (place, operation) in operations.enumerated() {
                        try operation.addDependencies([before[place], before[(place + 1) % 10]])
                    }
                }
                before = operations
            }
            let (first, last) = (try #require(try context.first(QueuedOperation.all)), before[0])
            let error = try #require(throws: PipelineError.self) { try first.addDependencies([last]) }
            #expect(error.operations.count == 200)
            try context.commit()
        }
        try await harness.close()
    }

    @Test(
        "A commit that closes a cycle through the order of a lane is refused",
        arguments: [
            // The commits, and the operations of the second lane. The last commit closes the cycle.
            (PipelineOrdering.commits, [["A←B"], ["B"]], ""), (.commits, [["A", "X←B"], ["M"], ["B"]], ""),
            (.fifo, [["A←B"], ["B"]], ""), (.fifo, [["A←B", "B"]], ""),
            (.fifo, [["A", "B"], ["C", "D←E"], ["E"]], ""),
            // Through two lanes: A and C in one, B and D in the other.
            (.fifo, [["A←D"], ["B←C"], ["C"], ["D"]], "BD"), (.lifo, [["A", "B←A"]], ""),
        ]
    )
    func order(_ ordering: PipelineOrdering, _ commits: [[String]], _ other: String) async throws {
        let harness = try await PipelineHarness.open(ordering: ordering)
        let lane: @Sendable (String) -> String = { other.contains($0) ? "other" : "" }
        for commit in commits.dropLast() {
            try await harness.commit(commit.map { Entry(stringLiteral: $0) }, lane: lane)
        }
        let last = commits.last!
        let error = try await #require(throws: PipelineError.self) {
            try await harness.commit(last.map { Entry(stringLiteral: $0) }, lane: lane)
        }
        #expect(error.code == .dependencyCycle)
        try await harness.close()
    }

    @Test("Dependencies on earlier operations of a lane and on other lanes are allowed, and all operations run")
    func noRing() async throws {
        let harness = try await PipelineHarness.open(ordering: .fifo)
        let lane: @Sendable (String) -> String = { "BD".contains($0) ? "other" : "" }
        try await harness.commit(["A", "B←A", "C←B", "D←C"], lane: lane)
        try await harness.play([.resume("A"), .done("A", "B"), .done("B", "C"), .done("C", "D"), .done("D")])
        try await harness.close()
        // All operations of a commit run concurrently.
        let commits = try await PipelineHarness.open(ordering: .commits)
        try await commits.commit(["A←B", "B"])
        try await commits.commit(["C←A"])
        try await commits.play([.resume("B"), .done("B", "A"), .done("A", "C"), .done("C")])
        try await commits.close()
    }

    @Test("If a new ordering closes a cycle among queued operations, one of them fails and the others run")
    func reopened() async throws {
        let stack = try await ContextStack.open(.inMemory, models: Pipeline.models, stack: .rootOnly)
        try await stack.background { context in
            let first = context.enqueue(Named(name: "A"), in: .work)
            let second = context.enqueue(Named(name: "B"), in: .work)
            context.enqueue(Named(name: "C"), in: .work)
            try first.addDependencies([second])
            try context.commit()
        }
        let pipeline = try await Pipeline.open(
            stack,
            named: .work,
            options: PipelineOptions(ordering: .fifo, onFailure: .setAside)
        ) { (_: Attempt<Named>) in .done }
        try await pipeline.waitUntilIdle()
        let failed = try await stack.background { try $0.rows(QueuedOperation.all) }
        #expect(failed.map(\.status) == [.failed])
        #expect(failed.first?.failures.list.first?.message.contains("wait for each other") == true)
        #expect(try await stack.background { try $0.count(FinishedOperation.all) } == 2)
        try await stack.close()
    }

    @Test("Cycles closed by a move to an ordered pipeline are each broken in one place")
    func moved() async throws {
        let stack = try await ContextStack.open(.inMemory, models: Pipeline.models, stack: .rootOnly)
        try await stack.background { context in
            // S waits for A. A and B form a cycle, and so do C and D.
            let all = zip("SABCD", ["x", "y", "y", "z", "z"]).map { name, lane in
                context.enqueue(Named(name: "\(name)"), in: "former", lane: lane)
            }
            try all[0].addDependencies([all[1]])
            try all[1].addDependencies([all[2]])
            try all[3].addDependencies([all[4]])
            try context.commit()
        }
        let first = try await Pipeline.open(
            stack,
            named: .work,
            options: PipelineOptions(ordering: .fifo, onFailure: .setAside)
        ) { (_: Attempt<Named>) in .done }
        await first.close()
        let pipeline = try await Pipeline.open(
            stack,
            named: .work,
            previousNames: ["former"],
            options: PipelineOptions(ordering: .fifo, onFailure: .setAside)
        ) { (_: Attempt<Named>) in .done }
        try await pipeline.waitUntilIdle()
        let left = try await stack.background { context in
            try context.fetch(QueuedOperation.all).map { (try $0.payload(as: Named.self).name, $0.status) }
        }
        let failed = left.filter { $0.1 == .failed }.map(\.0).sorted()
        #expect(failed == ["A", "C"] && left.count == 3, "\(left)")
        // An operation that waits for a failed one keeps waiting. Retried operations finish.
        try await stack.background { context in
            try context.retryFailed(in: .work)
            try context.commit()
        }
        try await pipeline.waitUntilIdle()
        #expect(try await stack.background { try $0.count(FinishedOperation.all) } == 5)
        try await stack.close()
    }

    @Test("A sort key that would close a cycle is refused")
    func sorted() async throws {
        let harness = try await PipelineHarness.open(ordering: .fifo)
        try await harness.commit(["B"])
        try await harness.commit(["A←B"])
        let error = try await #require(throws: PipelineError.self) { try await harness.edit("B") { $0.sortKey = 10 } }
        #expect(error.code == .dependencyCycle)
        try await harness.edit("B") { $0.sortKey = -10 }
        try await harness.play([.resume("B"), .done("B", "A"), .done("A")])
        try await harness.close()
    }

    /// Makes an operation depend on another one, past all checks that would refuse it.
    private func tie(_ dependant: String, to prerequisite: String, _ ids: [String: Int64], in stack: ContextStack)
        throws
    {
        try stack.transact(author: "test") { transaction in
            let changed = try transaction.run(
                "UPDATE \"OperationDependency\" SET \"dependant\" = ?, \"prerequisite\" = ? WHERE \"dependant\" = ?",
                [ids[dependant]!, ids[prerequisite]!, ids["spare"]!].map { .integer($0) }
            )
            #expect(changed == 1)
        }
    }

    @Test(
        "One operation of a stored cycle fails until the cycle is removed, and independent operations run",
        arguments: [PipelineOrdering.flat, .fifo],
        [0, 1000]
    )
    func found(_ ordering: PipelineOrdering, _ before: Int) async throws {
        let stack = try await ContextStack.open(.inMemory, models: Pipeline.models, stack: .rootOnly)
        let clock = VirtualClock()
        func open() async throws -> Pipeline {
            try await Pipeline.open(
                stack,
                named: .work,
                options: PipelineOptions(ordering: ordering, onFailure: .setAside, clock: clock)
            ) { (_: Attempt<Named>) in .done }
        }
        /// Lets this number of heartbeats pass.
        func heartbeat(_ pipeline: Pipeline, _ count: Int) async throws {
            for _ in 0..<count {
                clock.advance(by: .seconds(10))
                try await pipeline.waitUntilIdle()
            }
        }
        func failed() async throws -> [QueuedOperation.Row] {
            try await stack.background { try $0.rows(QueuedOperation.where { $0.status == .failed }) }
        }
        await (try await open()).close()
        // S waits for A, which forms a cycle with B and C. Other operations, which the engine examines first, wait in a
        // chain for a held one.
        let ids = try await stack.background { context in
            var last: QueuedOperation?
            for number in 0..<before {
                let next = context.enqueue(Named(name: "\(number)"), in: .work, lane: "\(number)")
                if let last { try next.addDependencies([last]) } else { try next.hold("test", until: .distantFuture) }
                last = next
            }
            let names = ["S", "A", "B", "C", "spare", "free"]
            let all = names.map { context.enqueue(Named(name: $0), in: .work, lane: $0) }
            try all[0].addDependencies([all[1]])
            try all[1].addDependencies([all[2]])
            try all[2].addDependencies([all[3]])
            try all[4].addDependencies([all[0]])
            try context.commit()
            return Dictionary(uniqueKeysWithValues: zip(names, all.map(\.id.rawValue)))
        }
        try tie("C", to: "A", ids, in: stack)

        let pipeline = try await open()
        let heartbeats = before / 200 + 1
        try await heartbeat(pipeline, heartbeats)
        let first = try await failed()
        #expect(first.count == 1 && ["A", "B", "C"].contains { ids[$0] == first[0].id.rawValue })
        #expect(first.first?.failures.list.first?.message.contains("wait for each other") == true)
        // The spare operation and the free one.
        #expect(try await stack.background { try $0.count(FinishedOperation.all) } == 2)
        await pipeline.close()

        // A failed operation holds back only the operations that wait for it, so nothing more fails at the next
        // opening.
        let again = try await open()
        try await heartbeat(again, 2 * heartbeats)
        #expect(try await failed().map(\.id) == first.map(\.id))
        // Retrying closes the cycle again.
        try await stack.background { context in
            try context.retryFailed(in: .work)
            try context.commit()
        }
        try await heartbeat(again, 2 * heartbeats)
        #expect(try await failed().count == 1)

        let (c, a) = (stack.id(ids["C"]!, of: QueuedOperation.self), stack.id(ids["A"]!, of: QueuedOperation.self))
        try await stack.background { context in
            try context.find(c)!.removeDependencies([a])
            try context.retryFailed(in: .work)
            try context.commit()
        }
        try await heartbeat(again, 2 * heartbeats)
        #expect(try await stack.background { try $0.count(QueuedOperation.all) } == before)
        try await stack.close()
    }

    @Test("The error names the first operations of a long cycle and the total number of operations")
    func longRing() async throws {
        let stack = try await ContextStack.open(.inMemory, models: Pipeline.models, stack: .rootOnly)
        try await stack.background { context in
            let operations = (0..<30).map { context.enqueue(Named(name: "\($0)"), in: .work) }
            for (operation, next) in zip(operations, operations.dropFirst()) { try operation.addDependencies([next]) }
            let error = #expect(throws: PipelineError.self) { try operations[29].addDependencies([operations[0]]) }
            #expect(error?.operations.count == 30)
            #expect(error?.message.split(separator: " waits for ").count == 11)
            #expect(error?.message.contains("through 30 operations") == true)
            context.rollback()
        }
        try await stack.close()
    }
}
