import StoreModels
import Testing

@testable import Strata

@Suite("Collections of slow statements", .timeLimit(.minutes(1))) struct SlowStatementTests {
    @Test("Executions of one statement are summed, and its plan is kept")
    func sums() throws {
        let collection = SlowStatements()
        collection.record("SELECT 1", .milliseconds(30), rows: 2, context: nil)
        collection.record("SELECT  2 -- a comment", .milliseconds(10), rows: 1, context: "clerk")
        collection.record(plan: ["SCAN a"], of: "SELECT 3")
        collection.record(plan: ["SCAN b"], of: "SELECT another")
        let statements = collection.worst
        #expect(statements.map(\.sql) == ["SELECT ?"])
        let statement = try #require(statements.first)
        #expect(statement.executionCount == 2 && statement.rowCount == 3)
        #expect(statement.totalDuration == .milliseconds(40) && statement.maximumDuration == .milliseconds(30))
        #expect(statement.meanDuration == .milliseconds(20))
        #expect(statement.plan == ["SCAN a"])
        #expect(collection.newest.map(\.context) == ["clerk", nil])
        collection.removeAll()
        #expect(collection.worst.isEmpty && collection.newest.isEmpty)
    }

    @Test("The numbers of statements and executions and the lengths of texts are limited")
    func limits() {
        let collection = SlowStatements(maximumStatements: 5, maximumExecutions: 3)
        collection.record("SELECT heavy", .seconds(10), rows: 1, context: nil)
        for number in 1...100 {
            collection.record("SELECT column\(number)", .milliseconds(number), rows: 1, context: nil)
        }
        #expect(collection.worst.count == 5)
        #expect(collection.worst.first?.sql == "SELECT heavy")
        #expect(collection.newest.map(\.sql) == ["SELECT column100", "SELECT column99", "SELECT column98"])
        let long = SlowStatements()
        long.record(
            "SELECT " + String(repeating: "longname, ", count: 100_000),
            .seconds(1),
            rows: 0,
            context: nil
        )
        #expect((long.worst.first?.sql.utf8.count ?? 0) <= SlowStatements.keptLength + 3)
    }

    @Test(
        "Literals become question marks, and names stay",
        arguments: [
            ("SELECT 'it''s', \"it's\" FROM a", "SELECT ?, \"it's\" FROM a"),
            ("a = x'00FF' AND b = X'' AND x = 1", "a = ? AND b = ? AND x = ?"),
            ("a IN (1, 2.5e-3, .5, 0x1F) AND t1 = ?12", "a IN (?, …) AND t1 = ?"),
            ("a IN (?,?,?)", "a IN (?, …)"),
            ("/* 'a */ SELECT\n\t a -- 'b\n FROM [b 1] WHERE `c2` = :c3", "SELECT a FROM [b 1] WHERE `c2` = :c3"),
            ("'never ends", "?"), ("\"never ends", "\"never ends"), ("/* never ends", ""), ("", ""), ("?", "?"),
            ("é = 'é' - 1 + a1", "é = ? - ? + a1"),
        ]
    )
    func literals(_ sql: String, _ expected: String) {
        #expect(Array(SQLText.withoutLiterals(sql).utf8) == Array(expected.utf8))
    }

    @Test("A stack without a log collects its slow statements with their plans")
    func stack() async throws {
        let collection = SlowStatements()
        let stack = try await ContextStack.open(
            .inMemory,
            models: Bank.models,
            stack: .rootOnly,
            diagnostics: Diagnostics(slowStatementThreshold: .zero, slowStatements: collection)
        )
        try await stack.on(.root) { context in
            try Bank.found(in: context)
            _ = try context.fetch(Account.where { $0.note == "4711" })
        }
        try await stack.close()
        let statement = collection.worst.first { $0.sql.contains("\"note\"") && $0.sql.hasPrefix("SELECT") }
        #expect(statement?.plan.isEmpty == false)
        #expect(!collection.worst.contains { $0.sql.contains("4711") })
    }
}
