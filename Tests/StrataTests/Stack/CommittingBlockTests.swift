import Dispatch
import StoreModels
import Testing

@testable import Strata

@Suite("Blocks over a named context that are committed", .timeLimit(.minutes(2)))
struct CommittingBlockTests {
    /// A stack, and a context named `network` with a draft note for the account. Its parent is the root.
    private static func open(
        at location: StoreLocation = .inMemory
    ) async throws -> (ContextStack, ContextHandle, ObjectID<Account>) {
        let stack = try await WriteTests.open(at: location)
        let network = try stack.create(.private, named: .network)
        let id = try await network.perform { context in
            let account = try WriteTests.account(in: context)
            account.note = "draft"
            return account.id
        }
        return (stack, network, id)
    }

    /// The account as a context shows it, and whether the context has unsaved changes.
    private static func shown(in handle: ContextHandle) async throws -> String {
        try await handle.perform { context in
            let account = try WriteTests.account(in: context)
            return "\(account.balance) \(account.note) \(context.hasChanges)"
        }
    }

    @Test("The block sees the context's unsaved changes, and only the block's own changes are committed")
    func unsaved() async throws {
        let (stack, network, _) = try await Self.open()
        try await network.perform { context in
            _ = context.insert(Account(name: "unsaved", balance: 1, note: "-"))
        }
        let seen = try await stack.on(.network, committing: .runAgain) { context -> [String] in
            try WriteTests.account(in: context).balance += 2
            let accounts = try context.fetch(Account.sorted { $0.name.ascending })
            return accounts.map { "\($0.name) \($0.balance) \($0.note)" }
        }
        #expect(seen == ["own 7 draft", "unsaved 1 -"])
        #expect(try await WriteTests.stored(stack) == ["own 7 -"])
        #expect(try await Self.shown(in: network) == "7 draft true")
        try await network.commit()
        #expect(try await WriteTests.stored(stack) == ["own 7 draft", "unsaved 1 -"])
        try await stack.close()
    }

    @Test(
        "If another context or stack changes what the block has read, the block runs again on the new state",
        arguments: [false, true]
    )
    func again(hasOther: Bool) async throws {
        let folder = try ScratchFolder()
        let location = StoreLocation.sqlite(folder.file("s.sqlite"))
        let (stack, network, id) = try await Self.open(at: location)
        let other = hasOther ? try await WriteTests.open(at: location) : stack
        let journal = Journal()
        try await stack.on(.network, committing: .runAgain) { context in
            // The row is in the layer of the named context, so it is found without a statement.
            let account = try #require(try context.find(id))
            journal.add("\(account.balance)")
            if journal.all.count == 1 { try other.meanwhile { try WriteTests.account(in: $0).balance += 10 } }
            context.insert(Spouse(name: "\(account.balance)"))
        }
        #expect(journal.all == ["5", "15"])
        #expect(try await stack.background { try $0.column(Spouse.all, \.name) } == ["15"])
        #expect(try await Self.shown(in: network) == "15 draft true")
        if hasOther { try await other.close() }
        try await stack.close()
    }

    @Test("If a parent gets an unsaved change of what the block has read, the block runs again")
    func changedParent() async throws {
        let (stack, _, _) = try await Self.open()
        let journal = Journal()
        try await stack.on(.network, committing: .runAgain) { context in
            let own = try WriteTests.account(in: context)
            let names = try context.column(Account.sorted { $0.name.ascending }, \.name)
            journal.add(names.joined(separator: " "))
            if journal.all.count == 1 {
                try waitForTask {
                    try await stack.on(.root) { root in
                        _ = root.insert(Account(name: "of root", balance: 0, note: "-"))
                    }
                }
            }
            own.balance = names.count
        }
        #expect(journal.all == ["own", "of root own"])
        #expect(try await WriteTests.stored(stack) == ["own 2 -"])
        #expect(try await stack.on(.root) { $0.hasChanges })
        try await stack.close()
    }

    @Test("If a commit of the same transaction removes an unsaved object from a parent, the block runs again")
    func cancelledInsert() async throws {
        let store = try await SharingStore()
        let (stack, journal) = (store.stack, Journal())
        let writer = try store.contexts(1)[0]
        try await writer.perform { context in
            context.insert(Cell(a: 1))
            try context.save()
        }
        try await writer.perform { context in try context.fetch(Cell.all).forEach(context.delete) }
        let outcomes = try await store.runTogether([
            { try await writer.commit() },
            {
                try await stack.on(.root, committing: .runAgain) { context in
                    let count = try context.count(Cell.all)
                    journal.add("\(count)")
                    context.insert(Author(name: "\(count)"))
                }
            },
        ])
        #expect(outcomes.haveSucceeded)
        #expect(journal.all == ["1", "0"])
        #expect(try await stack.background { try $0.column(Author.all, \.name) } == ["0"])
        try await stack.close()
    }

    @Test("The block never runs inside its transaction, and throws a conflict if each run is disturbed")
    func limit() async throws {
        let (stack, network, _) = try await Self.open()
        stack.runWrites(inside: true)
        let journal = Journal()
        await expect(.conflict) {
            try await stack.on(.network, committing: .runAgain(limit: 5)) { context in
                journal.add(context.runsInTransaction ? "inside" : "before")
                try WriteTests.account(in: context).balance += 1
                try stack.meanwhile { try WriteTests.account(in: $0).balance += 10 }
            }
        }
        #expect(journal.all == Array(repeating: "before", count: 5))
        #expect(try await WriteTests.stored(stack) == ["own 55 -"])
        #expect(try await Self.shown(in: network) == "55 draft true")
        try await stack.close()
    }

    @Test("If the block or its commit fails, neither the store nor the named context has changed")
    func failing() async throws {
        struct Oops: Error {}
        let (stack, network, _) = try await Self.open()
        await #expect(throws: Oops.self) {
            try await stack.on(.network, committing: .runAgain) { context -> Void in
                try WriteTests.account(in: context).balance += 1
                throw Oops()
            }
        }
        await expect(.validation) {
            try await stack.on(.network, committing: .merge(.mine)) { context in
                try WriteTests.account(in: context).balance += 1
                context.insert(Writer(name: "nobody"))
            }
        }
        await expect(.invalidState) {
            try await stack.on(.network, committing: .runAgain(limit: 0)) { context in
                try WriteTests.account(in: context).balance += 1
            }
        }
        await expect(.unknownName) {
            try await stack.on("nowhere", committing: .runAgain) { context in
                try WriteTests.account(in: context).balance += 1
            }
        }
        #expect(try await WriteTests.stored(stack) == ["own 5 -"])
        #expect(try await Self.shown(in: network) == "5 draft true")
        try await stack.close()
    }

    @Test(
        "The block cannot save, commit or run batches itself",
        arguments: [ChangedReads.runAgain, .merge(.error), .merge(.mine)]
    )
    func refused(_ policy: ChangedReads) async throws {
        let (stack, network, _) = try await Self.open()
        for commit in WriteTests.commits {
            await expect(.invalidState) {
                try await stack.on(.network, committing: policy) { context in
                    try WriteTests.account(in: context).balance += 1
                    try commit(context)
                }
            }
            #expect(try await WriteTests.stored(stack) == ["own 5 -"])
            #expect(try await Self.shown(in: network) == "5 draft true")
        }
        try await stack.close()
    }

    @Test("If the context and another commit have changed the value that the block changes, the commit has a conflict")
    func conflict() async throws {
        let (stack, network, _) = try await Self.open()
        try await network.perform { context in try WriteTests.account(in: context).balance = 7 }
        try await stack.background(parent: .named(.root)) { context in
            try WriteTests.account(in: context).balance = 15
            try context.commit()
        }
        let add: @Sendable (ObjectContext) throws -> Void = { context in
            try WriteTests.account(in: context).balance += 1
        }
        await expect(.conflict) { try await stack.on(.network, committing: .runAgain, add) }
        #expect(try await WriteTests.stored(stack) == ["own 15 -"])
        #expect(try await Self.shown(in: network) == "7 draft true")
        try await network.perform { context in context.rollback() }
        try await stack.on(.network, committing: .runAgain, add)
        #expect(try await WriteTests.stored(stack) == ["own 16 -"])
        try await stack.close()
    }

    @Test("Other blocks of the context wait until the changes are committed, and its objects then show them")
    func order() async throws {
        let (stack, network, _) = try await Self.open()
        try await network.perform { context in context.state[Kept.self] = try WriteTests.account(in: context) }
        let (hasBegun, gate) = (Signal(), DispatchSemaphore(value: 0))
        let call = Task {
            try await stack.on(.network, committing: .runAgain) { context in
                #expect(context.state[Kept.self] == nil)
                hasBegun.set()
                gate.wait()
                try WriteTests.account(in: context).balance += 1
            }
        }
        await hasBegun.wait()
        let next = Task { try await network.perform { context in context.state[Kept.self]?.balance } }
        await untilWaiting(1, at: network)
        gate.signal()
        try await call.value
        #expect(try await next.value == 6)
        try await stack.close()
    }

    @Test("In a block of the same context, the call joins that block, which then shows the changes")
    func joined() async throws {
        let (stack, network, _) = try await Self.open()
        let shown = try await network.perform { context in
            let account = try WriteTests.account(in: context)
            account.note = "newer"
            let seen = try await stack.on(.network, committing: .runAgain) { child -> String in
                let account = try WriteTests.account(in: child)
                account.balance += 1
                return account.note
            }
            return "\(seen) \(account.balance) \(account.note)"
        }
        #expect(shown == "newer 6 newer")
        #expect(try await WriteTests.stored(stack) == ["own 6 -"])
        try await stack.close()
    }

    @MainActor
    @Test("Over the main context, the block sees unsaved changes of the main actor, which then sees the block's")
    func main() async throws {
        let stack = try await WriteTests.open(.standard)
        let shown = try WriteTests.account(in: stack.main)
        shown.note = "draft"
        let seen = try await stack.on(.main, committing: .runAgain) { context -> String in
            let account = try WriteTests.account(in: context)
            account.balance += 1
            return account.note
        }
        #expect(seen == "draft")
        #expect(shown.balance == 6)
        #expect(shown.note == "draft")
        #expect(try await WriteTests.stored(stack) == ["own 6 -"])
        try await stack.close()
    }
}

private enum Kept: ContextStateKey { typealias Value = Account }
