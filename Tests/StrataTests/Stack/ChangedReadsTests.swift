import StoreModels
import Synchronization
import Testing

@testable import Strata

/// Writes while other contexts, stacks and processes commit. Blocks that wait for such a commit run before their
/// transactions, so they must not count as short.
@Suite("Blocks of a write whose reads another commit changes", .timeLimit(.minutes(2)))
struct ChangedReadsTests {
    /// Counts the runs of a block.
    private final class Runs: Sendable {
        private let number = Mutex(0)

        var count: Int { number.withLock { $0 } }

        /// Counts a run. Returns its number, from 1.
        @discardableResult
        func next() -> Int {
            number.withLock { number in
                number += 1
                return number
            }
        }
    }

    /// A stack in memory.
    private static func open() async throws -> ContextStack {
        let stack = try await WriteTests.open()
        stack.runWrites(inside: false)
        return stack
    }

    /// A stack, and the stack that commits meanwhile: the same one, or another one on the same file.
    private static func open(_ folder: ScratchFolder, hasOther: Bool) async throws -> (ContextStack, ContextStack) {
        let location = StoreLocation.sqlite(folder.file("s.sqlite"))
        let stack = try await WriteTests.open(at: location)
        stack.runWrites(inside: false)
        return (stack, hasOther ? try await WriteTests.open(at: location) : stack)
    }

    private static func close(_ stack: ContextStack, _ other: ContextStack) async throws {
        if other !== stack { try await other.close() }
        try await stack.close()
    }

    @Test(
        "If another context or stack changes what the block has read, the block runs again on the new state",
        arguments: [false, true]
    )
    func again(hasOther: Bool) async throws {
        let folder = try ScratchFolder()
        let (stack, other) = try await Self.open(folder, hasOther: hasOther)
        let runs = Runs()
        let balance = try await stack.write { context -> Int in
            let account = try WriteTests.account(in: context)
            if runs.next() == 1 { try other.meanwhile { try WriteTests.account(in: $0).balance += 10 } }
            account.balance *= 2
            return account.balance
        }
        #expect(runs.count == 2)
        #expect(balance == 30)
        #expect(try await WriteTests.stored(stack) == ["own 30 -"])
        #expect(try await WriteTests.stored(other) == ["own 30 -"])
        try await Self.close(stack, other)
    }

    @Test("A block does not run again after a commit to a model that it has not read", arguments: [false, true])
    func unread(hasOther: Bool) async throws {
        let folder = try ScratchFolder()
        let (stack, other) = try await Self.open(folder, hasOther: hasOther)
        let runs = Runs()
        try await stack.write { context in
            let account = try WriteTests.account(in: context)
            runs.next()
            try other.meanwhile { $0.insert(Spouse(name: "S")) }
            account.balance *= 2
        }
        #expect(runs.count == 1)
        #expect(try await WriteTests.stored(stack) == ["own 10 -"])
        #expect(try await stack.background { try $0.count(Spouse.all) } == 1)
        try await Self.close(stack, other)
    }

    @Test(
        "If another commit changes a relationship to many, the block runs again only if it has read the relationship",
        // In the history that another stack reads, changed members are an update of their owners, so a block that has
        // read only the owners may run again.
        arguments: [(true, false), (true, true), (false, false)]
    )
    func members(isRead: Bool, hasOther: Bool) async throws {
        let folder = try ScratchFolder()
        let (stack, other) = try await Self.open(folder, hasOther: hasOther)
        try await stack.write { context in
            let writer = context.insert(Writer(name: "W"))
            writer.spouses.insert(context.insert(Spouse(name: "S")))
            context.insert(Spouse(name: "T"))
        }
        let runs = Runs()
        try await stack.write { context in
            let writer = try #require(try context.first(Writer.all))
            let count = try isRead ? writer.spouses.count : 0
            if runs.next() == 1 {
                try other.meanwhile { second in
                    let spouse = try #require(try second.first(Spouse.where { $0.name == "T" }))
                    try second.first(Writer.all)?.spouses.insert(spouse)
                }
            }
            writer.fee = Double(count)
        }
        #expect(runs.count == (isRead ? 2 : 1))
        let fee = try await stack.background { try $0.first(Writer.all)?.fee }
        #expect(fee == (isRead ? 2.0 : 0.0))
        let members = try await stack.background { try $0.first(Writer.all)?.spouses.count }
        #expect(members == 2)
        try await Self.close(stack, other)
    }

    @Test("If other commits disturb every run up to the limit, the call throws a conflict, and nothing is written")
    func limit() async throws {
        let stack = try await Self.open()
        let runs = Runs()
        await expect(.conflict) {
            try await stack.write(ifChanged: .runAgain(limit: 3)) { context in
                runs.next()
                try WriteTests.account(in: context).note = "mine"
                context.insert(Account(name: "new", balance: 1, note: "-"))
                try stack.meanwhile { try WriteTests.account(in: $0).balance += 1 }
            }
        }
        #expect(runs.count == 3)
        #expect(try await WriteTests.stored(stack) == ["own 8 -"])
        try await stack.close()
    }

    @Test("A block may succeed in its last run, and a limit below 1 is refused")
    func smallLimits() async throws {
        let stack = try await Self.open()
        let runs = Runs()
        try await stack.write(ifChanged: .runAgain(limit: 1)) { context in
            runs.next()
            try WriteTests.account(in: context).balance += 1
        }
        #expect(runs.count == 1)
        for limit in [0, -1, Int.min] {
            await expect(.invalidState) {
                try await stack.write(ifChanged: .runAgain(limit: limit)) { context in
                    runs.next()
                    try WriteTests.account(in: context).balance += 1
                }
            }
        }
        #expect(runs.count == 1)
        #expect(try await WriteTests.stored(stack) == ["own 6 -"])
        try await stack.close()
    }

    @Test("With merge, a block runs once, and different columns of a row merge", arguments: [false, true])
    func differentColumns(hasOther: Bool) async throws {
        let folder = try ScratchFolder()
        let (stack, other) = try await Self.open(folder, hasOther: hasOther)
        let runs = Runs()
        try await stack.write(ifChanged: .merge(.error)) { context in
            runs.next()
            try WriteTests.account(in: context).balance = 6
            try other.meanwhile { try WriteTests.account(in: $0).note = "theirs" }
        }
        #expect(runs.count == 1)
        #expect(try await WriteTests.stored(stack) == ["own 6 theirs"])
        try await Self.close(stack, other)
    }

    @Test("With merge, the policy decides about a column that both commits have changed", arguments: [false, true])
    func sameColumn(hasOther: Bool) async throws {
        let folder = try ScratchFolder()
        let (stack, other) = try await Self.open(folder, hasOther: hasOther)
        let runs = Runs()
        let edit: @Sendable (ObjectContext) throws -> Void = { context in
            let number = runs.next()
            let account = try WriteTests.account(in: context)
            account.note = "mine \(number)"
            account.balance += 1
            try other.meanwhile { try WriteTests.account(in: $0).note = "theirs \(number)" }
        }
        await expect(.conflict) { try await stack.write(ifChanged: .merge(.error), edit) }
        #expect(runs.count == 1)
        #expect(try await WriteTests.stored(stack) == ["own 5 theirs 1"])
        try await stack.write(ifChanged: .merge(.mine), edit)
        #expect(runs.count == 2)
        #expect(try await WriteTests.stored(stack) == ["own 6 mine 2"])
        try await stack.write(ifChanged: .merge(.theirs), edit)
        #expect(runs.count == 3)
        #expect(try await WriteTests.stored(stack) == ["own 7 theirs 3"])
        try await Self.close(stack, other)
    }

    @Test("A body for after the commit runs once, and only that of the run that is committed")
    func afterCommit() async throws {
        struct Oops: Error {}
        let stack = try await Self.open()
        let (log, runs) = (AfterCommitTests.Log(), Runs())
        try await stack.write { context in
            let number = runs.next()
            try WriteTests.account(in: context).balance += 1
            context.afterCommit(log.body("run \(number)"))
            if number == 1 { try stack.meanwhile { try WriteTests.account(in: $0).balance += 10 } }
        }
        await #expect(throws: Oops.self) {
            try await stack.write { context -> Void in
                context.afterCommit(log.body("of a block that throws"))
                throw Oops()
            }
        }
        await expect(.validation) {
            try await stack.write { context in
                context.afterCommit(log.body("of a refused commit"))
                context.insert(Writer(name: "nobody"))
            }
        }
        #expect(try await log.all(stack) == ["run 2"])
        #expect(try await WriteTests.stored(stack) == ["own 16 -"])
        try await stack.close()
    }

    @Test("Ten writers in three processes count in one row beside plain commits, and no update is lost")
    func processes() async throws {
        let folder = try ScratchFolder()
        let url = try await folder.makeBank()
        // SQLite does not queue the processes that wait for each other.
        let stack = try await openBank(url, timeout: 60)
        let first = Account.where { $0.name == "account 0" }
        let start = try await stack.background { try $0.first(first)?.balance ?? 0 }
        let children = try (0..<2).map { _ in try HelperProcess("count", url.path, "3", "100") }
        for child in children {
            let line = try await child.next()
            #expect(line == "ready")
        }
        async let rows: Void = Self.insertAccounts(200, stack)
        var balances = try await Bank.count(writers: 4, times: 100, stack)
        try await rows
        for child in children {
            let lines = await child.end()
            #expect(lines.count == 1, "\(lines)")
            balances += lines.joined(separator: " ").split(separator: " ").compactMap { Int($0) }
        }
        // Each balance is the result of exactly one block.
        #expect(balances.sorted() == Array((start + 1)...(start + 1000)))
        let end = try await stack.background { try $0.first(first)?.balance }
        #expect(end == start + 1000)
        let count = try await stack.background { try $0.count(Account.where { $0.name.hasPrefix("plain") }) }
        #expect(count == 200)
        try await stack.close()
    }

    /// Commits accounts one by one, in plain blocks.
    private static func insertAccounts(_ count: Int, _ stack: ContextStack) async throws {
        for number in 0..<count {
            try await stack.background { context in
                context.insert(Account(name: "plain \(number)", balance: 0))
                try context.commit()
            }
        }
    }
}
