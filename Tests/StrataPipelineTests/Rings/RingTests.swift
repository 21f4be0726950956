import Foundation
import Strata
import StrataPipeline
import StrataTesting
import Testing

@Suite("P3 operations never wait for each other", .timeLimit(.minutes(1))) struct RingTests {
    @Test("Y1 an operation cannot depend on itself")
    func itself() async throws {
        let stage = try await Stage.open()
        try await stage.stack.background { context in
            let operation = context.enqueue(Named(name: "A"), in: .work)
            let error = try #require(throws: PipelineError.self) { try operation.addDependencies([operation]) }
            #expect(error.code == .dependencyCycle && error.operations == [operation.id.number])
            try context.commit()
        }
        try await stage.close()
    }

    @Test("Y2 in one commit the second dependency throws, and the transaction can go on")
    func two() async throws {
        let stage = try await Stage.open()
        try await stage.stack.background { context in
            let (a, b) = (context.enqueue(Named(name: "A"), in: .work), context.enqueue(Named(name: "B"), in: .work))
            try a.addDependencies([b])
            let error = try #require(throws: PipelineError.self) { try b.addDependencies([a]) }
            #expect(Set(error.operations) == [a.id.number, b.id.number])
            try context.commit()
            #expect(try a.dependencies() == [b.id])
        }
        stage.pipeline.resume()
        await stage.pipeline.settled()
        #expect(stage.log.started.count == 1)
        try await stage.close()
    }

    @Test("Y3 a dependency on what is queued later closes a ring when that depends on it")
    func future() async throws {
        let stage = try await Stage.open()
        try await stage.commit(["A←B"])
        await #expect(throws: PipelineError.self) { try await stage.commit(["B←A"]) }
        try await stage.close()
    }

    @Test("Y4 the same by a change of an operation that is queued")
    func modified() async throws {
        let stage = try await Stage.open()
        try await stage.commit(["A", "B←A"])
        let b = stage.id("B")
        await #expect(throws: PipelineError.self) { try await stage.edit("A") { try $0.addDependencies([b]) } }
        try await stage.play([.resume("A"), .done("A", "B"), .done("B")])
        try await stage.close()
    }

    @Test("two contexts that do not know of each other: the later commit throws, and queues nothing")
    func concurrent() async throws {
        let stage = try await Stage.open()
        try await stage.commit(["A", "B"])
        let (a, b) = (stage.id("A"), stage.id("B"))
        let other = try stage.stack.create(.private, named: "other")
        try await stage.stack.on(other) { try $0.find(a)?.addDependencies([b]) }
        try await stage.edit("B") { try $0.addDependencies([a]) }
        let error = try await #require(throws: PipelineError.self) { try await other.commit() }
        #expect(error.code == .dependencyCycle)
        try await stage.stack.background { context in
            let dependants = try context.fetch(OperationDependency.all).map(\.dependant)
            #expect(dependants == [b.number])
        }
        try await stage.play([.resume("A"), .done("A", "B"), .done("B")])
        try await stage.close()
    }

    @Test("Y6 two thousand operations in layers, each with two dependencies: the check is not exponential")
    func layered() async throws {
        let stage = try await Stage.open()
        try await stage.stack.background { context in
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
        try await stage.close()
    }

    @Test(
        "D14 P3 a ring that is closed by the order of a lane is refused by the commit that closes it",
        arguments: [
            // What is queued, and in which lanes; the last commit closes the ring.
            (PipelineOrdering.commits, [["A←B"], ["B"]], ""), (.commits, [["A", "X←B"], ["M"], ["B"]], ""),
            (.fifo, [["A←B"], ["B"]], ""), (.fifo, [["A←B", "B"]], ""),
            (.fifo, [["A", "B"], ["C", "D←E"], ["E"]], ""),
            // Through two lanes: A and C in one, B and D in the other.
            (.fifo, [["A←D"], ["B←C"], ["C"], ["D"]], "BD"), (.lifo, [["A", "B←A"]], ""),
        ]
    )
    func order(_ ordering: PipelineOrdering, _ commits: [[String]], _ other: String) async throws {
        let stage = try await Stage.open(ordering: ordering)
        let lane: @Sendable (String) -> String = { other.contains($0) ? "other" : "" }
        for commit in commits.dropLast() {
            try await stage.commit(commit.map { Entry(stringLiteral: $0) }, lane: lane)
        }
        let last = commits.last!
        let error = try await #require(throws: PipelineError.self) {
            try await stage.commit(last.map { Entry(stringLiteral: $0) }, lane: lane)
        }
        #expect(error.code == .dependencyCycle)
        try await stage.close()
    }

    @Test("P3 what comes before in a lane may be depended on, as may what is in another one; and all of it runs")
    func noRing() async throws {
        let stage = try await Stage.open(ordering: .fifo)
        let lane: @Sendable (String) -> String = { "BD".contains($0) ? "other" : "" }
        try await stage.commit(["A", "B←A", "C←B", "D←C"], lane: lane)
        try await stage.play([.resume("A"), .done("A", "B"), .done("B", "C"), .done("C", "D"), .done("D")])
        try await stage.close()
        // All of a commit run side by side.
        let commits = try await Stage.open(ordering: .commits)
        try await commits.commit(["A←B", "B"])
        try await commits.commit(["C←A"])
        try await commits.play([.resume("B"), .done("B", "A"), .done("A", "C"), .done("C")])
        try await commits.close()
    }

    @Test("P3 a ring that another order closes over what is queued: one of it fails, and the rest runs")
    func reopened() async throws {
        let stack = try await ContextStack.open(.inMemory, models: Pipeline.models, stack: .rootOnly)
        try await stack.background { context in
            let first = context.enqueue(Named(name: "A"), in: .work)
            let second = context.enqueue(Named(name: "B"), in: .work)
            context.enqueue(Named(name: "C"), in: .work)
            try first.addDependencies([second])
            try context.commit()
        }
        let pipeline = try await Pipeline.open(stack, named: .work, ordering: .fifo, whenFailed: .park) {
            (_: Attempt<Named>) in .done
        }
        try await pipeline.drained()
        let failed = try await stack.background { try $0.rows(QueuedOperation.all) }
        #expect(failed.map(\.status) == [.failed])
        #expect(failed.first?.failures.list.first?.message.contains("wait for each other") == true)
        #expect(try await stack.background { try $0.count(FinishedOperation.all) } == 2)
        try await stack.close()
    }

    @Test("P3 rings that a move to a pipeline with an order closes, several at once, are broken, each in one place")
    func moved() async throws {
        let stack = try await ContextStack.open(.inMemory, models: Pipeline.models, stack: .rootOnly)
        try await stack.background { context in
            // S waits for A, which is in a ring with B; so are C and D.
            let all = zip("SABCD", ["x", "y", "y", "z", "z"]).map { name, lane in
                context.enqueue(Named(name: "\(name)"), in: "former", lane: lane)
            }
            try all[0].addDependencies([all[1]])
            try all[1].addDependencies([all[2]])
            try all[3].addDependencies([all[4]])
            try context.commit()
        }
        let first = try await Pipeline.open(stack, named: .work, ordering: .fifo, whenFailed: .park) {
            (_: Attempt<Named>) in .done
        }
        await first.close()
        let pipeline = try await Pipeline.open(
            stack,
            named: .work,
            formerNames: ["former"],
            ordering: .fifo,
            whenFailed: .park
        ) { (_: Attempt<Named>) in .done }
        try await pipeline.drained()
        let left = try await stack.background { context in
            try context.fetch(QueuedOperation.all).map { (try $0.payload(as: Named.self).name, $0.status) }
        }
        let failed = left.filter { $0.1 == .failed }.map(\.0).sorted()
        #expect(failed == ["A", "C"] && left.count == 3, "\(left)")
        // What waits for one that has failed waits on, and what is retried is done.
        try await stack.background { context in
            try context.retryFailed(in: .work)
            try context.commit()
        }
        try await pipeline.drained()
        #expect(try await stack.background { try $0.count(FinishedOperation.all) } == 5)
        try await stack.close()
    }

    @Test("P3 a place in the lane that would close a ring is refused as well")
    func sorted() async throws {
        let stage = try await Stage.open(ordering: .fifo)
        try await stage.commit(["B"])
        try await stage.commit(["A←B"])
        let error = try await #require(throws: PipelineError.self) { try await stage.edit("B") { $0.sortKey = 10 } }
        #expect(error.code == .dependencyCycle)
        try await stage.edit("B") { $0.sortKey = -10 }
        try await stage.play([.resume("B"), .done("B", "A"), .done("A")])
        try await stage.close()
    }

    /// Makes an operation depend on another one behind the back of everybody who would refuse that.
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
        "P3 a ring that is in the file: one of it fails, whoever opens it, until somebody mends it, and what waits for none of it runs",
        arguments: [PipelineOrdering.flat, .fifo],
        [0, 1000]
    )
    func found(_ ordering: PipelineOrdering, _ before: Int) async throws {
        let stack = try await ContextStack.open(.inMemory, models: Pipeline.models, stack: .rootOnly)
        let clock = VirtualClock()
        func open() async throws -> Pipeline {
            try await Pipeline.open(stack, named: .work, ordering: ordering, whenFailed: .park, clock: clock) {
                (_: Attempt<Named>) in .done
            }
        }
        /// Lets so many beats go by.
        func beat(_ pipeline: Pipeline, _ count: Int) async throws {
            for _ in 0..<count {
                clock.advance(by: .seconds(10))
                try await pipeline.drained()
            }
        }
        func failed() async throws -> [QueuedOperation.Row] {
            try await stack.background { try $0.rows(QueuedOperation.where { $0.status == .failed }) }
        }
        await (try await open()).close()
        // S waits for A, which is in a ring with B and C; others, which are come by first, wait for one that is held, in a chain.
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
            return Dictionary(uniqueKeysWithValues: zip(names, all.map(\.id.number)))
        }
        try tie("C", to: "A", ids, in: stack)

        let pipeline = try await open()
        let beats = before / 200 + 1
        try await beat(pipeline, beats)
        let first = try await failed()
        #expect(first.count == 1 && ["A", "B", "C"].contains { ids[$0] == first[0].id.number })
        #expect(first.first?.failures.list.first?.message.contains("wait for each other") == true)
        // The spare one and the free one.
        #expect(try await stack.background { try $0.count(FinishedOperation.all) } == 2)
        await pipeline.close()

        // What has failed is in no one's way but of those that wait for it: nothing more fails at the next opening.
        let again = try await open()
        try await beat(again, 2 * beats)
        #expect(try await failed().map(\.id) == first.map(\.id))
        // To try it again closes the ring.
        try await stack.background { context in
            try context.retryFailed(in: .work)
            try context.commit()
        }
        try await beat(again, 2 * beats)
        #expect(try await failed().count == 1)

        let (c, a) = (stack.id(ids["C"]!, of: QueuedOperation.self), stack.id(ids["A"]!, of: QueuedOperation.self))
        try await stack.background { context in
            try context.find(c)!.removeDependencies([a])
            try context.retryFailed(in: .work)
            try context.commit()
        }
        try await beat(again, 2 * beats)
        #expect(try await stack.background { try $0.count(QueuedOperation.all) } == before)
        try await stack.close()
    }

    @Test("the error names the first operations of a long ring, and how many there are")
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
