import FileHome
import FleetFixture
import Foundation
import StoreModels
import Synchronization
import Testing

@testable import Strata

/// Blocks of the node `right` that throw while its working copy lacks commits of `left`.
@Suite("Blocks that throw over an old working copy", .timeLimit(.minutes(1)))
struct FailedBlockTests {
    private struct Missing: Error {}

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

    private struct Nodes {
        let fleet: Fleet
        let left: ContextStack
        let right: ContextStack
        /// The faults of the home's connection to `right`.
        let faults: HomeFaults

        init() async throws {
            fleet = try Fleet()
            left = try await fleet.open("left")
            right = try await fleet.open("right")
            faults = try fleet.connection("right").faults
        }

        /// Keeps the copy of `right` at its state until the calls are released. Its follower waits in a call of the
        /// home.
        func holdFollower() async throws {
            let faults = faults
            faults.hold(.transactions)
            let isHeld = try await eventually { faults.heldCount == 1 }
            #expect(isHeld)
        }

        func close() async throws {
            try await fleet.compare()
            try await fleet.close()
        }
    }

    private static func account(_ name: String, in context: ObjectContext) throws -> Account {
        guard let account = try context.first(Account.where { $0.name == name }) else { throw Missing() }
        return account
    }

    private static func insert(_ name: String, on stack: ContextStack) async throws {
        try await stack.write { context in _ = context.insert(Account(name: name, balance: 1)) }
    }

    /// Adds 1 to the balance of an account, in a block of `write` or of `on(_:committing:_:)`.
    private static func add(to name: String, on stack: ContextStack, overRoot: Bool, _ runs: Runs) async throws {
        let body: @Sendable (ObjectContext) throws -> Void = { context in
            runs.next()
            try account(name, in: context).balance += 1
        }
        if overRoot {
            try await stack.on(.root, committing: .runAgain, body)
        } else {
            try await stack.write(body)
        }
    }

    @Test(
        "A block that throws for a row that another node has committed runs again, and finds the row",
        arguments: [false, true]
    )
    func runsAgain(overRoot: Bool) async throws {
        let nodes = try await Nodes()
        let (right, faults, runs) = (nodes.right, nodes.faults, Runs())
        try await nodes.holdFollower()
        try await Self.insert("one", on: nodes.left)
        let writing = Task { try await Self.add(to: "one", on: right, overRoot: overRoot, runs) }
        // The block has thrown. The call waits for the transactions, as the follower does.
        #expect(try await eventually { faults.heldCount == 2 })
        #expect(runs.count == 1)
        faults.releaseCalls()
        try await writing.value
        #expect(runs.count == 2)
        let balance = try await right.background { try $0.first(Account.all)?.balance }
        #expect(balance == 2)
        try await nodes.close()
    }

    @Test(
        "A block whose reads another node has not changed throws its error after one run",
        arguments: [false, true]
    )
    func unconcerned(overRoot: Bool) async throws {
        let nodes = try await Nodes()
        let (right, faults, runs) = (nodes.right, nodes.faults, Runs())
        try await nodes.holdFollower()
        try await nodes.left.write { context in _ = context.insert(StoreModels.Transfer(position: 1)) }
        let writing = Task { try await Self.add(to: "one", on: right, overRoot: overRoot, runs) }
        #expect(try await eventually { faults.heldCount == 2 })
        faults.releaseCalls()
        await #expect(throws: Missing.self) { try await writing.value }
        #expect(runs.count == 1)
        // The call has brought the commit, and has seen that it does not concern the block.
        #expect(try await right.background { try $0.count(StoreModels.Transfer.all) } == 1)
        try await nodes.close()
    }

    @Test("If the copy has all commits, an error of a block costs one question to the home")
    func newestCopy() async throws {
        let nodes = try await Nodes()
        let (right, runs) = (nodes.right, Runs())
        let before = nodes.faults.count(of: .newest)
        await #expect(throws: Missing.self) {
            try await Self.add(to: "one", on: right, overRoot: false, runs)
        }
        #expect(runs.count == 1)
        #expect(nodes.faults.count(of: .newest) == before + 1)
        try await nodes.close()
    }

    @Test("A block that returns, has read nothing, is cancelled or runs once does not ask the home before its commit")
    func noQuestion() async throws {
        let nodes = try await Nodes()
        let right = nodes.right
        try await Self.insert("one", on: right)
        let before = nodes.faults.count(of: .newest)
        try await Self.add(to: "one", on: right, overRoot: false, Runs())
        await #expect(throws: Missing.self) {
            try await right.write { _ -> Void in throw Missing() }
        }
        await #expect(throws: CancellationError.self) {
            try await right.write { context -> Void in
                _ = try context.count(Account.all)
                throw CancellationError()
            }
        }
        await #expect(throws: Missing.self) {
            try await right.write(ifChanged: .merge(.mine)) { context -> Void in
                _ = try context.count(Account.all)
                throw Missing()
            }
        }
        #expect(nodes.faults.count(of: .newest) == before)
        try await nodes.close()
    }

    @Test("A block that throws over an old state in each run ends with `conflict`", arguments: [1, 2])
    func limit(limit: Int) async throws {
        let nodes = try await Nodes()
        let (left, right, runs) = (nodes.left, nodes.right, Runs())
        let error = await #expect(throws: StrataError.self) {
            try await right.write(ifChanged: .runAgain(limit: limit)) { context -> Void in
                _ = try context.count(Account.all)
                let number = runs.next()
                try left.meanwhile { $0.insert(Account(name: "\(number)", balance: 1)) }
                throw Missing()
            }
        }
        #expect(error?.code == .conflict)
        #expect(runs.count == limit)
        try await nodes.close()
    }

    @Test("A run that has changed objects before its error leaves nothing")
    func changes() async throws {
        let nodes = try await Nodes()
        let (left, right, runs) = (nodes.left, nodes.right, Runs())
        try await Self.insert("one", on: left)
        try await right.catchUp()
        try await right.write { context in
            let account = try Self.account("one", in: context)
            account.balance += 10
            if runs.next() == 1 { try left.meanwhile { try Self.account("one", in: $0).note = "known" } }
            guard account.note == "known" else { throw Missing() }
        }
        #expect(runs.count == 2)
        let balance = try await right.background { try $0.first(Account.all)?.balance }
        #expect(balance == 11)
        try await nodes.close()
    }

    @Test("While the home does not answer, the call throws `unreachable` with the error of the block")
    func unreachable() async throws {
        let nodes = try await Nodes()
        let (right, runs) = (nodes.right, Runs())
        nodes.faults.setUnreachable(true)
        try await Self.insert("one", on: nodes.left)
        let error = await #expect(throws: StrataError.self) {
            try await Self.add(to: "one", on: right, overRoot: false, runs)
        }
        #expect(error?.code == .unreachable)
        #expect(error?.underlying is Missing)
        #expect(runs.count == 1)
        nodes.faults.setUnreachable(false)
        try await Self.add(to: "one", on: right, overRoot: false, runs)
        let balance = try await right.background { try $0.first(Account.all)?.balance }
        #expect(balance == 2)
        try await nodes.close()
    }

    @Test("While a call waits for the home, other blocks of the node run, and their commits count too")
    func queueIsFree() async throws {
        let nodes = try await Nodes()
        let (right, faults, runs) = (nodes.right, nodes.faults, Runs())
        faults.hold(.newest)
        let writing = Task { try await Self.add(to: "two", on: right, overRoot: false, runs) }
        #expect(try await eventually { faults.heldCount == 1 })
        try await Self.insert("two", on: right)
        #expect(runs.count == 1)
        faults.releaseCalls()
        try await writing.value
        #expect(runs.count == 2)
        try await nodes.close()
    }

    @Test("A call whose task is cancelled while it waits for the home ends at once")
    func cancelled() async throws {
        let nodes = try await Nodes()
        let (right, faults, runs) = (nodes.right, nodes.faults, Runs())
        faults.hold(.newest)
        let writing = Task { try await Self.add(to: "one", on: right, overRoot: false, runs) }
        #expect(try await eventually { faults.heldCount == 1 })
        writing.cancel()
        await #expect(throws: CancellationError.self) { try await writing.value }
        #expect(faults.heldCount == 1)
        faults.releaseCalls()
        try await nodes.close()
    }
}
