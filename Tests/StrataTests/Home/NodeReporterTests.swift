import Dispatch
import FileHome
import FleetFixture
import Foundation
import GRDB
import InMemoryLogging
import Logging
import MetricsTestKit
import StoreModels
import Testing

@testable import Strata

@Suite("Reports of nodes to their home", .timeLimit(.minutes(1)))
struct NodeReporterTests {
    private let fleet: Fleet
    private let metrics = TestMetrics()
    private let log = InMemoryLogHandler()

    init() throws { fleet = try Fleet() }

    private func open(_ name: String, _ faults: HomeFaults = HomeFaults()) async throws -> ContextStack {
        let log = log
        return try await ContextStack.open(
            .shared(FileHome(fleet.home, faults: faults), copy: fleet.copy(name)),
            models: Fleet.models,
            stack: .rootOnly,
            logger: Logger(label: "test") { _ in log },
            diagnostics: Diagnostics(metrics: metrics, metricsDimensions: [("node", name)])
        )
    }

    private func reporter(_ stack: ContextStack) throws -> NodeReporter {
        try #require(stack.core.engine.writer.reporter)
    }

    private func gauge(_ label: String, of node: String) throws -> Double {
        try #require(metrics.expectGauge(label, [("node", node)]).lastValue)
    }

    @Test("All nodes see how far each node is, also one that lacks transactions")
    func nodes() async throws {
        let faults = HomeFaults()
        let (left, right) = (try await open("left"), try await open("right", faults))
        faults.refuse(.transactions, times: .max)
        try await left.write { context in _ = context.insert(Account(name: "one", balance: 1)) }
        for stack in [left, right] { try reporter(stack).report() }
        for stack in [left, right] {
            let nodes = try await stack.nodes()
            #expect(nodes.map(\.name) == ["left", "right"].map { NodeReporter.name(ofCopy: fleet.copy($0).path) })
            #expect(nodes.map(\.position.number) == [2, 1])
            #expect(nodes.map(\.transactionsBehind) == [0, 1])
        }
        #expect(try gauge("strata.home.behind", of: "left") == 0)
        #expect(try gauge("strata.home.behind", of: "right") == 1)
        #expect(try gauge("strata.home.ahead", of: "right") == 0)
        for stack in [left, right] { try await stack.close() }
    }

    @Test("A node that is ahead of a home that has lost transactions is seen by all nodes, and by its gauge")
    func ahead() async throws {
        let stack = try await open("node")
        for name in ["one", "two"] {
            try await stack.write { context in _ = context.insert(Account(name: name, balance: 1)) }
        }
        let home = FileHome(fleet.home)
        _ = try home.open(try fleet.description(), busyTimeout: 5)
        try home.rewind(to: 1)
        home.close()
        try reporter(stack).report()
        let node = try #require(try await stack.nodes().first)
        #expect(node.position.number == 3 && node.newest.number == 1)
        #expect(node.transactionsAhead == 2)
        #expect(node.transactionsBehind == 0)
        #expect(try gauge("strata.home.ahead", of: "node") == 2)
        #expect(try gauge("strata.home.behind", of: "node") == 0)
        try await stack.close()
    }

    @Test("Numbers of transactions between positions do not overflow")
    func transactionCount() {
        func count(from first: Int64, to last: Int64) -> Int64 {
            HomePosition(number: last, id: UUID()).transactionCount(after: HomePosition(number: first, id: UUID()))
        }
        #expect(count(from: 3, to: 5) == 2)
        #expect(count(from: 5, to: 5) == 0)
        #expect(count(from: 5, to: 3) == 0)
        #expect(count(from: .min, to: .max) == .max)
    }

    @Test("A stack reports its last position when it is closed")
    func closing() async throws {
        let (left, right) = (try await open("left"), try await open("right"))
        try await left.write { context in _ = context.insert(Account(name: "one", balance: 1)) }
        try await left.close()
        let node = try #require(try await right.nodes().first)
        #expect(node.name == NodeReporter.name(ofCopy: fleet.copy("left").path) && node.position.number == 2)
        try await right.close()
        let error = await #expect(throws: StrataError.self) { _ = try await right.nodes() }
        #expect(error?.code == .closed)
    }

    @Test("A commit does not wait for a report, and does not fail with it")
    func separate() async throws {
        let faults = HomeFaults()
        let stack = try await open("node", faults)
        let reporter = try reporter(stack)
        reporter.report()
        faults.hold(.report)
        async let held: Void = withCheckedContinuation { continuation in
            DispatchQueue.global().async {
                reporter.report()
                continuation.resume()
            }
        }
        while faults.heldCount == 0, !Task.isCancelled { await Task.yield() }
        try await stack.write { context in _ = context.insert(Account(name: "one", balance: 1)) }
        #expect(try await stack.nodes().map(\.position.number) == [1])
        faults.releaseCalls()
        await held
        reporter.report()
        #expect(try await stack.nodes().map(\.position.number) == [2])
        faults.refuse(.report, times: .max)
        reporter.report()
        try await stack.write { context in _ = context.insert(Account(name: "two", balance: 1)) }
        #expect(metrics.counterTotal(label: "strata.home.errors", dimensions: [("call", "report")]) > 0)
        try await stack.close()
    }

    @Test("A report that the home refuses is logged once, unless the home does not answer")
    func refusedReport() async throws {
        let stack = try await open("node")
        try reporter(stack).report()
        let ids = try DatabaseQueue(path: fleet.home.path + ".ids", configuration: .waiting)
        try await ids.write { db in try db.execute(sql: "DROP TABLE nodes") }
        try ids.close()
        for _ in 0..<2 { try reporter(stack).report() }
        let warnings = log.entries.filter { "\($0.message)".hasPrefix("this node could not report") }
        #expect(warnings.count == 1)
        try await stack.write { context in _ = context.insert(Account(name: "one", balance: 1)) }
        try await stack.close()
    }

    @Test("A clock that differs from that of the home is logged once, and measured")
    func clock() async throws {
        let faults = HomeFaults()
        faults.setClock(aheadBy: 3600)
        let stack = try await open("node", faults)
        for _ in 0..<2 { try reporter(stack).report() }
        let warnings = log.entries.filter { $0.level == .warning && "\($0.message)".contains("differs by -") }
        #expect(warnings.count == 1)
        #expect(try gauge("strata.home.clock", of: "node") < -3000)
        #expect(stack.clockDifference < -3000)
        let known = stack.clockDifference
        faults.setClock(aheadBy: 3600.25)
        try reporter(stack).report()
        #expect(stack.clockDifference == known)
        faults.setClock(aheadBy: 0)
        try reporter(stack).report()
        #expect(log.entries.contains { "\($0.message)".contains("agrees with that of file:") })
        #expect(try gauge("strata.home.clock", of: "node") == 0)
        #expect(stack.clockDifference == 0)
        try await stack.close()
    }

    @Test("A closed stack keeps neither its writer nor its connection to the home")
    func released() async throws {
        weak var writer: StoreWriter?
        weak var follower: HomeFollower?
        do {
            let stack = try await open("node")
            try await stack.write { context in _ = context.insert(Account(name: "one", balance: 1)) }
            writer = stack.core.engine.writer
            follower = writer?.follower
            try #require(follower != nil)
            try await stack.close()
        }
        while writer != nil || follower != nil, !Task.isCancelled { await Task.yield() }
        let isKept = writer != nil || follower != nil
        #expect(!isKept)
    }

    @Test("Differences of clocks within the time of a call do not count")
    func clockDifference() {
        let start = Date(timeIntervalSinceReferenceDate: 1000)
        let end = start.addingTimeInterval(4)
        let cases: [(home: TimeInterval, difference: TimeInterval)] = [(0, 0), (4, 0), (2, 0), (-3, 3), (10, -6)]
        for (offset, difference) in cases {
            let home = start.addingTimeInterval(offset)
            #expect(NodeReporter.clockDifference(from: start, to: end, home: home) == difference)
        }
    }

    @Test("A measured difference replaces the known one only if both cannot be the same")
    func steadiedDifference() {
        let cases: [(known: TimeInterval, measured: TimeInterval, duration: TimeInterval, used: TimeInterval)] = [
            (0, 0.9, 0, 0), (0, 1.1, 0, 1.1), (10, 9.5, 0, 10), (10, 0, 0.1, 0), (-10, 0, 0.1, 0),
            // A call that took 12 seconds measures up to 12 seconds less than the true difference.
            (10, 0, 12, 10), (10, 3, 8, 10), (10, -4, 12, -4),
        ]
        for (known, measured, duration, used) in cases {
            #expect(NodeReporter.steadied(known, measuring: measured, within: duration) == used)
        }
    }

    @Test("A working copy records its home, the name of its node and its position")
    func record() async throws {
        let stack = try await open("node")
        try await stack.write { context in _ = context.insert(Account(name: "one", balance: 1)) }
        let reader = try await ContextStack.open(
            .sqlite(fleet.copy("node")),
            models: [],
            stack: .rootOnly,
            configuration: StoreConfiguration(isReadOnly: true, allowsUnopenedModels: true)
        )
        let home = try #require(try await reader.storeRecord().home)
        #expect(home.name == "file:" + fleet.home.path)
        #expect(home.node == NodeReporter.name(ofCopy: fleet.copy("node").path))
        #expect(home.position?.number == 2)
        let error = await #expect(throws: StrataError.self) { _ = try await reader.nodes() }
        #expect(error?.code == .invalidState)
        try await reader.close()
        try await stack.close()
        // Another path gives the copy another name.
        try FileManager.default.moveItem(at: fleet.copy("node"), to: fleet.copy("moved"))
        let moved = try await open("moved")
        let name = try await moved.storeRecord().home?.node
        #expect(name == NodeReporter.name(ofCopy: fleet.copy("moved").path))
        try await moved.close()
    }
}
