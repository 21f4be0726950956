import Foundation
import Testing

@testable import Strata
@testable import StrataPipeline

private struct Parcel: OperationPayload {
    var number: Int
}

@Suite("Filters of operations for lists and bulk actions") struct OperationFilterTests {
    /// A set of filters, the step of the plan that finds the operations, and the expected numbers in their order.
    struct Selection: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let filter: OperationFilter
        let step: String
        let numbers: [Int]

        init(
            _ description: String,
            _ step: String,
            _ numbers: [Int],
            _ change: (inout OperationFilter) -> Void = { _ in }
        ) {
            testDescription = description
            self.step = step
            self.numbers = numbers
            var filter = OperationFilter(at: Date())
            change(&filter)
            self.filter = filter
        }
    }

    private static let ids = "USING INTEGER PRIMARY KEY (rowid=?)"
    private static let statuses = "INDEX QueuedOperation_status_pipeline_rank_commit_index"
    private static let keys = "INDEX QueuedOperation_pipeline_key_with_key_unique"
    private static let lanes = "INDEX QueuedOperation_pipeline_lane_sortKey_commit_index"

    /// The operations are numbered from 0 to 11. Those of the pipeline `a` are even and have the lanes `x` and `y` in
    /// turn, every third one has a tag, and greater numbers have greater priorities.
    static let selections: [Selection] = [
        Selection("none", "SCAN", Array(0..<12)),
        Selection("tag", ids, [0, 3, 6, 9]) { $0.tag = "third" },
        Selection("tag and others", ids, [0, 6]) {
            $0.tag = "third"
            $0.pipeline = "a"
            $0.status = .pending
        },
        Selection("key", "\(keys) (pipeline=? AND key=?)", [7]) {
            $0.pipeline = "b"
            $0.key = "key 7"
            $0.lane = "y"
            $0.status = .pending
        },
        Selection("key without a pipeline", "\(statuses) (status=?)", [7]) {
            $0.key = "key 7"
            $0.status = .pending
        },
        Selection("type", "\(lanes) (pipeline=?)", []) {
            $0.pipeline = "a"
            $0.type = "Letter"
        },
        Selection("lane", "\(lanes) (pipeline=? AND lane=?)", [0, 4, 8]) {
            $0.pipeline = "a"
            $0.lane = "x"
        },
        Selection("lane and status", "\(lanes) (pipeline=? AND lane=?)", []) {
            $0.pipeline = "a"
            $0.lane = "x"
            $0.status = .failed
        },
        Selection("status", "\(statuses) (status=?)", [10, 8, 6, 4, 2, 0, 11, 9, 7, 5, 3, 1]) { $0.status = .pending },
        Selection("status and pipeline", "\(statuses) (status=? AND pipeline=?)", [11, 9, 7, 5, 3, 1]) {
            $0.pipeline = "b"
            $0.status = .pending
        },
        Selection("pipeline", "\(lanes) (pipeline=?)", [0, 4, 8, 2, 6, 10]) { $0.pipeline = "a" },
        Selection("pipeline and age", "\(lanes) (pipeline=?)", []) {
            $0.pipeline = "a"
            $0.queuedBefore = .distantPast
        },
        Selection("status and age", "\(statuses) (status=? AND pipeline=?)", [10, 8, 6, 4, 2, 0]) {
            $0.pipeline = "a"
            $0.status = .pending
            $0.queuedBefore = .distantFuture
        },
    ]

    private static func open() async throws -> ContextStack {
        let stack = try await ContextStack.open(.inMemory, models: Pipeline.models, stack: .rootOnly)
        try await stack.background { context in
            for number in 0..<12 {
                context.enqueue(
                    Parcel(number: number),
                    in: number % 2 == 0 ? "a" : "b",
                    lane: number % 4 == 0 ? "x" : "y",
                    priority: number,
                    key: "key \(number)",
                    tags: number % 3 == 0 ? ["third"] : []
                )
            }
            try context.commit()
        }
        return stack
    }

    /// The steps of a query's plan.
    private static func plan<Object: Model>(
        _ query: Query<Object>,
        _ shape: ResultShape,
        in context: ObjectContext
    ) throws -> [String] {
        let sources = SQLSources.tables(
            resolver: context.store.schema.resolver,
            identity: context.store.identity
        )
        let compiled = try query.compile(shape, using: sources)
        var steps: [String] = []
        try context.currentConnection().statement("EXPLAIN QUERY PLAN " + compiled.sql).run(compiled.bindings) {
            steps.append($0.string(at: 3))
        }
        return steps
    }

    @Test("A filter finds and lists its operations in the order of an index", arguments: selections)
    func filters(_ selection: Selection) async throws {
        let stack = try await Self.open()
        let (filter, step) = (selection.filter, selection.step)
        let (numbers, list, count) = try await stack.background { context in
            let operations = try context.fetch(filter.query)
            return (
                try operations.map { try $0.payload(as: Parcel.self).number },
                try Self.plan(filter.query.limit(50), .ids, in: context),
                try Self.plan(filter.query, .count, in: context)
            )
        }
        #expect(numbers == selection.numbers)
        #expect(list.first?.contains(step) == true, "\(list)")
        #expect(!list.contains { $0.contains("TEMP B-TREE") }, "\(list)")
        #expect(count.first?.contains(step) == true, "\(count)")
        try await stack.close()
    }

    @Test("A pending operation with a hold that has not ended counts as held, and indexes find it")
    func held() async throws {
        let stack = try await Self.open()
        let end = Date(timeIntervalSinceNow: 3600)
        try await stack.background { context in
            let some = QueuedOperation.where { $0.pipeline == "a" && $0.lane == "x" }
            for name in ["audit", "review"] { try context.holdOperations(some, name, until: end) }
            func numbers(at time: Date = Date(), _ change: (inout OperationFilter) -> Void) throws -> [Int] {
                var filter = OperationFilter(at: time)
                change(&filter)
                return try context.fetch(filter.query).map { try $0.payload(as: Parcel.self).number }
            }
            let all = try numbers { $0.status = .held }
            #expect(all == [8, 4, 0])
            let ofPipeline = try numbers {
                $0.pipeline = "b"
                $0.status = .held
            }
            #expect(ofPipeline.isEmpty)
            let ofTag = try numbers {
                $0.tag = "third"
                $0.status = .held
            }
            #expect(ofTag == [0])
            let pending = try numbers {
                $0.pipeline = "a"
                $0.status = .pending
            }
            #expect(pending == [10, 6, 2])
            let ended = try numbers(at: end + 1) { $0.status = .held }
            #expect(ended.isEmpty)

            var filter = OperationFilter(at: Date())
            filter.status = .held
            let steps = try Self.plan(filter.query.limit(50), .ids, in: context)
            #expect(steps.contains { $0.contains("\(Self.statuses) (status=?)") }, "\(steps)")
            #expect(steps.contains { $0.contains("OperationHold_until_index (until>?)") }, "\(steps)")
            #expect(!steps.contains { $0.contains("SCAN") }, "\(steps)")

            let summaries = try context.queueSummaries(limit: 10)
            #expect(summaries.first?.counts[.held] == 3 && summaries.first?.counts[.pending] == 3)
            #expect(summaries.last?.counts[.held] == nil && summaries.map(\.total) == [6, 6])
            let sql = OperationCounts.pendingWithHold(at: Date())
            let counting = try context.rows("EXPLAIN QUERY PLAN \(sql)").map { try $0.value(String.self, "detail") }
            #expect(counting.contains { $0.contains("OperationHold_until_index (until>?)") }, "\(counting)")
            #expect(counting.contains { $0.contains(Self.ids) } && !counting.contains { $0.contains("SCAN") })
        }
        try await stack.close()
    }

    @Test("Ids are looked up, and conditions on holds and statuses do not replace the index")
    func ids() async throws {
        let stack = try await Self.open()
        try await stack.background { context in
            let all = try context.ids(QueuedOperation.all).map(\.rawValue)
            var filter = OperationFilter(at: Date())
            filter.ids = [all[5], all[1], 99_999_999]
            filter.status = .pending
            let found = try context.ids(filter.query).map(\.rawValue)
            #expect(found == [all[1], all[5]].sorted())
            filter.status = nil
            for query in [filter.query, filter.query.notRunning, filter.query.held(by: "audit")] {
                let steps = try Self.plan(query, .ids, in: context)
                #expect(steps.first?.contains(Self.ids) == true, "\(steps)")
                #expect(!steps.contains { $0.contains("SCAN QueuedOperation") || $0.contains("SCAN h") }, "\(steps)")
            }
            try context.holdOperations(filter.query, "audit", until: .distantFuture)
            let held = try context.ids(filter.query.held(by: "audit"))
            #expect(held.count == 2)
            let others = try context.count(filter.query.held(by: "other"))
            #expect(others == 0)
        }
        try await stack.close()
    }

    @Test("Finished operations are found by their time or tag")
    func finished() async throws {
        let stack = try await Self.open()
        try await stack.background { context in
            try context.skipOperations(QueuedOperation.where { $0.pipeline == "a" })
            var filter = FinishedFilter()
            filter.pipeline = "a"
            filter.result = .skipped
            let all = try context.count(filter.query)
            #expect(all == 6)
            let time = "INDEX FinishedOperation_finishedAt_index"
            let newest = try Self.plan(filter.query.limit(50), .ids, in: context)
            #expect(newest.first?.contains("USING \(time)") == true, "\(newest)")
            filter.finishedBefore = .distantFuture
            let old = try Self.plan(filter.query.limit(50), .ids, in: context)
            #expect(old.first?.contains("\(time) (finishedAt<?)") == true, "\(old)")
            filter.tag = "third"
            let tagged = try Self.plan(filter.query.limit(50), .ids, in: context)
            #expect(tagged.first?.contains(Self.ids) == true, "\(tagged)")
            for plan in [newest, old, tagged] { #expect(!plan.contains { $0.contains("TEMP B-TREE") }, "\(plan)") }
            let found = try context.count(filter.query)
            #expect(found == 2)
        }
        try await stack.close()
    }

    @Test("Summaries count an index, and look the oldest operations up")
    func summaries() async throws {
        let stack = try await Self.open()
        let pipeline = try await Pipeline.open(stack, named: "c") { (_: Attempt<Parcel>) in .done }
        await pipeline.close()
        try await stack.background { context in
            func steps(_ sql: SQL) throws -> [String] {
                try context.rows("EXPLAIN QUERY PLAN \(sql)").map { try $0.value(String.self, "detail") }
            }
            let counts = try steps(OperationCounts.byQueue)
            #expect(counts.count == 1 && counts.first?.contains("COVERING \(Self.statuses)") == true, "\(counts)")
            let oldest = try steps(OperationCounts.oldest(of: "a", .pending))
            #expect(!oldest.contains { $0.contains("SCAN QueuedOperation") || $0.contains("SCAN o") }, "\(oldest)")
            #expect(oldest.contains { $0.contains("\(Self.statuses) (status=? AND pipeline=? AND rank=?)") })
            let summaries = try context.queueSummaries(limit: 10)
            #expect(summaries.map(\.name) == ["a", "b", "c"])
            #expect(summaries.map(\.total) == [6, 6, 0])
            let dates = try context.column(QueuedOperation.where { $0.pipeline == "a" }, \.enqueuedAt)
            #expect(summaries.first?.oldest == dates.compactMap { $0 }.min())
            #expect(summaries.last?.oldest == nil)
            let first = try context.queueSummaries(limit: 1)
            #expect(first.map(\.name) == ["a"])
        }
        try await stack.close()
    }
}
