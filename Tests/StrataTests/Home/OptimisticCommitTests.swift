import FileHome
import FleetFixture
import Foundation
import StoreModels
import Testing

@testable import Strata

/// Commits without the home's lock. In most tests, the node `right` does not learn of the commits of `left`.
@Suite("Optimistic commits", .timeLimit(.minutes(1)))
struct OptimisticCommitTests {
    /// Two nodes with one account. The follower of `right` cannot reach the home any more.
    private static func fleet() async throws -> (fleet: Fleet, left: ContextStack, right: ContextStack, id: Int64) {
        let fleet = try Fleet()
        let (left, right) = (try await fleet.open("left"), try await fleet.open("right"))
        let id = try await left.write { context in context.insert(Account(name: "one", balance: 1)).id.rawValue }
        try await right.catchUp()
        let follower = try #require(right.core.engine.writer.follower)
        // The node has just seen the commit of the other one. It counts as alone although it is not.
        follower.quietTime.withLock { $0 = .seconds(-1) }
        try fleet.connection("right").faults.refuse(.transactions, times: .max)
        return (fleet, left, right, id)
    }

    private static func compare(_ fleet: Fleet) async throws {
        try fleet.connection("right").faults.refuse(.transactions, times: 0)
        try await fleet.compare()
        try await fleet.close()
    }

    @Test("A node that is alone commits in one call, and does not take the lock")
    func alone() async throws {
        let fleet = try Fleet()
        let stack = try await fleet.open("left")
        let faults = try fleet.connection("left").faults
        let before = [HomeFaults.Call.lock, .publish].map { faults.count(of: $0) }
        try await stack.background { context in
            for number in 0..<3 {
                context.insert(Account(name: "\(number)", balance: 1))
                try context.commit()
            }
        }
        #expect([HomeFaults.Call.lock, .publish].map { faults.count(of: $0) } == [before[0], before[1] + 3])
        try await fleet.compare()
        try await fleet.close()
    }

    @Test("A node that has seen a commit of another node takes the lock")
    func notAlone() async throws {
        let fleet = try Fleet()
        let (left, right) = (try await fleet.open("left"), try await fleet.open("right"))
        let follower = try #require(right.core.engine.writer.follower)
        follower.quietTime.withLock { $0 = .seconds(1_000_000) }
        #expect(follower.isAlone)
        try await left.write { context in _ = context.insert(Account(name: "one", balance: 1)) }
        try await right.catchUp()
        #expect(!follower.isAlone)
        let faults = try fleet.connection("right").faults
        let locks = faults.count(of: .lock)
        try await right.write { context in _ = context.insert(Account(name: "two", balance: 1)) }
        #expect(faults.count(of: .lock) == locks + 1)
        try await fleet.compare()
        try await fleet.close()
    }

    @Test("A commit that another node has overtaken runs again with the lock, and nothing is lost")
    func overtaken() async throws {
        let (fleet, left, right, _) = try await Self.fleet()
        let faults = try fleet.connection("right").faults
        let locks = faults.count(of: .lock)
        try await left.write { context in
            try #require(try context.first(Account.where { $0.name == "one" })).balance += 10
        }
        try await right.background { context in
            context.insert(Account(name: "two", balance: 2))
            try context.commit()
        }
        #expect(faults.count(of: .lock) == locks + 1)
        // The block has read an old balance, so it runs again.
        try await left.write { context in
            try #require(try context.first(Account.where { $0.name == "one" })).balance += 10
        }
        try await right.write { context in
            try #require(try context.first(Account.where { $0.name == "one" })).balance += 100
        }
        let balance = try await right.background { context in
            try context.first(Account.where { $0.name == "one" })?.balance
        }
        #expect(balance == 121)
        try await Self.compare(fleet)
    }

    @Test("Commits that share a transaction, some with blocks inside, all run again")
    func group() async throws {
        let (fleet, left, right, _) = try await Self.fleet()
        try await left.write { context in _ = context.insert(Account(name: "left", balance: 0)) }
        try await withThrowingTaskGroup(of: Void.self) { group in
            for number in 0..<30 {
                group.addTask {
                    try await right.write { context in
                        try #require(try context.first(Account.where { $0.name == "one" })).balance += 1
                    }
                }
                group.addTask {
                    try await right.background { context in
                        context.insert(Account(name: "right \(number)", balance: 0))
                        try context.commit()
                    }
                }
                group.addTask {
                    try await left.write { context in
                        try #require(try context.first(Account.where { $0.name == "one" })).balance += 1
                    }
                }
            }
            try await group.waitForAll()
        }
        let (balance, count) = try await right.background { context in
            (try context.first(Account.where { $0.name == "one" })?.balance, try context.count(Account.all))
        }
        // The node that has committed last knows all commits before its own.
        try fleet.connection("right").faults.refuse(.transactions, times: 0)
        try await right.catchUp()
        let newest = try await right.background { context in
            try context.first(Account.where { $0.name == "one" })?.balance
        }
        #expect(newest == 61)
        #expect((balance ?? 0) <= 61)
        #expect(count == 32)
        try await Self.compare(fleet)
    }

    @Test("A value that another node has given up can be used at once")
    func outdatedFailure() async throws {
        let (fleet, left, right, _) = try await Self.fleet()
        try await left.write { context in context.delete(try #require(try context.first(Account.all))) }
        // The copy of `right` still has the row, which makes the first run fail.
        try await right.background { context in
            context.insert(Account(name: "one", balance: 5))
            try context.commit()
        }
        let balance = try await right.background { try $0.first(Account.all)?.balance }
        #expect(balance == 5)
        try await Self.compare(fleet)
    }

    @Test("A transaction that needs the newest state gets it, also if it changes nothing")
    func readsNewest() async throws {
        let (fleet, left, right, id) = try await Self.fleet()
        try await left.write { context in try #require(try context.first(Account.all)).balance = 2 }
        func balances(_ access: HomeAccess) throws -> [Int64?] {
            var found: [Int64?] = []
            try right.transact(author: "test", access: access) { transaction in
                let sql = "SELECT \"balance\" FROM \"Account\" WHERE \"id\" = ?"
                found.append(try transaction.integer(sql, [.integer(id)]))
            }
            return found
        }
        #expect(try balances(.look) == [1])
        #expect(try balances(.newest) == [1, 2])
        #expect(try balances(.newest) == [2])
        try await Self.compare(fleet)
    }

    @Test("While another node has the lock, a commit without it does not wait, and follows with the lock")
    func lockTaken() async throws {
        let (fleet, _, right, _) = try await Self.fleet()
        let other = FileHome(fleet.home)
        _ = try other.open(HomeDescription(try Schema(Fleet.models), Migration()), busyTimeout: 5)
        defer { other.close() }
        _ = try other.lock(after: try other.newest(), limit: 1)
        let faults = try fleet.connection("right").faults
        let (locks, publishes) = (faults.count(of: .lock), faults.count(of: .publish))
        async let commit: Void = right.background { context in
            context.insert(Account(name: "two", balance: 2))
            try context.commit()
        }
        // The first run was refused, and the second one waits for the lock.
        #expect(try await eventually { faults.count(of: .lock) == locks + 1 })
        #expect(faults.count(of: .publish) == publishes + 1)
        other.unlock()
        try await commit
        try await Self.compare(fleet)
    }
}
