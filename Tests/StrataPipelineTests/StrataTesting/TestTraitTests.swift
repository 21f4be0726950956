import Foundation
import StoreModels
import Strata
import Synchronization
import Testing

@testable import StrataTesting

extension Trait where Self == StackTrait {
    /// A stack whose store contains two accounts.
    fileprivate static var twoAccounts: Self {
        .stack(models: Bank.models) { context in
            context.insert(Account(name: "A", balance: 1))
            context.insert(Account(name: "B", balance: 2))
        }
    }
}

/// Requires an issue whose comment contains these texts, from the test or from the traits to the right.
struct ExpectedIssue: TestTrait, TestScoping {
    let texts: [String]

    init(_ texts: String...) { self.texts = texts }

    func provideScope(
        for test: Test,
        testCase: Test.Case?,
        performing function: @Sendable () async throws -> Void
    ) async throws {
        let texts = texts
        try await withKnownIssue {
            try await function()
        } matching: { issue in
            let comments = issue.comments.map(\.rawValue).joined(separator: "\n")
            return texts.allSatisfy { comments.contains($0) }
        }
    }
}

/// A value that outlives the scope of a trait.
private final class Kept<Value: Sendable>: Sendable {
    private let kept = Mutex<Value?>(nil)

    var value: Value? { kept.withLock { $0 } }

    func keep(_ value: Value) { kept.withLock { $0 = value } }
}

private func countAccounts(_ times: Int = 1) async throws -> Int {
    try await ContextStack.test.background { context in
        var count = 0
        for _ in 0..<times { count = try context.count(Account.all) }
        return count
    }
}

@Suite("Traits of a test", .timeLimit(.minutes(1))) struct TestTraitTests {
    private struct Stop: Error {}

    @Test("Each case of a test has a separate stack", .stack(models: Bank.models), arguments: 1...3)
    func cases(_ number: Int) async throws {
        let balances = try await ContextStack.test.background { context in
            context.insert(Account(name: "A", balance: number))
            try context.commit()
            return try context.fetch(Account.all).map(\.balance)
        }
        #expect(balances == [number])
    }

    @Test("A fixture is committed before the test", .twoAccounts)
    func fixture() async throws {
        let count = try await countAccounts()
        #expect(count == 2)
    }

    @Test("The stack begins with the chosen contexts", .stack(models: Bank.models, stack: .rootOnly))
    func rootOnly() async throws {
        let stack = try ContextStack.test
        #expect(try stack.all.count == 1)
        let error = await #expect(throws: StrataError.self) { try await MainActor.run { _ = try stack.main } }
        #expect(error?.code == .contextNotFound)
    }

    @Test("A store in a file can be opened again, and is deleted after the test", arguments: [false, true])
    func file(_ closes: Bool) async throws {
        let test = try #require(Test.current)
        let trait: StackTrait = .stack(models: Bank.models, in: .file) { $0.insert(Account(name: "A", balance: 1)) }
        let kept = Kept<URL>()
        try await trait.provideScope(for: test, testCase: nil) {
            let file = try ContextStack.testFile
            kept.keep(file)
            if closes { try await ContextStack.test.close() }
            let again = try await ContextStack.open(.sqlite(file), models: Bank.models)
            let count = try await again.background { try $0.count(Account.all) }
            #expect(count == 1)
            try await again.close()
        }
        let file = try #require(kept.value)
        #expect(!FileManager.default.fileExists(atPath: file.deletingLastPathComponent().path))
    }

    @Test(
        "A file that cannot be deleted is an issue",
        ExpectedIssue("could not be deleted"),
        .stack(models: Bank.models, in: .file)
    )
    func missingFile() async throws {
        let folder = try ContextStack.testFile.deletingLastPathComponent()
        try await ContextStack.test.close()
        try FileManager.default.removeItem(at: folder)
    }

    @Test("A store in memory does not have a file", .stack(models: Bank.models))
    func noFile() {
        let error = #expect(throws: StrataError.self) { try ContextStack.testFile }
        #expect(error?.code == .invalidState)
    }

    @Test("The stack is closed after the test, also if the test throws", arguments: [false, true])
    func closes(_ fails: Bool) async throws {
        let test = try #require(Test.current)
        let trait: StackTrait = .stack(models: Bank.models)
        let kept = Kept<ContextStack>()
        do {
            try await trait.provideScope(for: test, testCase: nil) {
                kept.keep(try ContextStack.test)
                if fails { throw Stop() }
            }
            #expect(!fails)
        } catch is Stop {
            #expect(fails)
        }
        let stack = try #require(kept.value)
        let error = #expect(throws: StrataError.self) { try stack.current }
        #expect(error?.code == .closed)
    }

    @Test("If the fixture throws, the test does not run")
    func failingFixture() async throws {
        let test = try #require(Test.current)
        let trait: StackTrait = .stack(models: Bank.models) { _ in throw Stop() }
        await #expect(throws: Stop.self) {
            try await trait.provideScope(for: test, testCase: nil) { Issue.record("The test runs.") }
        }
    }

    @Test("Outside of a test with the traits, there is neither a stack nor a clock")
    func outside() {
        let noStack = #expect(throws: StrataError.self) { try ContextStack.test }
        #expect(noStack?.code == .invalidState && noStack?.message.contains(".stack(models: …)") == true)
        let noClock = #expect(throws: StrataError.self) { try VirtualClock.test }
        #expect(noClock?.code == .invalidState && noClock?.message.contains(".virtualClock") == true)
    }

    @Test("Each case of a test has a separate clock", .virtualClock, arguments: 1...2)
    func clocks(_ number: Int) throws {
        let clock = try VirtualClock.test
        clock.advance(by: .seconds(60))
        #expect(try VirtualClock.test === clock)
        #expect(clock.now == VirtualClock().now.addingTimeInterval(60))
    }
}

@Suite("The limit of a test's statements", .timeLimit(.minutes(1))) struct StatementLimitTests {
    @Test("A test may run as many statements as its limit", .twoAccounts, .statementLimit(2))
    func within() async throws {
        let count = try await countAccounts(2)
        #expect(count == 2)
    }

    @Test("Opening the stack and committing the fixture do not count", .statementLimit(0), .twoAccounts)
    func opening() throws {
        #expect(try ContextStack.test.all.count == 2)
    }

    @Test(
        "One statement more is an issue that lists the statements",
        ExpectedIssue("3 SQL statements", "Its limit is 2.", "\n3. ", "FROM \"Account\""),
        .twoAccounts,
        .statementLimit(2)
    )
    func exceeded() async throws {
        let count = try await countAccounts(3)
        #expect(count == 2)
    }

    @Test(
        "The order of the traits does not matter, and writes count",
        ExpectedIssue("INSERT INTO \"Account\""),
        .statementLimit(0),
        .stack(models: Bank.models)
    )
    func writes() async throws {
        try await ContextStack.test.background { context in
            context.insert(Account(name: "A", balance: 1))
            try context.commit()
        }
    }

    @Test(
        "An issue lists 50 statements at most",
        ExpectedIssue("60 SQL statements", "\n50. ", "… and 10 more"),
        .twoAccounts,
        .statementLimit(1)
    )
    func manyStatements() async throws { _ = try await countAccounts(60) }

    @Test("A limit without a stack is an error")
    func noStack() async throws {
        let test = try #require(Test.current)
        let trait: StatementLimitTrait = .statementLimit(1)
        let error = await #expect(throws: StrataError.self) { try await trait.prepare(for: test) }
        #expect(error?.code == .invalidState)
    }

    @Test(
        "The control of transactions and the bookkeeping of commits do not count",
        arguments: [
            ("SELECT \"id\" FROM \"Account\"", true), ("insert into \"Account\" VALUES (1)", true),
            ("WITH \"strata_parameters\" AS (SELECT ?1) SELECT 1", true), ("BEGIN IMMEDIATE", false),
            ("SAVEPOINT \"strata\"", false), ("PRAGMA cache_size", false), ("COMMIT", false),
            ("SELECT max(\"sequence\") FROM \"strata_history\"", false),
            ("UPDATE \"strata_store\" SET \"next_id\" = 2", false),
        ]
    )
    func counts(_ sql: String, _ isCounted: Bool) {
        #expect(StatementLog.counts(sql) == isCounted)
    }
}

@Suite("Traits of a suite", .twoAccounts, .virtualClock, .statementLimit(0), .timeLimit(.minutes(1)))
struct SuiteTraitTests {
    private let stack: ContextStack

    init() throws { stack = try ContextStack.test }

    @Test("The initializer of a suite and its test have the same stack")
    func initializer() throws {
        #expect(try ContextStack.test === stack)
        #expect(try VirtualClock.test.alarms.isEmpty)
    }

    @Test("The limit of a test replaces the limit of its suite", .statementLimit(1))
    func ownLimit() async throws {
        let names = try await stack.background { context in
            try context.fetch(Account.sorted { $0.name.ascending }).map(\.name)
        }
        #expect(names == ["A", "B"])
    }

    @Test("The stack of a test replaces the stack of its suite", .stack(models: Bank.models), .statementLimit(1))
    func ownStack() async throws {
        let count = try await countAccounts()
        #expect(count == 0)
    }

    @Suite("Inner suites") struct Inner {
        @Test("Inner suites inherit the traits", .statementLimit(1))
        func inherited() async throws {
            let count = try await countAccounts()
            #expect(count == 2)
            #expect(try VirtualClock.test.alarms.isEmpty)
        }
    }
}
