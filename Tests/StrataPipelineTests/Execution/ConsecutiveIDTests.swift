import Foundation
import Strata
import StrataTesting
import Testing

@testable import StrataPipeline

/// One statement claims or completes operations with consecutive ids. It must not include any other operation.
@Suite("Claims and completions of operations with consecutive ids", .timeLimit(.minutes(1)))
struct ConsecutiveIDTests {
    private static let other: PipelineName = "other"
    private static let names = ["A", "B", "C", "D", "E", "F"]

    /// A harness with operations of these names under consecutive ids; the operations in `elsewhere` are in another
    /// pipeline.
    private static func harness(elsewhere: Set<String> = []) async throws -> PipelineHarness {
        let harness = try await PipelineHarness.open()
        try harness.reserve(names)
        try await harness.commit(names.map { Entry(stringLiteral: $0) })
        let numbers = names.map { harness.id($0).rawValue }
        #expect(numbers == Array(numbers[0]..<(numbers[0] + Int64(names.count))))
        for name in elsewhere { try set("\"pipeline\" = 'other'", name, harness) }
        return harness
    }

    /// Changes an operation without the engine's knowledge.
    private static func set(_ assignment: String, _ name: String, _ harness: PipelineHarness) throws {
        let number = harness.id(name).rawValue
        try harness.stack.transact(author: "test") { transaction in
            try transaction.run("UPDATE \"QueuedOperation\" SET \(assignment) WHERE \"id\" = ?", [.integer(number)])
        }
    }

    private static func repository(_ transaction: StoreTransaction, _ harness: PipelineHarness) -> OperationRepository {
        let rules = OperationRepository.Rules()
        return OperationRepository(transaction, now: harness.clock.now, [.work: rules, other: rules])
    }

    /// Claims this number of operations of a pipeline.
    private static func claim(_ count: Int, of pipeline: PipelineName, _ harness: PipelineHarness) throws
        -> [ClaimedOperation]
    {
        var claims: [ClaimedOperation] = []
        try harness.stack.transact(author: "test") { transaction in
            let repository = repository(transaction, harness)
            claims = try repository.claim(count, of: pipeline, by: repository.register(.own)).claims
        }
        return claims
    }

    private static func names(_ numbers: some Sequence<Int64>, _ harness: PipelineHarness) -> [String] {
        names.filter { name in numbers.contains(harness.id(name).rawValue) }
    }

    @Test("Each pipeline claims only its own operations when ids of two pipelines alternate")
    func interleaved() async throws {
        let harness = try await Self.harness(elsewhere: ["B", "E"])
        let claims = try Self.claim(10, of: .work, harness)
        #expect(Self.names(claims.map(\.claim.operation), harness) == ["A", "C", "D", "F"])
        for name in Self.names {
            let row = try #require(try await harness.row(name))
            #expect(row.status == (["B", "E"].contains(name) ? .pending : .active), "\(name)")
            #expect(row.epoch == (row.status == .active ? 1 : 0))
        }
        #expect(try Self.claim(10, of: Self.other, harness).count == 2)
        try await harness.close()
    }

    @Test("Claims follow priorities and stop at the limit, whatever the order of ids")
    func priorities() async throws {
        let harness = try await Self.harness()
        for (name, priority) in [("E", 3), ("C", 2), ("D", 1)] {
            try await harness.edit(name) { $0.priority = priority }
        }
        let first = try Self.claim(4, of: .work, harness)
        #expect(first.map { harness.name(of: $0.claim.operation) } == ["E", "C", "D", "A"])
        #expect(try Self.claim(4, of: .work, harness).map { harness.name(of: $0.claim.operation) } == ["B", "F"])
        try await harness.close()
    }

    @Test(
        "A group completion leaves out an operation that was moved, claimed elsewhere or has a request",
        arguments: [
            "\"lane\" = 'else'", "\"pipeline\" = 'other'", "\"epoch\" = \"epoch\" + 1", "\"worker\" = 7",
            "\"request\" = 1",
            "\"status\" = 0, \"worker\" = NULL",
        ]
    )
    func changedMeanwhile(_ assignment: String) async throws {
        for changed in Self.names {
            let harness = try await Self.harness()
            let claims = try Self.claim(6, of: .work, harness)
            try Self.set(assignment, changed, harness)
            var completed: Set<Int64> = []
            try harness.stack.transact(author: "test") { transaction in
                completed = try Self.repository(transaction, harness).complete(claims.reversed())
            }
            #expect(Self.names(completed, harness) == Self.names.filter { $0 != changed })
            for name in Self.names {
                #expect(try await harness.result(name) == (name == changed ? nil : .completed), "\(name), \(changed)")
                #expect((try await harness.row(name) == nil) == (name != changed), "\(name), \(changed)")
            }
            try await harness.close()
        }
    }

    @Test("Dependants of jointly completed operations continue, and other dependants keep waiting")
    func ties() async throws {
        let harness = try await Self.harness()
        try await harness.commit(["X←A", "Y←B,F", "Z←G", "G"])
        let claims = try Self.claim(6, of: .work, harness)
        // Each operation is examined once, and waits from then on.
        #expect(try Self.claim(9, of: .work, harness).map { harness.name(of: $0.claim.operation) } == ["G"])
        #expect(try await harness.row("Y")?.status == .waiting)
        try harness.stack.transact(author: "test") { transaction in
            let completed = try Self.repository(transaction, harness).complete(claims)
            #expect(completed.count == 6)
        }
        #expect(try Self.claim(9, of: .work, harness).map { harness.name(of: $0.claim.operation) } == ["X", "Y"])
        #expect(try await harness.row("Z")?.status == .waiting)
        try await harness.close()
    }

    @Test("A transition is recorded for each jointly completed operation, and serial lanes continue")
    func transitions() async throws {
        let harness = try await Self.harness()
        for (place, name) in Self.names.enumerated() { try Self.set("\"lane\" = '\(place % 3)'", name, harness) }
        let numbers = Self.names.map { harness.id($0).rawValue }
        try harness.stack.transact(author: "test") { transaction in
            let rules = OperationRepository.Rules(ordering: .fifo, recordsTransitions: true)
            let repository = OperationRepository(transaction, now: harness.clock.now, [.work: rules])
            repository.sideResults.facts.areTransitionsRecorded = true
            let worker = try repository.register(.own)
            let first = try repository.claim(9, of: .work, by: worker).claims
            #expect(first.map(\.claim.operation) == Array(numbers[..<3]))
            #expect(try repository.complete(first) == Set(numbers[..<3]))
            let second = try repository.claim(9, of: .work, by: worker).claims
            #expect(second.map(\.claim.operation) == Array(numbers[3...]))
            #expect(try repository.complete(second).count == 3)
        }
        let steps = try await harness.stack.background { context in
            try context.fetch(OperationTransition.all).map { "\($0.operation) \($0.status)" }
        }
        for number in numbers {
            #expect(steps.count { $0 == "\(number) active" } == 1 && steps.count { $0 == "\(number) completed" } == 1)
        }
        // The second operations of the lanes had to wait and were released.
        for number in numbers[3...] {
            #expect(
                steps.filter { $0.hasPrefix("\(number) ") }.map { $0.split(separator: " ")[1] } == [
                    "waiting", "pending", "active", "completed",
                ]
            )
        }
        try await harness.close()
    }

    @Test("A hold made in a transaction counts in the same transaction")
    func holdOfItsOwn() async throws {
        let harness = try await Self.harness()
        let (held, now) = (harness.id("C").rawValue, harness.clock.now)
        try harness.stack.transact(author: "test") { transaction in
            let repository = Self.repository(transaction, harness)
            let worker = try repository.register(.own)
            #expect(
                try repository.claim(1, of: .work, by: worker).claims.map { harness.name(of: $0.claim.operation) } == [
                    "A"
                ]
            )
            try repository.startPause(of: held, until: now.addingTimeInterval(60))
            let others = try repository.claim(9, of: .work, by: worker).claims
            #expect(others.map { harness.name(of: $0.claim.operation) } == ["B", "D", "E", "F"])
        }
        #expect(try await harness.row("C")?.status == .held)
        try await harness.close()
    }
}
