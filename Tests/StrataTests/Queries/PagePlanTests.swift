import CStrataSQLite
import Foundation
import Testing

@testable import Strata

/// The statements of pages in SQLite: their plans, and the number of steps that they take.
@Suite("Statements of pages")
struct PagePlanTests {
    private func statements<Object: Model>(
        _ context: ObjectContext,
        _ query: Query<Object>,
        _ position: PageToken?,
        isForward: Bool = true
    ) throws -> [CompiledQuery] {
        let tables = SQLSources.tables(resolver: context.store.schema.resolver, identity: context.store.identity)
        let request = PageRequest(size: 50, position: position, isForward: isForward)
        let sources = context.store.sources(try context.currentConnection())
        return try query.compile(request, using: sources, tables: tables).statements
    }

    @Test("Pages in the order of an index find their rows in the index, also with unsaved changes")
    func plans() async throws {
        let stack = try await openPages(300)
        try await stack.background { context in
            let queries: [Query<PageEntry>] = [
                PageEntry.all, PageEntry.sorted { $0.rank }, PageEntry.sorted { $0.rank.descending },
                PageEntry.sorted { $0.due }, PageEntry.sorted { $0.due.descending },
                PageEntry.sorted { $0.due.ascending.nilsLast },
                PageEntry.sorted { [$0.kind.ascending, $0.rank.ascending] },
                PageEntry.sorted { [$0.kind.descending, $0.rank.ascending] },
                PageEntry.where { $0.kind == .b || $0.title != "x" }.sorted { $0.rank },
            ]
            for isPending in [false, true] {
                if isPending {
                    try PageEntry.insert(0..<9, into: context)
                    context.publish()
                }
                let connection = try context.currentConnection()
                // Depending on the order, one of the positions is among the rows without a value.
                for (query, size) in queries.flatMap({ query in [20, 280].map { (query, $0) } }) {
                    let token = try #require(try context.rowPage(query, size: size).next)
                    let forward = try statements(context, query, token)
                    let backward = try statements(context, query, token, isForward: false)
                    #expect(!forward.isEmpty && !backward.isEmpty)
                    for statement in forward + backward {
                        var plan: [String] = []
                        try connection.statement("EXPLAIN QUERY PLAN " + statement.sql).run(statement.bindings) {
                            plan.append($0.string(at: 3))
                        }
                        let isFound = plan.contains { $0.hasPrefix("SEARCH") }
                        let isScanned = plan.contains { $0.hasPrefix("SCAN t0") || $0.hasPrefix("SCAN PageEntry") }
                        #expect(isFound && !isScanned, "\(statement.sql)\n\(plan.joined(separator: "\n"))")
                    }
                }
            }
        }
        try await stack.close()
    }

    @Test("A late page takes as many steps as an early one, also among equal sort values")
    func steps() async throws {
        let stack = try await openPages(0)
        try await stack.background { context in
            for number in 0..<5_000 { context.insert(PageEntry(title: "", rank: number / 1_000)) }
            try context.commit()
            let query = PageEntry.sorted { $0.rank }
            let connection = try context.currentConnection()
            var steps: [Int] = []
            for size in [50, 2_550, 3_950] {
                let token = try #require(try context.rowPage(query, size: size).next)
                var sum = 0
                for statement in try statements(context, query, token) {
                    let prepared = try connection.statement(statement)
                    _ = sqlite3_stmt_status(prepared.pointer, SQLITE_STMTSTATUS_VM_STEP, 1)
                    try prepared.run(statement.bindings) { _ in }
                    sum += Int(sqlite3_stmt_status(prepared.pointer, SQLITE_STMTSTATUS_VM_STEP, 0))
                }
                steps.append(sum)
            }
            #expect(steps[0] > 50 && steps[1] < 2 * steps[0] && steps[2] < 2 * steps[0], "\(steps)")
        }
        try await stack.close()
    }

    @Test("A page looks for numbers that are not a number only among unsaved rows")
    func notANumber() async throws {
        let stack = try await openPages(0)
        try await stack.background { context in
            for number in 0..<9 { context.insert(PageText(text: "", weight: Double(number))) }
            try context.commit()
        }
        // In this order, NULL comes last, and so it follows each position.
        let query = PageText.sorted { $0.weight.descending }
        try await stack.background { context in
            let token = try #require(try context.rowPage(query, size: 3).next)
            let committed = try statements(context, query, token)
            #expect(committed.count == 2)
            #expect(!committed.contains { $0.sql.contains("IS NULL") })
            let text = context.insert(PageText(text: "", weight: .nan))
            context.publish()
            let pending = try statements(context, query, token)
            #expect(pending.count == 3)
            #expect(pending.last?.sql.contains("IS NULL") == true)
            #expect(try context.page(query, size: 9, after: token).elements.last?.id == text.id)
        }
        try await stack.close()
    }

    @Test("An order that no index has takes one statement")
    func withoutIndex() async throws {
        let stack = try await openPages(50)
        try await stack.background { context in
            let queries: [Query<PageEntry>] = [
                PageEntry.sorted { $0.group.name.descending }, PageEntry.sorted { $0.price },
                PageEntry.sorted { [($0.rank * 2).ascending, $0.due.ascending] },
            ]
            for query in queries {
                let token = try #require(try context.rowPage(query, size: 20).next)
                #expect(try statements(context, query, token).count == 1)
            }
        }
        try await stack.close()
    }
}
