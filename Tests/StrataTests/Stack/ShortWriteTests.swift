import Dispatch
import class GRDB.DatabasePool
import StoreModels
import Synchronization
import Testing

@testable import Strata

extension ContextStack {
    /// Makes all blocks of `write` run inside their transactions, or before them, however long they take.
    func runWrites(inside isInside: Bool) {
        core.writePace.timeLimit.withLock { $0 = isInside ? .seconds(600) : .zero }
        core.writePace.isShort = isInside
        // A call that does not end: a block that is alone runs before its transaction.
        if isInside { _ = core.writes.begin() }
    }
}

extension ObjectContext {
    /// Whether the running block is inside the transaction of its commit.
    var runsInTransaction: Bool { reading.transaction != nil }
}

@Suite("Short blocks of a write, which run inside their transactions", .timeLimit(.minutes(2)))
struct ShortWriteTests {
    private struct Refusal: Error {}

    typealias Block = @Sendable (ObjectContext) throws -> Void

    @Test("Concurrent short blocks share one transaction, in the order of the calls, and each is a commit")
    func shared() async throws {
        let store = try await SharingStore()
        let (stack, id) = (store.stack, try await store.cells(0..<1)[0])
        stack.runWrites(inside: true)
        let (token, journal) = (stack.historyToken, Journal())
        let count = 20
        let calls = (1...count).map { number -> @Sendable () async throws -> Void in
            {
                let value = try await stack.write { context -> Int in
                    let cell = try #require(try context.find(id))
                    cell.b += 1
                    return cell.b
                }
                journal.add("\(number) wrote \(value)")
            }
        }
        let outcomes = try await store.runTogether(calls)
        #expect(outcomes.haveSucceeded)
        #expect(outcomes.transactions == 1)
        #expect(Set(journal.all) == Set((1...count).map { "\($0) wrote \($0)" }))
        #expect(try store.stored() == [[0, count, 0]])
        let history = try await stack.history(since: token).map(\.token.sequence)
        #expect(history == (1...Int64(count)).map { token.sequence + $0 })
        try await stack.close()
    }

    @Test("A block that fails leaves nothing, its error arrives unchanged, and the others are committed")
    func failures() async throws {
        let store = try await SharingStore()
        let (stack, id) = (store.stack, try await store.cells(0..<1)[0])
        stack.runWrites(inside: true)
        let add: Block = { try #require(try $0.find(id)).b += 1 }
        let blocks: [Block] = [
            add,
            { context in
                try add(context)
                throw Refusal()
            },
            { context in
                try add(context)
                context.insert(Range2(low: 2, high: 1))
            },
            { context in
                try add(context)
                try context.cast.commit()
            }, add,
        ]
        let outcomes = try await store.runTogether(blocks.map { block in { try await stack.write(block) } })
        #expect(outcomes.codes == [nil, StrataError.Code("\(Refusal())"), .validation, .invalidState, nil])
        #expect(outcomes.transactions == 1)
        #expect(try store.stored() == [[0, 2, 0]])
        try await stack.close()
    }

    @Test("A block inside sees the commits that wait before it, so that one run is enough")
    func limit() async throws {
        let store = try await SharingStore()
        let (stack, id) = (store.stack, try await store.cells(0..<1)[0])
        let (handle, journal) = (try store.contexts(1)[0], Journal())
        try await store.edit(id, in: handle, b: 5)
        stack.runWrites(inside: true)
        let outcomes = try await store.runTogether([
            { try await handle.commit() },
            {
                try await stack.write(ifChanged: .runAgain(limit: 1)) { context in
                    journal.add("run")
                    try #require(try context.find(id)).b *= 2
                }
            },
        ])
        #expect(outcomes.haveSucceeded)
        #expect(journal.all == ["run"])
        #expect(try store.stored() == [[0, 10, 0]])
        try await stack.close()
    }

    @MainActor
    @Test("Blocks inside transactions and blocks before them run one at a time, in the order of the calls")
    func order() async throws {
        let stack = try await WriteTests.open()
        let (journal, hasBegun, gate) = (Journal(), Signal(), DispatchSemaphore(value: 0))
        let numbers = 0..<12
        var calls: [Task<Void, any Error>] = []
        for number in numbers {
            // Two of three blocks run inside their transactions.
            let isInside = number % 3 > 0
            stack.runWrites(inside: isInside)
            let call = Task {
                try await stack.write { context in
                    journal.add("begin \(number)")
                    if number == 0 {
                        hasBegun.set()
                        gate.wait()
                    }
                    #expect(context.runsInTransaction == isInside)
                    let account = try WriteTests.account(in: context)
                    account.note += " \(number)"
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
        let note = numbers.map { " \($0)" }.joined()
        #expect(try await WriteTests.stored(stack) == ["own 5 -\(note)"])
        try await stack.close()
    }

    @Test("The last block of a stack decides how the next one runs")
    func pace() async throws {
        let (stack, journal) = (try await WriteTests.open(), Journal())
        // As if the block of another call waited.
        _ = stack.core.writes.begin()
        for isLong in [true, false, false, true, false] {
            // With a limit of zero, a block counts as long.
            stack.core.writePace.timeLimit.withLock { $0 = isLong ? .zero : .seconds(600) }
            try await stack.write { context in
                journal.add(context.runsInTransaction ? "inside" : "before")
                try WriteTests.account(in: context).balance += 1
            }
        }
        #expect(journal.all == ["before", "before", "inside", "inside", "before"])
        #expect(try await WriteTests.stored(stack) == ["own 10 -"])
        try await stack.close()
    }

    @Test("A short block that is the only one runs before its transaction")
    func alone() async throws {
        let (stack, journal) = (try await WriteTests.open(), Journal())
        for isShort in [false, true, true] {
            stack.core.writePace.isShort = isShort
            stack.core.writePace.timeLimit.withLock { $0 = .seconds(600) }
            try await stack.write { context in
                journal.add(context.runsInTransaction ? "inside" : "before")
                try WriteTests.account(in: context).balance += 1
            }
        }
        #expect(journal.all == ["before", "before", "before"])
        #expect(try await WriteTests.stored(stack) == ["own 8 -"])
        try await stack.close()
    }

    @Test("A long block runs inside its transaction after three disturbed runs")
    func fourthRun() async throws {
        let (stack, journal) = (try await WriteTests.open(), Journal())
        stack.runWrites(inside: false)
        let balance = try await stack.write { context -> Int in
            let account = try WriteTests.account(in: context)
            journal.add(context.runsInTransaction ? "inside" : "before")
            if !context.runsInTransaction { try stack.meanwhile { try WriteTests.account(in: $0).balance += 10 } }
            account.balance *= 2
            return account.balance
        }
        #expect(journal.all == ["before", "before", "before", "inside"])
        #expect(balance == 70)
        #expect(try await WriteTests.stored(stack) == ["own 70 -"])
        try await stack.close()
    }

    @Test("With merge, blocks run before their transactions, however short they are")
    func merging() async throws {
        let stack = try await WriteTests.open()
        stack.runWrites(inside: true)
        try await stack.write(ifChanged: .merge(.error)) { context in
            #expect(!context.runsInTransaction)
            try WriteTests.account(in: context).balance += 1
        }
        #expect(try await WriteTests.stored(stack) == ["own 6 -"])
        try await stack.close()
    }

    @Test("In a caller's own database, whose code may wait for a block, blocks run before their transactions")
    func ownPool() async throws {
        let folder = try ScratchFolder()
        let pool = try DatabasePool(path: folder.file("own.sqlite").path)
        let stack = try await ContextStack.open(.pool(pool), models: savingModels, stack: .rootOnly)
        stack.runWrites(inside: true)
        for _ in 0..<3 {
            try await stack.write { context in
                #expect(!context.runsInTransaction)
                let cell = try context.first(Cell.all) ?? context.insert(Cell(a: 0))
                cell.a += 1
            }
        }
        #expect(try await stack.background { try $0.fetch(Cell.all).map(\.a) } == [3])
        try await stack.close()
    }

    @Test("If a task is cancelled while its block waits for the transaction, the block does not run")
    func cancelled() async throws {
        let store = try await SharingStore()
        let (stack, journal) = (store.stack, Journal())
        stack.runWrites(inside: true)
        let before = stack.transactionCount
        let lock = try DiskLock(store.url)
        let call = Task {
            try await stack.write { context in
                journal.add("ran")
                context.insert(Cell(a: 1))
            }
        }
        let isWaiting = try await eventually { stack.transactionCount == before + 1 }
        #expect(isWaiting)
        call.cancel()
        try lock.release()
        await #expect(throws: CancellationError.self) { try await call.value }
        #expect(journal.all == [])
        #expect(try store.stored() == [])
        try await stack.close()
    }
}
