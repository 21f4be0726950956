import FileHome
import FleetFixture
import Foundation
import StoreModels
import Testing

@testable import Strata

/// Transactions of engines that look before they take the home's lock, on a node that is not alone.
@Suite("Looks without the home's lock", .timeLimit(.minutes(1)))
struct LookTests {
    private struct Refusal: Error {}

    /// A fleet whose node `right` is not alone.
    private static func fleet() async throws -> (fleet: Fleet, right: ContextStack, id: Int64) {
        let fleet = try Fleet()
        let (left, right) = (try await fleet.open("left"), try await fleet.open("right"))
        let id = try await left.write { context in context.insert(Account(name: "one", balance: 1)).id.rawValue }
        try await right.catchUp()
        try fleet.lockCommits(of: right)
        return (fleet, right, id)
    }

    private static func setBalance(_ balance: Int64, of id: Int64, in transaction: StoreTransaction) throws {
        try transaction.run(
            "UPDATE \"Account\" SET \"balance\" = ?, \"_version\" = ? WHERE \"id\" = ?",
            [.integer(balance), .integer(transaction.number), .integer(id)]
        )
        try transaction.report(updated: id, ["balance"], of: Account.self)
    }

    @Test("A look that changes nothing runs once, and calls the home for nothing")
    func nothing() async throws {
        let (fleet, right, _) = try await Self.fleet()
        let faults = try fleet.connection("right").faults
        let before = [HomeFaults.Call.lock, .publish, .newest].map { faults.count(of: $0) }
        var runs = 0
        try right.transact(author: "look", access: .look) { transaction in
            runs += 1
            let count = try transaction.integer("SELECT count(*) FROM \"Account\"", [])
            #expect(count == 1)
        }
        #expect(runs == 1)
        #expect([HomeFaults.Call.lock, .publish, .newest].map { faults.count(of: $0) } == before)
        try await fleet.close()
    }

    @Test("A look that changes rows runs again with the lock, and its changes are stored once")
    func changes() async throws {
        let (fleet, right, id) = try await Self.fleet()
        let faults = try fleet.connection("right").faults
        let (locks, commits) = (faults.count(of: .lock), try await right.history().count)
        var (runs, undone) = (0, 0)
        try right.transact(author: "look", access: .look) { transaction in
            runs += 1
            try Self.setBalance(7, of: id, in: transaction)
        } rolledBack: {
            undone += 1
        }
        #expect(runs == 2)
        #expect(undone == 1)
        #expect(faults.count(of: .lock) == locks + 1)
        #expect(try await right.history().count == commits + 1)
        let balance = try await right.background { try $0.first(Account.all)?.balance }
        #expect(balance == 7)
        try await fleet.compare()
        try await fleet.close()
    }

    @Test("A look that fails is decided with the lock")
    func failure() async throws {
        let (fleet, right, _) = try await Self.fleet()
        let faults = try fleet.connection("right").faults
        let locks = faults.count(of: .lock)
        var runs = 0
        #expect(throws: Refusal.self) {
            try right.transact(author: "look", access: .look) { _ in
                runs += 1
                throw Refusal()
            }
        }
        #expect(runs == 2)
        #expect(faults.count(of: .lock) == locks + 1)
        try await fleet.compare()
        try await fleet.close()
    }
}
