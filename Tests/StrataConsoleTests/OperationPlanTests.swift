import Foundation
import StrataInspection
import StrataPipeline
import Testing

@testable import Strata
@testable import StrataConsole

/// The statements of the pages of operations. None of them may read all operations of a store.
@Suite("Statements of the pages of operations", .timeLimit(.minutes(1))) struct OperationPlanTests {
    private struct Parcel: OperationPayload {
        var number: Int
    }

    private static func open() async throws -> ContextStack {
        let stack = try await ContextStack.open(.inMemory, models: Pipeline.models, stack: .rootOnly)
        try await stack.background { context in
            for number in 0..<20 {
                context.enqueue(Parcel(number: number), in: "a", lane: "x", key: "\(number)", tags: ["all"])
            }
            for number in 0..<10 { context.enqueue(Parcel(number: number), in: "b", tags: ["all"]) }
            try context.commit()
        }
        let pipeline = try await Pipeline.open(stack, named: "b") { (_: Attempt<Parcel>) in .done }
        try await pipeline.waitUntilIdle()
        await pipeline.close()
        return stack
    }

    /// The steps of the plans of the first page, and of pages after and before a position.
    private static func plans<Object: Model>(
        of pages: Query<Object>,
        in context: ObjectContext
    ) throws -> [(isFirst: Bool, sql: String, steps: [String])] {
        let tables = SQLSources.tables(resolver: context.store.schema.resolver, identity: context.store.identity)
        let connection = try context.currentConnection()
        let token = try context.idPage(pages, size: 3).next
        var plans: [(isFirst: Bool, sql: String, steps: [String])] = []
        let positions: [(token: PageToken?, isForward: Bool)] = [(nil, true), (token, true), (token, false)]
        for (position, isForward) in positions {
            let request = PageRequest(size: 50, position: position, isForward: isForward, readsIDs: true)
            let sources = context.store.sources(connection)
            for statement in try pages.compile(request, using: sources, tables: tables).statements {
                var steps: [String] = []
                try connection.statement("EXPLAIN QUERY PLAN " + statement.sql).run(statement.bindings) {
                    steps.append($0.string(at: 3))
                }
                plans.append((isFirst: position == nil, sql: statement.sql, steps: steps))
            }
        }
        return plans
    }

    /// Expects that each statement searches by an index and sorts nothing. The first page without filters may scan the
    /// table in its order.
    private static func check<Object: Model>(
        _ pages: Query<Object>,
        mayScanFirst: Bool = false,
        in context: ObjectContext
    ) throws {
        let plans = try Self.plans(of: pages, in: context)
        #expect(plans.count > 2)
        for plan in plans {
            // A subquery for each row has its own steps.
            let isSearched = plan.steps.allSatisfy { $0.hasPrefix("SEARCH") || $0.hasPrefix("CORRELATED") }
            let isAllowedScan = mayScanFirst && plan.isFirst && plan.steps.count == 1
            #expect(isSearched || isAllowedScan, "\(plan.sql): \(plan.steps)")
            #expect(!plan.steps.contains { $0.contains("TEMP B-TREE") }, "\(plan.sql): \(plan.steps)")
        }
    }

    /// Whether a plan scans nothing but the list of the ids, and sorts nothing.
    private static func readsNothingElse(_ steps: [String]) -> Bool {
        steps.allSatisfy { step in
            if step.contains("TEMP B-TREE") { return false }
            return !step.hasPrefix("SCAN") || step.contains("json_each")
        }
    }

    @Test("Each page of queued operations is found by an index, whatever the filters")
    func queued() async throws {
        let stack = try await Self.open()
        try await stack.background { context in
            for query in [
                "pipeline=a", "pipeline=a&lane=x", "state=pending", "state=pending&pipeline=a",
                "pipeline=a&type=Parcel&age=1h", "state=pending&type=Parcel&lane=x",
            ] {
                let selection = try OperationSelection(ConsoleFields(parsing: query), at: Date())
                try Self.check(selection.queued.searched.query, in: context)
            }
            for query in ["", "type=Parcel", "lane=x", "age=1h", "key=1"] {
                let selection = try OperationSelection(ConsoleFields(parsing: query), at: Date())
                try Self.check(selection.queued.searched.query, mayScanFirst: true, in: context)
            }
            try Self.check(OperationTag.where { $0.name == "all" }.sorted { $0.operation.ascending }, in: context)
        }
        try await stack.close()
    }

    @Test("Each page of finished operations is found by an index, whatever the filters")
    func finished() async throws {
        let stack = try await Self.open()
        try await stack.background { context in
            for query in ["state=finished", "state=skipped&pipeline=a", "state=finished&lane=x&key=1&type=Parcel"] {
                let selection = try OperationSelection(ConsoleFields(parsing: query), at: Date())
                try Self.check(selection.ended.searched.query, mayScanFirst: true, in: context)
            }
            let later = Int64(Date().timeIntervalSince1970) + 7200
            let aged = try ConsoleFields(parsing: "state=finished&age=1h&at=\(later)")
            try Self.check(OperationSelection(aged, at: Date()).ended.searched.query, in: context)
            try Self.check(OperationTag.where { $0.name == "all" }.sorted { $0.operation.descending }, in: context)
        }
        try await stack.close()
    }

    @Test("Other filters look the operations of a portion up by their ids")
    func portions() async throws {
        let stack = try await Self.open()
        try await stack.background { context in
            let all = "pipeline=a&lane=x&type=Parcel&age=1h&key=1"
            let tables = SQLSources.tables(
                resolver: context.store.schema.resolver,
                identity: context.store.identity
            )
            var queued = try OperationSelection(ConsoleFields(parsing: all + "&state=pending"), at: Date()).queued
            queued.ids = Array(1...30)
            var finished = try OperationSelection(ConsoleFields(parsing: all + "&state=skipped"), at: Date()).ended
            finished.ids = Array(1...30)
            for compiled in [
                try queued.query.compile(.ids, using: tables), try finished.query.compile(.ids, using: tables),
            ] {
                var steps: [String] = []
                try context.currentConnection().statement("EXPLAIN QUERY PLAN " + compiled.sql).run(compiled.bindings) {
                    steps.append($0.string(at: 3))
                }
                #expect(steps.first?.contains("INTEGER PRIMARY KEY (rowid=?)") == true, "\(steps)")
                #expect(Self.readsNothingElse(steps), "\(steps)")
            }
        }
        try await stack.close()
    }

    @Test("Rows, tags and dependencies are looked up")
    func statements() async throws {
        let stack = try await Self.open()
        try await stack.background { context in
            let ids: [Int64] = Array(1...30)
            let statements: [SQL] = [
                JobRow.selectQueued(ids), JobRow.selectFinished(ids), OperationSearch.selectTags(ids),
                JobDetails.selectQueued(1, size: 10), JobDetails.selectFinished(1, size: 10),
                JobDetails.selectFailures(ids),
                DependencyGraph.selectPrerequisites(of: 1, limit: 9), DependencyGraph.selectDependants(of: 1, limit: 9),
                DependencyGraph.selectEdges(of: 1, among: ids, limit: 9),
            ]
            for sql in statements {
                let steps = try context.rows("EXPLAIN QUERY PLAN \(sql)").map { try $0.value(String.self, "detail") }
                #expect(steps.first?.hasPrefix("SEARCH") == true, "\(steps)")
                #expect(Self.readsNothingElse(steps), "\(steps)")
            }
        }
        try await stack.close()
    }
}
