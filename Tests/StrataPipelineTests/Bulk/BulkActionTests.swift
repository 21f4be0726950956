import Foundation
import Strata
import TestHomeTraits
import Testing

@testable import StrataPipeline
@testable import StrataTesting

@Suite("Bulk actions on operations", .timeLimit(.minutes(1))) struct BulkActionTests {
    /// Applies a bulk action, and waits until the engine has seen it.
    private static func act(
        _ harness: PipelineHarness,
        _ body: @escaping @Sendable (SavingContext) throws -> Int
    ) async throws -> Int {
        let count = try await harness.stack.background { try body($0) }
        await harness.pipeline.waitUntilProcessed()
        return count
    }

    @Test("A retry makes all failed operations ready again with their attempts reset, and leaves the others")
    func retry() async throws {
        let harness = try await PipelineHarness.open(max: 2, retry: RetryPolicy(maxAttempts: 1))
        try await harness.commit(["A", "B", "C:-1", "D←A"])
        try await harness.play([.resume("A", "B")])
        try await harness.end("A", .success(.fail("no")))
        try await harness.end("B", .success(.fail("no")))
        await harness.pipeline.waitUntilProcessed()
        #expect(harness.takeStarts() == ["C"])
        let commits = try harness.stack.commitCount()
        let none = try await harness.stack.background { context in
            try context.retryOperations(QueuedOperation.where { $0.status == .active })
        }
        #expect(none == 0)
        #expect(try harness.stack.commitCount() == commits, "without an operation nothing is committed")
        #expect(try await Self.act(harness) { try $0.retryOperations(QueuedOperation.all) } == 2)
        #expect(harness.takeStarts() == ["A"])
        let second = try #require(try await harness.row("B"))
        #expect(second.status == .pending && second.attempts == 0 && second.failures.list.count == 1)
        #expect(try await harness.row("C")?.status == .active)
        try await harness.play([.done("C", "B"), .done("A", "D"), .done("B"), .done("D")])
        try await harness.close()
    }

    @Test("A skip leaves running operations, or cancels them, and releases dependants and lanes")
    func skip() async throws {
        let harness = try await PipelineHarness.open(ordering: .fifo, max: 8)
        let lane: @Sendable (String) -> String = { "AB".contains($0) ? "one" : $0 }
        try await harness.commit(["A", "B", "C←B"], lane: lane)
        try await harness.play([.resume("A")])
        let first = QueuedOperation.where { $0.lane == "one" }
        #expect(try await Self.act(harness) { try $0.skipOperations(first) } == 1)
        #expect(harness.takeStarts() == ["C"])
        #expect(try await harness.result("B") == .skipped)
        #expect(try await harness.row("A")?.status == .active)
        // The second call finds the request of the first one.
        let counts = try await harness.stack.background { context in
            let asked = try context.skipOperations(first, running: .cancel)
            return [asked, try context.skipOperations(first, running: .cancel)]
        }
        try await harness.log.waitForEnd(of: harness.id("A"))
        #expect(counts == [1, 0])
        #expect(try await harness.result("A") == .skipped)
        #expect(harness.log.finished.count == 2, "each skip is reported once")
        try await harness.end("C")
        try await harness.close()
    }

    @Test("Held operations start when the date comes or the hold is released, and a second hold moves the first")
    func hold() async throws {
        let harness = try await PipelineHarness.open()
        try await harness.commit(["A", "B", "C"])
        try await harness.edit("C") { try $0.hold("audit", until: harness.clock.now.addingTimeInterval(5)) }
        let until = harness.clock.now.addingTimeInterval(100)
        #expect(try await Self.act(harness) { try $0.holdOperations(QueuedOperation.all, "audit", until: until) } == 3)
        try await harness.play([.resume(), .pass(.seconds(50))])
        let first = harness.id("A")
        let named = QueuedOperation.where { $0.id.in([first]) }
        #expect(try await Self.act(harness) { try $0.releaseOperations(named, from: "audit") } == 1)
        #expect(try await Self.act(harness) { try $0.releaseOperations(named, from: "audit") } == 0)
        #expect(harness.takeStarts() == ["A"])
        try await harness.play([.pass(.seconds(60), "B", "C"), .done("A"), .done("B"), .done("C")])
        try await harness.close()
    }

    @Test("A hold and its release are changes of the operations, which observers of the operations see")
    func edits() async throws {
        let harness = try await PipelineHarness.open()
        try await harness.commit(["A", "B"])
        let edits = harness.stack.live { context in try context.column(QueuedOperation.all, \.edits).sorted() }
        var values = edits.makeAsyncIterator()
        let before = try await values.next()
        #expect(before == [0, 0])
        let first = harness.id("A")
        let named = QueuedOperation.where { $0.id.in([first]) }
        _ = try await Self.act(harness) { try $0.holdOperations(named, "audit", until: .distantFuture) }
        let after = try await values.next()
        #expect(after == [0, 1])
        _ = try await Self.act(harness) { try $0.releaseOperations(QueuedOperation.all, from: "audit") }
        #expect(try await harness.row("B")?.edits == 0, "it did not have the hold")
        #expect(try await harness.row("A")?.edits == 2)
        try await harness.close()
    }

    @Test("The names of holds that pipelines create themselves are refused", arguments: ["start", "retry"])
    func reservedHold(_ name: String) async throws {
        let harness = try await PipelineHarness.open()
        try await harness.commit(["A"])
        let error = await #expect(throws: PipelineError.self) {
            try await Self.act(harness) { try $0.holdOperations(QueuedOperation.all, name, until: .distantFuture) }
        }
        #expect(error?.code == .invalidArgument)
        #expect(try await harness.stack.background { try $0.count(OperationHold.all) } == 0)
        try await harness.close()
    }

    @Test("Operations start in the order of their new priorities")
    func priority() async throws {
        let harness = try await PipelineHarness.open(max: 1)
        try await harness.commit(["A", "B", "C", "D"])
        let ids = [harness.id("C"), harness.id("D")]
        let late = QueuedOperation.where { $0.id.in(ids) }
        #expect(try await Self.act(harness) { try $0.setPriority(5, of: late) } == 2)
        #expect(try await Self.act(harness) { try $0.setPriority(5, of: QueuedOperation.all) } == 2)
        #expect(try await Self.act(harness) { try $0.setPriority(9, of: late) } == 2)
        try await harness.play([.resume("C"), .done("C", "D"), .done("D", "A"), .done("A", "B"), .done("B")])
        try await harness.close()
    }

    @Test("A free place in a lane goes to the operation that is the best after a change of priorities")
    func priorityInLane() async throws {
        let harness = try await PipelineHarness.open(maxPerLane: 1)
        try await harness.commit(["A", "B", "C", "D"], lane: { _ in "one" })
        // The place of A is offered to B, which cannot start.
        try await harness.play([.resume("A"), .suspend(), .done("A")])
        let first = harness.id("B")
        let offered = QueuedOperation.where { $0.id.in([first]) }
        #expect(try await Self.act(harness) { try $0.setPriority(-1, of: offered) } == 1)
        try await harness.play([.resume("C"), .suspend(), .done("C")])
        // The place of C is offered to D.
        #expect(try await Self.act(harness) { try $0.setPriority(1, of: offered) } == 1)
        try await harness.play([.resume("B"), .done("B", "D"), .done("D")])
        try await harness.close()
    }

    @Test("An unsaved edit is ignored by a bulk action, and conflicts with it if both set the same value")
    func unsaved() async throws {
        let harness = try await PipelineHarness.open()
        try await harness.commit(["A"])
        let id = harness.id("A")
        let other = try harness.stack.create(.private, named: "other")
        try await harness.stack.on(other) { try $0.find(id)?.priority = 7 }
        let unsaved = QueuedOperation.where { $0.priority == 7 }
        #expect(try await Self.act(harness) { try $0.setPriority(1, of: unsaved) } == 0)
        #expect(try await Self.act(harness) { try $0.setPriority(3, of: QueuedOperation.all) } == 1)
        let error = await #expect(throws: StrataError.self) { try await other.commit() }
        #expect(error?.code == .conflict)
        #expect(try await harness.row("A")?.priority == 3)
        try await harness.close()
    }

    @Test(
        "A bulk action runs as many statements for a thousand operations as for ten",
        .aboutTheFile("the collection of changes for a home runs a statement for each row"),
        arguments: Bulk.allCases
    )
    func statements(_ action: Bulk) async throws {
        var counts: [Int] = []
        for count in [10, 1000] {
            let log = StatementLog()
            // Without an engine, the stack runs no other statements.
            let stack = try await ContextStack.open(
                .inMemory,
                models: Pipeline.models,
                stack: .rootOnly,
                logger: log.logger,
                diagnostics: Diagnostics(statements: .text, statementLevel: .trace)
            )
            try await action.prepare(2 * count, stack)
            let until = Date(timeIntervalSinceReferenceDate: 800_000_000)
            log.clear()
            let changed = try await stack.background { try action.perform(in: $0, until: until) }
            counts.append(log.statements.count)
            #expect(changed == count)
            try await stack.close()
        }
        #expect(counts[0] == counts[1] && counts[0] > 0 && counts[1] < 40, "\(counts)")
    }

    @Test("No statement of a bulk action scans a table, reads a whole pipeline, or pairs all ids with each other")
    func plans() async throws {
        var statements = [
            QueueSQL.selectListedFailed, QueueSQL.retryListed, QueueSQL.selectListedInactive,
            QueueSQL.selectListedUnasked, QueueSQL.skipListed, QueueSQL.archiveListed, QueueSQL.deleteListed,
            QueueSQL.selectDependantsOfListed, QueueSQL.selectDependenciesOfListed,
            QueueSQL.deleteDependenciesOfListed, QueueSQL.selectHoldsOfListed, QueueSQL.deleteListedHolds,
            QueueSQL.selectListedItems, QueueSQL.deleteListedItems, QueueSQL.countImpliedPairs,
            QueueSQL.insertImpliedPairs, QueueSQL.selectHoldsNamed, QueueSQL.moveListedHolds, QueueSQL.insertHolds,
            QueueSQL.raiseListedEdits,
            QueueSQL.selectListedOfOtherPriority, QueueSQL.prioritiseListed, QueueSQL.selectListedWaiting,
            QueueSQL.selectAwaitingBesideListed, QueueSQL.setListedPending, QueueSQL.selectAwaitingInLanes,
        ]
        statements += [
            QueueSQL.countRecordedQueued, QueueSQL.recordQueued, QueueSQL.countRecordedFinished,
            QueueSQL.recordFinished, QueueSQL.selectTags, QueueSQL.deleteTags,
        ]
        for ordering in PipelineOrdering.allCases where ordering.isSerial {
            statements.append(QueueSQL.selectNextInLanes(ordering))
        }
        // The list of ids, the paths between dependencies, and the lanes of the listed operations.
        let short = ["json_each", "p", "pair", "l", "CONSTANT"]
        let all = statements
        let stack = try await ContextStack.open(.inMemory, models: Pipeline.models, stack: .rootOnly)
        var scans: [String] = []
        try stack.transact(author: "test") { transaction in
            for sql in all {
                let count = (1...5).last { sql.contains("?\($0)") } ?? 0
                let nulls = [StoredValue](repeating: .null, count: count)
                try transaction.rows("EXPLAIN QUERY PLAN \(sql)", nulls) { row in
                    let step = try row.read(String.self, at: 3)
                    if step.hasSuffix("(pipeline=?)") || step.hasSuffix("(status=?)")
                        || step.hasPrefix("SEARCH d ") && step.hasSuffix("(dependant=? AND prerequisite=?)")
                    {
                        scans.append("\(step): \(sql)")
                    }
                    let words = step.split(separator: " ")
                    guard words.first == "SCAN", words.count > 1 else { return }
                    if !short.contains(where: { words[1] == $0 }), !words[1].hasPrefix("(subquery") {
                        scans.append("\(words.joined(separator: " ")): \(sql)")
                    }
                }
            }
        }
        #expect(scans == [])
        try await stack.close()
    }

    /// A bulk action on every second operation of a store.
    enum Bulk: CaseIterable, Sendable {
        case retry, skip, hold, release, priority

        /// Queues operations in many lanes of a serial pipeline that records transitions. Every second one has a tag,
        /// has failed, is held, and depends on the one before it.
        func prepare(_ count: Int, _ stack: ContextStack) async throws {
            try stack.transact(author: "test") { transaction in
                let rules = OperationRepository.Rules(ordering: .fifo, recordsTransitions: true)
                try OperationRepository(transaction).declare(.work, rules)
            }
            let tagged = try await stack.background { context in
                var tagged: [Int64] = []
                var last: QueuedOperation?
                for number in 0..<count {
                    let isTagged = number % 2 == 1
                    let operation = context.enqueue(
                        Named(name: "\(number)"),
                        in: .work,
                        lane: "\(number % 7)",
                        tags: isTagged ? ["odd"] : []
                    )
                    if isTagged, let last {
                        tagged.append(operation.id.rawValue)
                        try operation.addDependencies([last])
                        try operation.hold("audit", until: .distantFuture)
                    }
                    last = operation
                }
                try context.commit()
                return tagged
            }
            try stack.transact(author: "test") { transaction in
                for number in tagged {
                    try transaction.run(
                        "UPDATE \"QueuedOperation\" SET \"status\" = 4, \"_version\" = ? WHERE \"id\" = ?",
                        [.integer(transaction.number), .integer(number)]
                    )
                }
                try transaction.report(updated: tagged, ["status"], of: QueuedOperation.self)
            }
        }

        func perform(in context: SavingContext, until: Date) throws -> Int {
            let query = QueuedOperation.where { $0.hasTag("odd") }
            return switch self {
            case .retry: try context.retryOperations(query)
            case .skip: try context.skipOperations(query)
            case .hold: try context.holdOperations(query, "audit", until: until)
            case .release: try context.releaseOperations(query, from: "audit")
            case .priority: try context.setPriority(3, of: query)
            }
        }
    }

    @Test("An observed block learns of a bulk action")
    func observers() async throws {
        let harness = try await PipelineHarness.open()
        try await harness.commit(["A", "B"])
        let priorities = harness.stack.live { context in
            try context.column(QueuedOperation.all, \.priority).sorted()
        }
        var values = priorities.makeAsyncIterator()
        let before = try await values.next()
        #expect(before == [0, 0])
        let first = harness.id("A")
        _ = try await Self.act(harness) { context in
            try context.setPriority(4, of: QueuedOperation.where { $0.id.in([first]) })
        }
        let after = try await values.next()
        #expect(after == [0, 4])
        try await harness.close()
    }
}
