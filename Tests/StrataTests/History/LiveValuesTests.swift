import Foundation
import StoreModels
import Testing

@testable import Strata

@Suite("Live values of blocks", .timeLimit(.minutes(2)))
struct LiveValuesTests {
    struct Refusal: Error {}

    /// A task that records the values of a live sequence as lines.
    struct Consumer {
        let values = Journal()
        let task: Task<Void, any Error>

        init<Value: Sendable>(_ live: LiveValues<Value>) {
            let values = self.values
            task = Task {
                for try await value in live { values.add("\(value)") }
            }
        }
    }

    /// Waits until live sequences have looked at all events so far, and wait for the next one.
    func untilIdle(_ stack: ContextStack, count: Int = 1) async throws {
        let isIdle = try await eventually {
            stack.core.engine.layers.state.withLock { $0.log.subscribers.tasks.count == count }
        }
        #expect(isIdle)
    }

    static func open(_ folder: StoreFolder) async throws -> ContextStack {
        try await ContextStack.open(folder.location, models: allModels, stack: .rootOnly)
    }

    func commit(
        in stack: ContextStack,
        _ body: @escaping @Sendable (SavingContext) throws -> Void
    ) async throws {
        try await stack.background { context in
            try body(context)
            try context.commit()
        }
    }

    @Test(
        "The first value comes at once, then one for each change; equal values are dropped",
        arguments: StoreKind.allCases
    )
    func changes(_ kind: StoreKind) async throws {
        try await withStack(kind, .rootOnly) { stack in
            let runs = Journal()
            let live = stack.live { context in
                runs.add("run")
                return try context.count(Author.where { $0.fee == 1 })
            }
            let consumer = Consumer(live)
            try await untilIdle(stack)
            #expect(consumer.values.all == ["0"])
            #expect(runs.all.count == 1)
            // The value stays the same.
            try await commit(in: stack) { $0.insert(Author(name: "a", fee: 2)) }
            try await untilIdle(stack)
            #expect(consumer.values.all == ["0"])
            #expect(runs.all.count == 2)
            // The block does not read this table, and no unsaved changes.
            try await commit(in: stack) { $0.insert(Spouse(name: "s")) }
            try await stack.on(.root) { _ = $0.insert(Author(name: "unsaved", fee: 1)) }
            try await untilIdle(stack)
            #expect(runs.all.count == 2)
            try await stack.on(.root) { $0.rollback() }
            try await commit(in: stack) { $0.insert(Author(name: "b", fee: 1)) }
            try await untilIdle(stack)
            #expect(consumer.values.all == ["0", "1"])
            #expect(runs.all.count == 3)
        }
    }

    @Test("The block runs again after a change of whatever it reads", arguments: ReadExample.all)
    func reads(_ example: ReadExample) async throws {
        try await withStack(.file, .rootOnly) { stack in
            try await commit(in: stack) { context in
                let author = context.insert(Author(name: "a"))
                context.insert(Article(title: "t", views: 1, author: author))
                context.insert(Writer(name: "w"))
                context.insert(Spouse(name: "z"))
            }
            let consumer = Consumer(stack.live(example.read))
            try await untilIdle(stack)
            #expect(consumer.values.all == [example.values[0]])
            try await commit(in: stack, example.change)
            try await untilIdle(stack)
            #expect(consumer.values.all == example.values)
        }
    }

    @Test("A full-text search is read like other queries")
    func search() async throws {
        let folder = try StoreFolder()
        let stack = try await ContextStack.open(folder.location, models: searchModels, stack: .rootOnly)
        var live = stack.live { try $0.count(Sheet.search("swift")) }.makeAsyncIterator()
        #expect(try await live.next() == 0)
        try await commit(in: stack) { $0.insert(Sheet(title: "Swift")) }
        #expect(try await live.next() == 1)
        try await commit(in: stack) { try #require(try $0.first(Sheet.all)).title = "Rust" }
        #expect(try await live.next() == 0)
        try await stack.close()
    }

    @Test("The tables of the last run count, and those of earlier runs do not")
    func varyingReads() async throws {
        try await withStack(.file, .rootOnly) { stack in
            let runs = Journal()
            let live = stack.live { context -> Int in
                runs.add("run")
                return try context.exists(Author.all) ? try context.count(Spouse.all) : -1
            }
            let consumer = Consumer(live)
            try await untilIdle(stack)
            try await commit(in: stack) { $0.insert(Spouse(name: "s")) }
            try await untilIdle(stack)
            #expect(runs.all.count == 1)
            try await commit(in: stack) { $0.insert(Author(name: "a")) }
            try await untilIdle(stack)
            try await commit(in: stack) { $0.insert(Spouse(name: "t")) }
            try await untilIdle(stack)
            try await commit(in: stack) { context in
                context.delete(try #require(try context.first(Author.all)))
            }
            try await untilIdle(stack)
            #expect(consumer.values.all == ["-1", "1", "2", "-1"])
            try await commit(in: stack) { $0.insert(Spouse(name: "u")) }
            try await untilIdle(stack)
            #expect(runs.all.count == 4)
        }
    }

    @Test("A block that reads nothing has one value")
    func noReads() async throws {
        try await withStack(.file, .rootOnly) { stack in
            let runs = Journal()
            let live = stack.live { _ -> Int in
                runs.add("run")
                return 1
            }
            let consumer = Consumer(live)
            try await untilIdle(stack)
            try await commit(in: stack) { $0.insert(Author(name: "a")) }
            try await untilIdle(stack)
            #expect(consumer.values.all == ["1"])
            #expect(runs.all.count == 1)
        }
    }

    @Test("Values that are not equatable come after each run, also if they are the same")
    func notEquatable() async throws {
        try await withStack(.file, .rootOnly) { stack in
            let live = stack.live { (try $0.count(Author.where { $0.fee == 1 }), try $0.count(Spouse.all)) }
            let consumer = Consumer(live)
            try await untilIdle(stack)
            try await commit(in: stack) { $0.insert(Author(name: "a", fee: 2)) }
            try await untilIdle(stack)
            try await commit(in: stack) { $0.insert(Spouse(name: "s")) }
            try await untilIdle(stack)
            #expect(consumer.values.all == ["(0, 0)", "(0, 0)", "(0, 1)"])
        }
    }

    @Test("A value that is nil is an element like others")
    func optionalValues() async throws {
        try await withStack(.file, .rootOnly) { stack in
            let consumer = Consumer(stack.live { try $0.first(Author.all)?.name })
            try await untilIdle(stack)
            try await commit(in: stack) { $0.insert(Author(name: "a")) }
            try await untilIdle(stack)
            #expect(consumer.values.all == ["nil", #"Optional("a")"#])
        }
    }

    @Test("A slow consumer gets the newest value, after one run for many commits; iterators are independent")
    func slowConsumer() async throws {
        let folder = try StoreFolder()
        let stack = try await Self.open(folder)
        let runs = Journal()
        let live = stack.live { context -> Int in
            runs.add("run")
            return try context.count(Author.all)
        }
        var (slow, other) = (live.makeAsyncIterator(), live.makeAsyncIterator())
        #expect(try await slow.next() == 0)
        for number in 1...10 {
            try await commit(in: stack) { $0.insert(Author(name: "\(number)")) }
            if number == 5 { #expect(try await other.next() == 5) }
        }
        #expect(try await slow.next() == 10)
        #expect(runs.all.count == 3)
        #expect(try await other.next() == 10)
        try await stack.close()
    }

    @Test("A commit during a run makes the block run again")
    func duringRun() async throws {
        let folder = try StoreFolder()
        let stack = try await Self.open(folder)
        let runs = Journal()
        var live = stack.live { context -> Int in
            runs.add("run")
            if runs.all.count == 1 { try stack.meanwhile { $0.insert(Author(name: "a")) } }
            return try context.count(Author.all)
        }.makeAsyncIterator()
        // The state of a run is that of its beginning.
        #expect(try await live.next() == 0)
        #expect(try await live.next() == 1)
        try await stack.close()
    }

    @Test("If a cursor moves the block past a change of what it has read, the next run stays at one state")
    func movedByCursor() async throws {
        let folder = try StoreFolder()
        let stack = try await Self.open(folder)
        let runs = Journal()
        var live = stack.live { context -> [Int] in
            runs.add("run")
            let first = try context.count(Author.all)
            // Another context commits during each run.
            try stack.meanwhile { $0.insert(Author(name: "a")) }
            var second = 0
            try context.forEach(Author.all) { _ in second += 1 }
            // This error belongs to a run that has read two states.
            if runs.all.count == 1 { throw Refusal() }
            return [first, second]
        }.makeAsyncIterator()
        #expect(try await live.next() == [1, 1])
        #expect(runs.all.count == 2)
        #expect(try await live.next() == [3, 3])
        #expect(runs.all.count == 4)
        try await stack.close()
    }

    @Test("No commit is missed, and all queries of a run see one state", arguments: [false, true])
    func race(usesCursor: Bool) async throws {
        let folder = try ScratchFolder()
        let stack = try await openBank(folder.file("bank.sqlite"))
        try await commit(in: stack) { context in
            context.insert(Account(name: "left", balance: 200))
            context.insert(Account(name: "right", balance: 0))
        }
        let live = stack.live { context -> [Int] in
            let left = try context.sum(Account.where { $0.name == "left" }, \.balance)
            guard usesCursor else { return [left, try context.sum(Account.where { $0.name == "right" }, \.balance)] }
            var right = 0
            try context.forEach(Account.where { $0.name == "right" }) { right += $0.balance }
            return [left, right]
        }
        let writer = Task {
            for _ in 0..<200 {
                try await commit(in: stack) { context in
                    try #require(try context.first(Account.where { $0.name == "left" })).balance -= 1
                    try #require(try context.first(Account.where { $0.name == "right" })).balance += 1
                }
            }
        }
        var last: [Int] = []
        for try await value in live {
            #expect(value[0] + value[1] == 200)
            #expect(value != last)
            last = value
            if value[1] == 200 { break }
        }
        #expect(last == [0, 200])
        try await writer.value
        try await stack.close()
    }

    @Test("Commits of another stack on the same file change the value")
    func otherStack() async throws {
        let folder = try ScratchFolder()
        let url = try await folder.makeBank()
        let (left, right) = (try await openBank(url), try await openBank(url))
        let consumer = Consumer(left.live { try $0.count(Account.where { $0.balance < 0 }) })
        try await untilIdle(left)
        try await commit(in: right) { try #require(try $0.first(Account.all)).balance = -5 }
        let isShown = try await eventually { consumer.values.all == ["0", "1"] }
        #expect(isShown)
        try await left.close()
        try await right.close()
        try await consumer.task.value
    }

    @Test("Commits of another process change the value, and the last value is that of its last commit")
    func otherProcess() async throws {
        let folder = try ScratchFolder()
        let stack = try await openBank(try await folder.makeBank())
        let live = stack.live { try $0.sum(Account.where { $0.name.hasPrefix("own") }, \.balance) }
        let process = try HelperProcess("add", folder.file("bank.sqlite").path, "1")
        var last = -1
        for try await sum in live {
            #expect(sum > last)
            last = sum
            if sum == 30 { break }
        }
        #expect(last == 30)
        #expect(await process.end().first?.hasPrefix("done") == true)
        try await stack.close()
    }

    @Test("If the changes of another stack's commit are not known, the block runs again")
    func unknownChanges() async throws {
        let folder = try StoreFolder()
        let configuration = StoreConfiguration(history: .off)
        var stacks: [ContextStack] = []
        for _ in 0..<2 {
            stacks.append(
                try await ContextStack.open(
                    folder.location,
                    models: allModels,
                    stack: .rootOnly,
                    configuration: configuration
                )
            )
        }
        let runs = Journal()
        let live = stacks[0].live { context -> Int in
            runs.add("run")
            return try context.count(Author.all)
        }
        let consumer = Consumer(live)
        try await untilIdle(stacks[0])
        try await commit(in: stacks[1]) { $0.insert(Spouse(name: "s")) }
        let hasRun = try await eventually { runs.all.count > 1 }
        #expect(hasRun)
        try await untilIdle(stacks[0])
        #expect(consumer.values.all == ["0"])
        for stack in stacks { try await stack.close() }
    }

    @Test("A commit that a run has already seen in the file does not make the block run again")
    func inFlight() async throws {
        let folder = try ScratchFolder()
        let url = try await folder.makeBank()
        let (left, right) = (try await openBank(url), try await openBank(url))
        let store = left.core.engine
        // The moment between the COMMIT of this stack and the end of its call: the commit is in the file.
        _ = try await right.on(.root) { try Bank.transfer(1, in: $0) }
        store.layers.announce([CommitRecord(sequence: right.historyToken.sequence, rows: [:])])
        let runs = Journal()
        let live = left.live { context -> Int in
            runs.add("run")
            return try context.count(Transfer.all)
        }
        let consumer = Consumer(live)
        try await untilIdle(left)
        #expect(consumer.values.all == ["4"])
        let reader = try store.borrowReader()
        let error = store.layers.applyAnnounced(store.schema, reader.connection)
        store.giveBack(reader)
        #expect(error == nil)
        try await untilIdle(left)
        #expect(runs.all.count == 1)
        _ = try await left.on(.root) { try Bank.transfer(1, in: $0) }
        try await untilIdle(left)
        #expect(consumer.values.all == ["4", "5"])
        try await left.close()
        try await right.close()
    }
}
