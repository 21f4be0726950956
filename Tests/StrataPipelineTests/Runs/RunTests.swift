import Foundation
import Strata
import StrataTesting
import Testing

@testable import StrataPipeline

/// One statement claims or completes operations with consecutive ids. It must not include any other operation.
@Suite("Claims and completions of operations with consecutive ids", .timeLimit(.minutes(1)))
struct RunTests {
    private static let other: PipelineName = "other"
    private static let names = ["A", "B", "C", "D", "E", "F"]

    /// A stage with operations of these names under consecutive ids; the operations in `elsewhere` are in another
    /// pipeline.
    private static func stage(elsewhere: Set<String> = []) async throws -> Stage {
        let stage = try await Stage.open()
        try stage.reserve(names)
        try await stage.commit(names.map { Entry(stringLiteral: $0) })
        let numbers = names.map { stage.id($0).number }
        #expect(numbers == Array(numbers[0]..<(numbers[0] + Int64(names.count))))
        for name in elsewhere { try set("\"pipeline\" = 'other'", name, stage) }
        return stage
    }

    /// Changes an operation without the engine's knowledge.
    private static func set(_ assignment: String, _ name: String, _ stage: Stage) throws {
        let number = stage.id(name).number
        try stage.stack.transact(author: "test") { transaction in
            try transaction.run("UPDATE \"QueuedOperation\" SET \(assignment) WHERE \"id\" = ?", [.integer(number)])
        }
    }

    private static func book(_ transaction: StoreTransaction, _ stage: Stage) -> OperationBook {
        OperationBook(transaction: transaction, now: stage.clock.now) { _ in OperationBook.Rules() }
    }

    /// Claims this number of operations of a pipeline.
    private static func claim(_ count: Int, of pipeline: PipelineName, _ stage: Stage) throws -> [ClaimedOperation] {
        var claims: [ClaimedOperation] = []
        try stage.stack.transact(author: "test") { transaction in
            let book = book(transaction, stage)
            claims = try book.claim(count, of: pipeline, by: book.register(.own)).claims
        }
        return claims
    }

    private static func names(_ numbers: some Sequence<Int64>, _ stage: Stage) -> [String] {
        names.filter { name in numbers.contains(stage.id(name).number) }
    }

    @Test("Each pipeline claims only its own operations when ids of two pipelines alternate")
    func interleaved() async throws {
        let stage = try await Self.stage(elsewhere: ["B", "E"])
        let claims = try Self.claim(10, of: .work, stage)
        #expect(Self.names(claims.map(\.claim.operation), stage) == ["A", "C", "D", "F"])
        for name in Self.names {
            let row = try #require(try await stage.row(name))
            #expect(row.status == (["B", "E"].contains(name) ? .pending : .active), "\(name)")
            #expect(row.epoch == (row.status == .active ? 1 : 0))
        }
        #expect(try Self.claim(10, of: Self.other, stage).count == 2)
        try await stage.close()
    }

    @Test("Claims follow priorities and stop at the limit, whatever the order of ids")
    func priorities() async throws {
        let stage = try await Self.stage()
        for (name, priority) in [("E", 3), ("C", 2), ("D", 1)] { try await stage.edit(name) { $0.priority = priority } }
        let first = try Self.claim(4, of: .work, stage)
        #expect(first.map { stage.name(of: $0.claim.operation) } == ["E", "C", "D", "A"])
        #expect(try Self.claim(4, of: .work, stage).map { stage.name(of: $0.claim.operation) } == ["B", "F"])
        try await stage.close()
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
            let stage = try await Self.stage()
            let claims = try Self.claim(6, of: .work, stage)
            try Self.set(assignment, changed, stage)
            var completed: Set<Int64> = []
            try stage.stack.transact(author: "test") { transaction in
                completed = try Self.book(transaction, stage).complete(claims.reversed())
            }
            #expect(Self.names(completed, stage) == Self.names.filter { $0 != changed })
            for name in Self.names {
                #expect(try await stage.result(name) == (name == changed ? nil : .completed), "\(name), \(changed)")
                #expect((try await stage.row(name) == nil) == (name != changed), "\(name), \(changed)")
            }
            try await stage.close()
        }
    }

    @Test("Dependants of jointly completed operations continue, and other dependants keep waiting")
    func ties() async throws {
        let stage = try await Self.stage()
        try await stage.commit(["X←A", "Y←B,F", "Z←G", "G"])
        let claims = try Self.claim(6, of: .work, stage)
        // Each operation is examined once, and waits from then on.
        #expect(try Self.claim(9, of: .work, stage).map { stage.name(of: $0.claim.operation) } == ["G"])
        #expect(try await stage.row("Y")?.status == .waiting)
        try stage.stack.transact(author: "test") { transaction in
            let completed = try Self.book(transaction, stage).complete(claims)
            #expect(completed.count == 6)
        }
        #expect(try Self.claim(9, of: .work, stage).map { stage.name(of: $0.claim.operation) } == ["X", "Y"])
        #expect(try await stage.row("Z")?.status == .waiting)
        try await stage.close()
    }

    @Test("The journal has a step for each jointly completed operation, and serial lanes continue")
    func journal() async throws {
        let stage = try await Self.stage()
        for (place, name) in Self.names.enumerated() { try Self.set("\"lane\" = '\(place % 3)'", name, stage) }
        let numbers = Self.names.map { stage.id($0).number }
        try stage.stack.transact(author: "test") { transaction in
            let book = OperationBook(transaction: transaction, now: stage.clock.now) { _ in
                OperationBook.Rules(ordering: .fifo, isJournalled: true)
            }
            book.news.isJournalled = true
            let worker = try book.register(.own)
            let first = try book.claim(9, of: .work, by: worker).claims
            #expect(first.map(\.claim.operation) == Array(numbers[..<3]))
            #expect(try book.complete(first) == Set(numbers[..<3]))
            let second = try book.claim(9, of: .work, by: worker).claims
            #expect(second.map(\.claim.operation) == Array(numbers[3...]))
            #expect(try book.complete(second).count == 3)
        }
        let steps = try await stage.stack.background { context in
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
        try await stage.close()
    }

    @Test("A hold made in a transaction counts in the same transaction")
    func holdOfItsOwn() async throws {
        let stage = try await Self.stage()
        let (held, now) = (stage.id("C").number, stage.clock.now)
        try stage.stack.transact(author: "test") { transaction in
            let book = Self.book(transaction, stage)
            let worker = try book.register(.own)
            #expect(try book.claim(1, of: .work, by: worker).claims.map { stage.name(of: $0.claim.operation) } == ["A"])
            try book.startPause(of: held, until: now.addingTimeInterval(60))
            let others = try book.claim(9, of: .work, by: worker).claims
            #expect(others.map { stage.name(of: $0.claim.operation) } == ["B", "D", "E", "F"])
        }
        #expect(try await stage.row("C")?.status == .held)
        try await stage.close()
    }
}
