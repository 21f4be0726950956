import FileHome
import FleetFixture
import Foundation
import StoreModels
import Testing

@testable import Strata

@Suite("Blocks that read the newest state of a home", .timeLimit(.minutes(1)))
struct NewestReadsTests {
    private func insert(_ name: String, on stack: ContextStack) async throws {
        try await stack.write { context in _ = context.insert(Account(name: name, balance: 1)) }
    }

    @Test("A block sees each commit that another node has made before the call, in both forms")
    func sees() async throws {
        let fleet = try Fleet()
        let (left, right) = (try await fleet.open("left"), try await fleet.open("right"))
        for number in 1...20 {
            try await insert("\(number)", on: left)
            let count = try await right.background(reads: .newest) { try $0.count(Account.all) }
            #expect(count == number)
        }
        try await insert("last", on: left)
        let names = try await right.background(parent: .named(.root), reads: .newest) { context async throws in
            try context.column(Account.where { $0.name == "last" }, \.name)
        }
        #expect(names == ["last"])
        try await fleet.close()
    }

    @Test("A complete copy costs one call of the home, and a block that reads the local state costs none")
    func calls() async throws {
        let fleet = try Fleet()
        let (left, right) = (try await fleet.open("left"), try await fleet.open("right"))
        try await insert("one", on: left)
        try await right.catchUp()
        let faults = try fleet.connection("right").faults
        // The call would throw if it asked for transactions.
        faults.refuse(.transactions, times: .max)
        let before = faults.count(of: .newest)
        #expect(try await right.background { try $0.count(Account.all) } == 1)
        #expect(faults.count(of: .newest) == before)
        #expect(try await right.background(reads: .newest) { try $0.count(Account.all) } == 1)
        #expect(faults.count(of: .newest) == before + 1)
        try await fleet.close()
    }

    @Test("Calls that come while the home is asked share the next question")
    func shared() async throws {
        let fleet = try Fleet()
        let (left, right) = (try await fleet.open("left"), try await fleet.open("right"))
        let faults = try fleet.connection("right").faults
        let catchUps = try #require(right.core.engine.writer.follower).catchUps
        let before = faults.count(of: .newest)
        faults.hold(.newest)
        let first = Task { try await right.background(reads: .newest) { try $0.count(Account.all) } }
        #expect(try await eventually { faults.heldCount == 1 })
        try await insert("one", on: left)
        let later = (0..<10).map { _ in
            Task { try await right.background(reads: .newest) { try $0.count(Account.all) } }
        }
        #expect(try await eventually { catchUps.waitingCount == 11 })
        faults.releaseCalls()
        _ = try await first.value
        for task in later { #expect(try await task.value == 1) }
        #expect(faults.count(of: .newest) == before + 2)
        try await fleet.close()
    }

    @Test("A call ends although another node commits all the time")
    func busy() async throws {
        let fleet = try Fleet()
        let (left, right) = (try await fleet.open("left"), try await fleet.open("right"))
        // Each answer comes so late that it never has all transactions.
        try fleet.connection("right").faults.delay(.transactions, by: 0.1)
        let writing = Task {
            var count = 0
            while !Task.isCancelled {
                try await insert("\(count)", on: left)
                count += 1
            }
            return count
        }
        #expect(try await eventually { try await left.background { try $0.count(Account.all) } > 0 })
        let known = try await left.background { try $0.count(Account.all) }
        let seen = try await right.background(reads: .newest) { try $0.count(Account.all) }
        #expect(seen >= known)
        writing.cancel()
        _ = try? await writing.value
        try await fleet.close()
    }

    @Test("While the home does not answer, the block does not run, and the local state can be read")
    func unreachable() async throws {
        let fleet = try Fleet()
        let stack = try await fleet.open("node")
        try await insert("one", on: stack)
        let faults = try fleet.connection("node").faults
        faults.setUnreachable(true)
        let error = await #expect(throws: StrataError.self) {
            try await stack.background(reads: .newest) { _ in _ = Issue.record("The block has run.") }
        }
        #expect(error?.code == .unreachable)
        #expect(try await stack.background { try $0.count(Account.all) } == 1)
        faults.setUnreachable(false)
        #expect(try await stack.background(reads: .newest) { try $0.count(Account.all) } == 1)
        try await fleet.close()
    }

    @Test("A home that has lost commits is reported")
    func behind() async throws {
        let fleet = try Fleet()
        let stack = try await fleet.open("node")
        for number in 0..<3 { try await insert("\(number)", on: stack) }
        try fleet.connection("node").rewind(to: 2)
        let error = await #expect(throws: StrataError.self) {
            try await stack.background(reads: .newest) { _ = try $0.count(Account.all) }
        }
        #expect(error?.code == .homeBehind)
        try await fleet.close()
    }

    @Test("A cancelled call ends while the home is asked, and others continue")
    func cancelled() async throws {
        let fleet = try Fleet()
        let stack = try await fleet.open("node")
        let faults = try fleet.connection("node").faults
        let catchUps = try #require(stack.core.engine.writer.follower).catchUps
        faults.hold(.newest)
        let (cancelled, other) = (
            Task { try await stack.background(reads: .newest) { try $0.count(Account.all) } },
            Task { try await stack.background(reads: .newest) { try $0.count(Account.all) } }
        )
        #expect(try await eventually { catchUps.waitingCount == 2 && faults.heldCount == 1 })
        cancelled.cancel()
        await #expect(throws: CancellationError.self) { try await cancelled.value }
        #expect(faults.heldCount == 1)
        faults.releaseCalls()
        #expect(try await other.value == 0)
        try await fleet.close()
    }

    @Test("A call whose stack is closed while the home is asked throws `closed`")
    func closed() async throws {
        let fleet = try Fleet()
        let stack = try await fleet.open("node")
        let faults = try fleet.connection("node").faults
        faults.hold(.newest)
        let reading = Task { try await stack.background(reads: .newest) { try $0.count(Account.all) } }
        #expect(try await eventually { faults.heldCount == 1 })
        try await stack.close()
        faults.releaseCalls()
        for call in [reading, Task { try await stack.background(reads: .newest) { try $0.count(Account.all) } }] {
            let error = await #expect(throws: StrataError.self) { try await call.value }
            #expect(error?.code == .closed)
        }
        try await fleet.close()
    }

    @Test("Without a home, a block sees the commits of another stack on the file")
    func withoutHome() async throws {
        let folder = try ScratchFolder()
        let file = folder.file("bank.sqlite")
        func open() async throws -> ContextStack {
            try await ContextStack.open(.sqlite(file), models: Bank.models, stack: .rootOnly)
        }
        let (left, right) = (try await open(), try await open())
        for number in 1...5 {
            try await insert("\(number)", on: left)
            #expect(try await right.background(reads: .newest) { try $0.count(Account.all) } == number)
        }
        for stack in [left, right] { try await stack.close() }
        withExtendedLifetime(folder) {}
    }
}
