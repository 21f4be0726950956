import FleetFixture
import Foundation
import StoreModels
import Strata
import Testing

/// Stacks whose home is in PostgreSQL. Each node is a stack with a separate working copy. The rules of stores with a
/// home are tested in `StrataTests`, over a home in a file.
@Suite("Stacks over PostgreSQL", .timeLimit(.minutes(2))) struct NodeTests {
    @Test("Ten writers on two nodes count in one row, and no update is lost", arguments: Route.allCases)
    func counter(_ route: Route) async throws {
        let nodes = try PostgresNodes(route: route)
        let stacks = [try await nodes.open("left"), try await nodes.open("right")]
        try await stacks[0].write { context in _ = context.insert(StoreModels.Counter()) }
        for stack in stacks { try await stack.catchUp() }
        let counted = try await withThrowingTaskGroup(of: [Int].self) { group in
            for writer in 0..<10 {
                let stack = stacks[writer % 2]
                group.addTask {
                    var counted: [Int] = []
                    for _ in 0..<5 {
                        let last = try await stack.write { context in
                            let counter = try #require(try context.first(StoreModels.Counter.all))
                            counter.last += 1
                            return counter.last
                        }
                        counted.append(last)
                    }
                    return counted
                }
            }
            return try await group.reduce(into: []) { $0 += $1 }
        }
        #expect(counted.sorted() == Array(1...50))
        try await nodes.end()
    }

    @Test("Texts, numbers, references, searchable texts and external bytes of one node arrive on the other")
    func rows() async throws {
        let nodes = try PostgresNodes()
        let (left, right) = (try await nodes.open("left"), try await nodes.open("right"))
        let photo = Data((0..<50_000).map { UInt8(truncatingIfNeeded: $0) })
        try await left.background { context in
            try Bank.found(in: context)
            for number in 1...12 { _ = try Bank.transfer(number, in: context) }
        }
        try await left.write { context in
            for name in ["one", "two", "three"] {
                context.insert(Sight(name: name, text: "the horse \(name)", photo: photo + Data(name.utf8)))
            }
        }
        // Each row takes the name of the next one.
        try await left.write { context in
            let sights = try context.fetch(Sight.sorted { $0.id.ascending })
            let names = sights.map(\.name)
            for (index, sight) in sights.enumerated() { sight.name = names[(index + 1) % names.count] }
        }
        try await right.catchUp()
        let audit = try await right.background { try Bank.audit($0) }
        #expect(audit.faults == [])
        #expect(audit.last == 12)
        try await right.background { context in
            let sights = try context.fetch(Sight.sorted { $0.id.ascending })
            #expect(sights.map(\.name) == ["two", "three", "one"])
            #expect(sights.map(\.photo) == ["one", "two", "three"].map { photo + Data($0.utf8) })
            #expect(try context.count(Sight.search("horse")) == 3)
        }
        try await nodes.end()
    }

    @Test("A node learns of commits by itself, also if a pooler drops notifications", arguments: Route.allCases)
    func follows(_ route: Route) async throws {
        let nodes = try PostgresNodes(route: route)
        let (left, right) = (try await nodes.open("left"), try await nodes.open("right"))
        var changes = right.changes(of: Account.self).makeAsyncIterator()
        try await left.write { context in _ = context.insert(Account(name: "new", balance: 1)) }
        let change = try await changes.next()
        #expect(change?.inserted.count == 1)
        try await nodes.end()
    }

    @Test("A node catches up with all commits, or with that of a token")
    func catchingUp() async throws {
        let nodes = try PostgresNodes()
        let (left, right) = (try await nodes.open("left"), try await nodes.open("right"))
        try await left.write { context in _ = context.insert(Account(name: "first", balance: 1)) }
        try await right.catchUp(to: left.historyToken)
        #expect(try await right.background { try $0.column(Account.all, \.name) } == ["first"])
        for number in 0..<20 {
            try await left.write { context in _ = context.insert(Account(name: "\(number)", balance: number)) }
        }
        try await right.catchUp()
        #expect(try await right.background { try $0.count(Account.all) } == 21)
        #expect(right.historyToken == left.historyToken)
        try await nodes.end()
    }

    @Test("A block that reads the newest state sees each commit that the other node has made before")
    func newestReads() async throws {
        let nodes = try PostgresNodes()
        let (left, right) = (try await nodes.open("left"), try await nodes.open("right"))
        for number in 1...20 {
            let (writer, reader) = number.isMultiple(of: 2) ? (left, right) : (right, left)
            try await writer.write { context in _ = context.insert(Account(name: "\(number)", balance: number)) }
            #expect(try await reader.background(reads: .newest) { try $0.count(Account.all) } == number)
        }
        try await nodes.end()
    }

    @Test("A block finds each row that the other node has committed before, or throws and runs again")
    func throwingBlocks() async throws {
        struct Missing: Error {}
        let nodes = try PostgresNodes()
        let (left, right) = (try await nodes.open("left"), try await nodes.open("right"))
        for number in 1...20 {
            let (writer, reader) = number.isMultiple(of: 2) ? (left, right) : (right, left)
            let name = "\(number)"
            try await writer.write { context in _ = context.insert(Account(name: name, balance: number)) }
            try await reader.write { context in
                guard let account = try context.first(Account.where { $0.name == name }) else { throw Missing() }
                account.note = "found"
            }
        }
        try await left.catchUp()
        #expect(try await left.background { try $0.count(Account.where { $0.note == "found" }) } == 20)
        try await nodes.end()
    }

    @Test("A node that was closed continues with its copy, and a new node copies all rows")
    func closedNode() async throws {
        let nodes = try PostgresNodes()
        let left = try await nodes.open("left")
        try await nodes.open("right").close()
        try await left.write { context in
            for number in 0..<2_000 { context.insert(Account(name: "\(number)", balance: number)) }
        }
        for name in ["right", "new"] {
            let stack = try await nodes.open(name)
            try await stack.catchUp()
            #expect(try await stack.background { try $0.count(Account.all) } == 2_000)
            // The node commits after the rows that it has missed.
            try await stack.write { context in
                try #require(try context.first(Account.where { $0.name == "7" })).note = name
            }
        }
        try await left.catchUp()
        let note = try await left.background { try $0.first(Account.where { $0.name == "7" })?.note }
        #expect(note == "new")
        try await nodes.end()
    }

    @Test("A copy whose connection breaks leaves no file, and the next opening makes it")
    func brokenCopy() async throws {
        let nodes = try PostgresNodes()
        let left = try await nodes.open("left")
        let note = String(repeating: "long ", count: 2_000)
        try await left.write { context in
            for number in 0..<300 {
                context.insert(Account(name: "\(number)", balance: number)).note = note
            }
        }
        // Almost all bytes that the server sends while the node opens are the 3 MB of the rows.
        nodes.proxy.set(.cutsAnswerAfter(bytes: 1_500_000))
        let error = await #expect(throws: StrataError.self) {
            _ = try await nodes.open(PostgresNodes.proxiedNode)
        }
        #expect(error?.code == .unreachable)
        let name = nodes.fleet.copy(PostgresNodes.proxiedNode).lastPathComponent
        let files = try FileManager.default.contentsOfDirectory(atPath: nodes.fleet.folder.url.path)
        #expect(files.filter { $0.contains(name) } == ["\(name)-lock"])
        nodes.proxy.set(.none)
        let stack = try await nodes.open(PostgresNodes.proxiedNode)
        #expect(try await stack.background { try $0.count(Account.all) } == 300)
        try await nodes.end()
    }

    @Test("A node whose network is silent reads its last state, refuses commits, and continues afterwards")
    func silentNetwork() async throws {
        let nodes = try PostgresNodes(timeout: 1)
        let left = try await nodes.open("left")
        let away = try await nodes.fleet.open(
            PostgresNodes.proxiedNode,
            configuration: StoreConfiguration(busyTimeout: 0.1)
        )
        try await left.write { context in _ = context.insert(Account(name: "before", balance: 1)) }
        try await away.catchUp()
        nodes.proxy.set(.silent)
        let refused = await #expect(throws: StrataError.self) {
            try await away.write { context in _ = context.insert(Account(name: "refused", balance: 1)) }
        }
        // If the last commit of the other node was long ago, this node does not ask for the lock. It sends the whole
        // commit, and cannot know whether it was stored.
        let codes: [StrataError.Code?] = [.unreachable, .uncertain]
        #expect(codes.contains(refused?.code))
        for number in 0..<10 {
            try await left.write { context in _ = context.insert(Account(name: "\(number)", balance: number)) }
        }
        let unreachable = await #expect(throws: StrataError.self) { try await away.catchUp() }
        #expect(unreachable?.code == .unreachable)
        let unread = await #expect(throws: StrataError.self) {
            try await away.background(reads: .newest) { _ = try $0.count(Account.all) }
        }
        #expect(unread?.code == .unreachable)
        #expect(try await away.background { try $0.column(Account.all, \.name) } == ["before"])
        nodes.proxy.set(.none)
        try await Self.catchUp(away)
        #expect(try await away.background(reads: .newest) { try $0.count(Account.all) } == 11)
        try await away.write { context in _ = context.insert(Account(name: "after", balance: 1)) }
        try await left.catchUp()
        #expect(try await left.background { try $0.count(Account.all) } == 12)
        try await nodes.end()
    }

    /// Catches up as soon as the home answers. A call that has begun before may still wait for a lost answer.
    private static func catchUp(_ stack: ContextStack) async throws {
        let end = ContinuousClock.now + .seconds(30)
        while ContinuousClock.now < end {
            do { return try await stack.catchUp() } catch let error as StrataError where error.code == .unreachable {
                try await Task.sleep(for: .milliseconds(10))
            }
        }
        try await stack.catchUp()
    }
}
