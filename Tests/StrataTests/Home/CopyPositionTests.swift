import FileHome
import FleetFixture
import Foundation
import GRDB
import StoreModels
import Strata
import Testing

@testable import Strata

@Suite("The position of a working copy", .timeLimit(.minutes(1)))
struct CopyPositionTests {
    @Test("Two stacks on one copy, and a third one on another copy, count in one row and lose nothing")
    func twoStacks() async throws {
        let fleet = try Fleet()
        let (left, right) = (try await fleet.open("left"), try await fleet.open("right"))
        let second = try await ContextStack.open(
            .shared(FileHome(fleet.home), copy: fleet.copy("left")),
            models: Fleet.models,
            stack: .rootOnly
        )
        try await left.write { context in _ = context.insert(StoreModels.Counter()) }
        // Each commit moves the copy of `left` without the knowledge of one of its stacks.
        for _ in 0..<5 {
            for stack in [left, second, right] {
                try await stack.catchUp()
                try await stack.write { context in
                    let counter = try #require(try context.first(StoreModels.Counter.all))
                    counter.last += 1
                }
            }
        }
        try await right.catchUp()
        let last = try await right.background { context in try context.first(StoreModels.Counter.all)?.last }
        #expect(last == 15)
        try await second.close()
        try await fleet.compare()
        try await fleet.close()
    }

    @Test("A commit is refused if the copy has a transaction that the home has lost, and the home stays as it was")
    func movedRecord() async throws {
        let fleet = try Fleet()
        let stack = try await fleet.open("left")
        try await stack.write { context in _ = context.insert(Account(name: "one", balance: 1)) }
        let newest = try fleet.connection("left").newest()
        let other = try DatabaseQueue(path: fleet.copy("left").path, configuration: .waiting)
        try await other.write { try $0.execute(sql: "UPDATE strata_home SET number = number + 1") }
        try other.close()
        let error = await #expect(throws: StrataError.self) {
            try await stack.write { context in _ = context.insert(Account(name: "two", balance: 1)) }
        }
        #expect(error?.code == .homeBehind)
        #expect(try fleet.connection("left").newest() == newest)
        try await fleet.close()
    }

    @Test("A commit is refused if another process has marked the copy as damaged")
    func markedAsDamaged() async throws {
        let fleet = try Fleet()
        let stack = try await fleet.open("left")
        try await stack.write { context in _ = context.insert(Account(name: "one", balance: 1)) }
        let newest = try fleet.connection("left").newest()
        let other = try DatabaseQueue(path: fleet.copy("left").path, configuration: .waiting)
        try await other.write { db in
            try db.execute(
                sql: "UPDATE strata_home SET \"number\" = -1, \"transaction\" = ?",
                arguments: [HomePosition.start.id.uuidString]
            )
        }
        try other.close()
        let error = await #expect(throws: StrataError.self) {
            try await stack.write { context in _ = context.insert(Account(name: "two", balance: 1)) }
        }
        #expect(error?.code == .damagedStore)
        #expect(try fleet.connection("left").newest() == newest)
        try await fleet.close()
    }
}
