import FileHome
import FleetFixture
import Foundation
import MetricsTestKit
import StoreModels
import Synchronization
import TestHomeTraits
import Testing

@testable import Strata

@Suite("Metrics of a home, and the progress of a copy", .timeLimit(.minutes(1)))
struct HomeMetricsTests {
    private let fleet: Fleet
    private let metrics = TestMetrics()

    init() throws { fleet = try Fleet() }

    private func open(
        _ name: String,
        _ faults: HomeFaults = HomeFaults(),
        migration: Migration = Migration()
    ) async throws -> ContextStack {
        try await ContextStack.open(
            .shared(FileHome(fleet.home, faults: faults), copy: fleet.copy(name)),
            models: Fleet.models,
            stack: .rootOnly,
            migration: migration,
            diagnostics: Diagnostics(metrics: metrics, metricsDimensions: [("node", name)])
        )
    }

    private func total(_ label: String, _ dimensions: (String, String)...) -> Int64 {
        metrics.counterTotal(label: label, dimensions: dimensions)
    }

    @Test("Published and applied transactions, the time of calls, and errors are measured for each node")
    func transactions() async throws {
        let faults = HomeFaults()
        let left = try await open("left", faults)
        let right = try await open("right")
        for name in ["one", "two"] {
            try await left.write { context in _ = context.insert(Account(name: name, balance: 1)) }
        }
        try await right.catchUp()
        // The first transaction has created the store.
        #expect(total("strata.home.published", ("node", "left")) == 3)
        #expect(total("strata.home.published", ("node", "right")) == 0)
        #expect(total("strata.home.applied", ("node", "right")) == 2)
        #expect(total("strata.home.applied", ("node", "left")) == 0)
        let label = "strata.home.call.duration"
        // The node is alone, so its commits need no lock.
        for (call, count) in [("publish", 1), ("publishIfNewest", 2)] {
            let durations = try metrics.expectTimer(label, [("node", "left"), ("call", call)]).values
            #expect(durations.count == count && durations.allSatisfy { $0 >= 0 }, "\(call)")
        }
        for (refused, call) in [(HomeFaults.Call.publish, "publishIfNewest"), (.lock, "lock")] {
            if refused == .lock { try fleet.lockCommits(of: left) }
            faults.refuse(refused)
            let error = await #expect(throws: StrataError.self) {
                try await left.write { context in _ = context.insert(Account(name: "three", balance: 1)) }
            }
            #expect(error?.code == .unreachable)
            #expect(total("strata.home.errors", ("node", "left"), ("call", call), ("code", "unreachable")) == 1)
        }
        for stack in [left, right] { try await stack.close() }
    }

    @Test("A commit whose answer is lost is counted if the home has stored it")
    func lostAnswer() async throws {
        let faults = HomeFaults()
        let stack = try await open("node", faults)
        faults.loseAnswer(.stored)
        try await stack.write { context in _ = context.insert(Account(name: "one", balance: 1)) }
        #expect(total("strata.home.published") == 2)
        #expect(total("strata.home.errors", ("call", "publishIfNewest"), ("code", "uncertain")) == 1)
        try await stack.close()
    }

    @Test("The lag grows until the home answers that it has no further transactions")
    func lag() async throws {
        let faults = HomeFaults()
        let stack = try await open("node", faults)
        let gauge = try metrics.expectGauge("strata.home.lag", [("node", "node")])
        faults.refuse(.transactions, times: .max)
        // The follower looks once a second, and each look measures the lag.
        #expect(try await eventually { gauge.lastValue.map { $0 > 1.5 } ?? false })
        faults.refuse(.transactions, times: 0)
        try await stack.catchUp()
        #expect(try await eventually { gauge.lastValue.map { $0 < 1.5 } ?? false })
        try await stack.close()
    }

    @Test("The progress of a new copy counts its rows, and reaches the end once")
    func progress() async throws {
        let left = try await open("left")
        try await left.write { context in
            for number in 0..<1_200 { context.insert(Account(name: "\(number)", balance: number)) }
        }
        let seen = Mutex<[MigrationProgress]>([])
        let migration = Migration().onProgress { progress in seen.withLock { $0.append(progress) } }
        let right = try await open("right", migration: migration)
        let fractions = seen.withLock { $0.map(\.fraction) }
        #expect(fractions == fractions.sorted() && fractions.last == 1)
        #expect(fractions.contains { $0 > 0 && $0 < 1 })
        let activities = seen.withLock { $0.map(\.activity) }
        #expect(activities.contains("Copying Account") && activities.contains("Indexing Account"))
        #expect(activities.last == "Done")
        let copied = try #require(metrics.expectGauge("strata.home.copy.rows", [("node", "right")]).lastValue)
        let expected = try #require(metrics.expectGauge("strata.home.copy.expected", [("node", "right")]).lastValue)
        #expect(copied > 1_200 && copied == expected)
        #expect(total("strata.home.copies", ("node", "right"), ("kind", "new")) == 1)
        #expect(total("strata.home.copies", ("node", "left")) == 0)
        for stack in [left, right] { try await stack.close() }
    }

    @Test("A copy that is made again is counted separately")
    func rebuilt() async throws {
        let left = try await open("left")
        try await open("right").close()
        for number in 0..<3 {
            try await left.write { context in _ = context.insert(Account(name: "\(number)", balance: 0)) }
        }
        let home = FileHome(fleet.home)
        _ = try home.open(HomeDescription(try Schema(Fleet.models), Migration()), busyTimeout: 5)
        try home.prune(through: 3)
        home.close()
        let right = try await open("right")
        let count = try await right.background { context in try context.count(Account.all) }
        #expect(count == 3)
        #expect(total("strata.home.copies", ("node", "right"), ("kind", "rebuilt")) == 1)
        for stack in [left, right] { try await stack.close() }
    }

    @Test("A stack without a home has none of these metrics", .aboutTheFile("opens a store without a home"))
    func withoutHome() async throws {
        let stack = try await ContextStack.open(
            .inMemory,
            models: Bank.models,
            stack: .rootOnly,
            diagnostics: Diagnostics(metrics: metrics)
        )
        #expect(throws: (any Error).self) { _ = try metrics.expectGauge("strata.home.lag") }
        try await stack.close()
    }
}
