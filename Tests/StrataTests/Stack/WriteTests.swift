import Dispatch
import StoreModels
import Testing

@testable import Strata

@Suite("Blocks that a write commits", .timeLimit(.minutes(1)))
struct WriteTests {
    private static let models: [any Model.Type] = Bank.models + [Writer.self, Spouse.self]

    /// A stack whose store has an account with a balance of 5.
    static func open(
        _ setUp: StackSetUp = .rootOnly,
        at location: StoreLocation = .inMemory
    ) async throws -> ContextStack {
        let stack = try await ContextStack.open(location, models: models, stack: setUp)
        try await stack.background { context in
            guard try !context.exists(Account.all) else { return }
            context.insert(Account(name: "own", balance: 5, note: "-"))
            try context.commit()
        }
        return stack
    }

    /// The account that the store has from the start.
    static func account(in context: ObjectContext) throws -> Account {
        try #require(try context.first(Account.where { $0.name == "own" }))
    }

    /// The committed accounts, as lines.
    static func stored(_ stack: ContextStack) async throws -> [String] {
        try await stack.overStore { context in
            try context.fetch(Account.sorted { $0.name.ascending }).map { "\($0.name) \($0.balance) \($0.note)" }
        }
    }

    @Test(
        "A write returns the block's value, and other contexts and stacks then show the changes",
        arguments: [false, true]
    )
    func committed(isInside: Bool) async throws {
        let folder = try ScratchFolder()
        let location = StoreLocation.sqlite(folder.file("s.sqlite"))
        let stack = try await Self.open(at: location)
        stack.runWrites(inside: isInside)
        let kept = try stack.create(.private, named: .network)
        try await kept.perform { context in
            context.state[Shown.self] = try Self.account(in: context)
        }
        let balance = try await stack.write { context -> Int in
            let account = try Self.account(in: context)
            account.balance += 2
            context.insert(Account(name: "new", balance: 1, note: "-"))
            return account.balance
        }
        #expect(balance == 7)
        let shown = try await kept.perform { context in context.state[Shown.self]?.balance }
        #expect(shown == 7)
        let names = try await stack.background { try $0.column(Account.sorted { $0.name.ascending }, \.name) }
        #expect(names == ["new", "own"])
        let other = try await Self.open(at: location)
        #expect(try await Self.stored(other) == ["new 1 -", "own 7 -"])
        try await other.close()
        try await stack.close()
    }

    @Test(
        "If a block throws, nothing is written, and the call throws the block's error",
        arguments: [ChangedReads.runAgain, .merge(.error)]
    )
    func throwing(_ policy: ChangedReads) async throws {
        struct Oops: Error {}
        let stack = try await Self.open()
        await #expect(throws: Oops.self) {
            try await stack.write(ifChanged: policy) { context -> Void in
                try Self.account(in: context).balance += 1
                context.insert(Account(name: "new", balance: 1, note: "-"))
                throw Oops()
            }
        }
        #expect(try await Self.stored(stack) == ["own 5 -"])
        // The error does not stop later blocks.
        try await stack.write(ifChanged: policy) { context in try Self.account(in: context).balance += 1 }
        #expect(try await Self.stored(stack) == ["own 6 -"])
        try await stack.close()
    }

    @Test(
        "If the commit fails, nothing is written, and the call throws the error of the commit",
        arguments: [ChangedReads.runAgain, .merge(.mine)]
    )
    func refusedCommit(_ policy: ChangedReads) async throws {
        let stack = try await Self.open()
        let faults: [(StrataError.Code, @Sendable (ObjectContext) -> Void)] = [
            (.validation, { $0.insert(Writer(name: "nobody")) }),
            (.notUnique, { $0.insert(Account(name: "own", balance: 0, note: "twin")) }),
        ]
        for (code, fault) in faults {
            await expect(code) {
                try await stack.write(ifChanged: policy) { context in
                    context.insert(Account(name: "new", balance: 1, note: "-"))
                    fault(context)
                }
            }
        }
        #expect(try await Self.stored(stack) == ["own 5 -"])
        #expect(try await stack.background { try $0.count(Writer.all) } == 0)
        try await stack.close()
    }

    /// Calls that a block must not make. The type of its context has none of them.
    static let commits: [@Sendable (ObjectContext) throws -> Void] = [
        { try $0.cast.save() },
        { try $0.cast.commit() },
        { context in try context.savepoint { try context.cast.save() } },
        { context in try context.cast.batchUpdate(Account.all) { $0.balance.set(to: 9) } },
        { context in try context.cast.batchDelete(Account.all) },
    ]

    @Test(
        "A block cannot save, commit or run batches itself",
        arguments: [ChangedReads.runAgain, .merge(.error), .merge(.mine)]
    )
    func refused(_ policy: ChangedReads) async throws {
        let stack = try await Self.open()
        for commit in Self.commits {
            await expect(.invalidState) {
                try await stack.write(ifChanged: policy) { context in
                    try Self.account(in: context).balance += 1
                    try commit(context)
                }
            }
            #expect(try await Self.stored(stack) == ["own 5 -"])
        }
        // A block that handles the error is committed as a whole.
        try await stack.write(ifChanged: policy) { context in
            for commit in Self.commits {
                try Self.account(in: context).balance += 1
                #expect(throws: StrataError.self) { try commit(context) }
            }
        }
        #expect(try await Self.stored(stack) == ["own \(5 + Self.commits.count) -"])
        try await stack.close()
    }

    @MainActor
    @Test("Blocks run one at a time, in the order of the calls")
    func order() async throws {
        let stack = try await Self.open()
        let (journal, hasBegun, gate) = (Journal(), Signal(), DispatchSemaphore(value: 0))
        let numbers = 0..<10
        var calls: [Task<Void, any Error>] = []
        for number in numbers {
            let call = Task {
                try await stack.write { context in
                    journal.add("begin \(number)")
                    if number == 0 {
                        hasBegun.set()
                        gate.wait()
                    }
                    let account = try Self.account(in: context)
                    account.note += "\(number)"
                    journal.add("end \(number)")
                }
            }
            calls.append(call)
            // A call leaves the main actor when it has queued its block, so an active call has queued it.
            await untilActive(number + 1, stack)
        }
        await hasBegun.wait()
        #expect(journal.all == ["begin 0"])
        gate.signal()
        for call in calls { try await call.value }
        #expect(journal.all == numbers.flatMap { ["begin \($0)", "end \($0)"] })
        #expect(try await Self.stored(stack) == ["own 5 -0123456789"])
        try await stack.close()
    }

    @MainActor
    @Test(
        "A block does not see unsaved changes, which stay unsaved, and a main context then shows the block's changes",
        arguments: [false, true]
    )
    func unsaved(isInside: Bool) async throws {
        let stack = try await Self.open(.standard)
        stack.runWrites(inside: isInside)
        let shown = try Self.account(in: stack.main)
        shown.note = "draft"
        try stack.main.insert(Account(name: "of main", balance: 0, note: "-"))
        try await stack.on(.root) { context in
            _ = context.insert(Account(name: "of root", balance: 0, note: "-"))
        }
        let seen = try await stack.write { context -> [String] in
            try Self.account(in: context).balance += 1
            return try context.fetch(Account.all).map { "\($0.name) \($0.note)" }
        }
        #expect(seen == ["own -"])
        // No fetch is needed: the object itself shows the new value, and its unsaved one.
        #expect(shown.balance == 6)
        #expect(shown.note == "draft")
        #expect(try stack.main.hasChanges)
        #expect(try await stack.on(.root) { $0.hasChanges })
        #expect(try await Self.stored(stack) == ["own 6 -"])
        try await stack.commit(.main)
        try await stack.commit(.root)
        #expect(try await Self.stored(stack) == ["of main 0 -", "of root 0 -", "own 6 draft"])
        try await stack.close()
    }

    @Test("A closed stack refuses blocks", arguments: [ChangedReads.runAgain, .merge(.error)])
    func closed(_ policy: ChangedReads) async throws {
        let stack = try await Self.open()
        try await stack.close()
        let journal = Journal()
        await expect(.closed) {
            try await stack.write(ifChanged: policy) { _ in journal.add("ran") }
        }
        #expect(journal.all == [])
    }

    @Test(
        "If a task is cancelled while its block waits, the call throws a CancellationError, and the block does not run",
        arguments: [ChangedReads.runAgain, .merge(.error)]
    )
    func cancelled(_ policy: ChangedReads) async throws {
        let stack = try await Self.open()
        let (journal, hasBegun, gate) = (Journal(), Signal(), DispatchSemaphore(value: 0))
        let first = Task {
            try await stack.write(ifChanged: policy) { context in
                hasBegun.set()
                gate.wait()
                try Self.account(in: context).balance += 1
            }
        }
        await hasBegun.wait()
        let second = Task {
            try await stack.write(ifChanged: policy) { context in
                journal.add("ran")
                try Self.account(in: context).balance += 10
            }
        }
        await untilActive(2, stack)
        second.cancel()
        gate.signal()
        try await first.value
        await #expect(throws: CancellationError.self) { try await second.value }
        #expect(journal.all == [])
        #expect(try await Self.stored(stack) == ["own 6 -"])
        try await stack.close()
    }
}

private enum Shown: ContextStateKey { typealias Value = Account }
