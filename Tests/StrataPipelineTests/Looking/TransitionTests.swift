import Foundation
import Strata
import StrataTesting
import Testing

@testable import StrataPipeline

@Suite("Allowed status transitions and their journal", .timeLimit(.minutes(1)))
struct TransitionTests {
    @Test("The database refuses every transition that is not in the table, and allows the others")
    func table() async throws {
        let stage = try await Stage.open()
        try await stage.commit(["A"])
        let number = try #require(try await stage.row("A")).id.number
        for old in OperationStatus.allCases {
            for new in OperationStatus.allCases {
                let isAllowed = old == new || StatusRules.successors[old]!.contains(new)
                let outcome = Result { try Self.go(from: old, to: new, number, stage.stack) }
                switch outcome {
                case .success: #expect(isAllowed, "\(old) to \(new)")
                case .failure(let error): #expect(!isAllowed && error is StrataError, "\(old) to \(new): \(error)")
                }
            }
        }
        #expect(try await stage.row("A")?.status == .pending)
        try await stage.close()
    }

    private struct Undo: Error {}

    /// Moves an operation from one status to another, and rolls that back.
    private static func go(
        from old: OperationStatus,
        to new: OperationStatus,
        _ number: Int64,
        _ stack: ContextStack
    ) throws {
        do {
            try stack.transact(author: "test") { transaction in
                // Every status can be reached from pending.
                if old == .waiting || old == .held || old == .active || old == .failed {
                    try set(old, number, transaction)
                }
                try set(new, number, transaction)
                throw Undo()
            }
        } catch is Undo {}
    }

    private static func set(_ status: OperationStatus, _ number: Int64, _ transaction: StoreTransaction) throws {
        try transaction.run(
            "UPDATE \"QueuedOperation\" SET \"status\" = ?, \"worker\" = ? WHERE \"id\" = ?",
            [.integer(Int64(status.rawValue)), status == .active ? .integer(1) : .null, .integer(number)]
        )
    }

    @Test(
        "The database refuses an inconsistent worker and status, an epoch that decreases, and an unknown status",
        arguments: [
            "\"worker\" = 1", "\"status\" = 3", "\"status\" = 3, \"worker\" = 1, \"epoch\" = -1", "\"status\" = 7",
        ]
    )
    func torn(_ assignment: String) async throws {
        let stage = try await Stage.open()
        try await stage.commit(["A"])
        #expect(throws: StrataError.self) {
            try stage.stack.transact(author: "test") { try $0.run("UPDATE \"QueuedOperation\" SET \(assignment)") }
        }
        try await stage.play([.resume("A"), .done("A")])
        try await stage.close()
    }

    @Test(
        "An import refuses rows with an inconsistent status",
        arguments: [
            #"{"worker":1}"#, #"{"status":3}"#, #"{"awaitsPlace":true}"#, #"{"status":4,"worker":1}"#,
            #"{"status":3,"worker":1,"awaitsPlace":true}"#,
        ]
    )
    func tornInsert(_ values: String) async throws {
        let stage = try await Stage.open()
        try await stage.commit(["A"])
        let (line, torn) = try await Self.line(of: stage.stack, setting: values)
        let error = await #expect(throws: PipelineError.self) { try await stage.stack.importLines([line, torn]) }
        #expect(error?.code == .invalidArgument)
        #expect(try await stage.stack.background { try $0.count(QueuedOperation.all) } == 1)
        // Only the inconsistent row caused the refusal.
        try await stage.stack.importLines([line])
        #expect(try await stage.stack.background { try $0.count(QueuedOperation.all) } == 2)
        try await stage.close()
    }

    /// The exported line of an operation, and the line of another operation with other values.
    private static func line(
        of stack: ContextStack,
        setting values: String
    ) async throws -> (line: String, torn: String) {
        func object(_ text: String) throws -> [String: Any] {
            try #require(JSONSerialization.jsonObject(with: Data(text.utf8)) as? [String: Any])
        }
        let line = try #require(try await stack.lines(of: [QueuedOperation.self]).first { _ in true })
        let torn = try object(line).merging(object(values)) { $1 }.merging(["$id": "torn"]) { $1 }
        return (line, String(decoding: try JSONSerialization.data(withJSONObject: torn), as: UTF8.self))
    }

    @Test("The journal of a pipeline records every transition, and a pipeline without a journal records none")
    func journal() async throws {
        let stack = try await ContextStack.open(.inMemory, models: Pipeline.models, stack: .rootOnly)
        let clock = VirtualClock()
        let ids = try await stack.background { context in
            let first = context.enqueue(Named(name: "A"), in: .work)
            let second = context.enqueue(Named(name: "B"), in: .work)
            let third = context.enqueue(Named(name: "C"), in: .work, notBefore: clock.now.addingTimeInterval(100))
            try second.addDependencies([first])
            context.enqueue(Named(name: "D"), in: "other")
            try context.commit()
            return [first.id.number, second.id.number, third.id.number]
        }
        // An operation queued before the journal existed appears in it from its next transition.
        let pipeline = try await Pipeline.open(
            stack,
            named: .work,
            retry: RetryPolicy(maxAttempts: 1),
            isJournalled: true,
            clock: clock
        ) {
            (attempt: Attempt<Named>) in
            if attempt.payload.name == "B" { return .fail("broken") }
            return .done
        }
        let other = try await Pipeline.open(stack, named: "other", clock: clock) { (_: Attempt<Named>) in .done }
        try await pipeline.drained()
        try await other.drained()
        let late = try await stack.background { context in
            for operation in try context.fetch(QueuedOperation.where { $0.status == .failed }) { operation.skip() }
            for operation in try context.fetch(QueuedOperation.where { $0.status == .held }) {
                context.delete(operation)
            }
            let late = context.enqueue(Named(name: "E"), in: .work)
            try context.commit()
            return late.id.number
        }
        try await pipeline.drained()
        let steps = try await stack.background { context in
            // In the order in which they were written.
            try context.rows(OperationTransition.all).sorted { $0.id.number < $1.id.number }
        }
        func path(_ number: Int64) -> [String] {
            steps.filter { $0.operation == number }.map { step in
                step.reason.map { "\(step.status): \($0)" } ?? step.status
            }
        }
        #expect(path(ids[0]) == ["active", "completed"])
        #expect(path(ids[1]) == ["waiting", "pending", "active", "failed: broken", "skipped"])
        #expect(path(ids[2]) == ["held", "deleted"])
        #expect(path(late) == ["pending", "active", "completed"])
        #expect(steps.allSatisfy { $0.pipeline == .work })
        // Old entries are deleted.
        clock.advance(by: .seconds(8 * 24 * 3600))
        await pipeline.settled()
        let oldest = clock.now.addingTimeInterval(-7 * 24 * 3600)
        let (left, young) = try await stack.background { context in
            (
                try context.count(OperationTransition.all),
                try context.count(OperationTransition.where { $0.at > oldest })
            )
        }
        // Transitions that follow from a commit have the time of the system clock.
        #expect(left == young && left < steps.count)
        try await stack.close()
    }

    @Test("An operation whose delete is undone starts again, even if it was running")
    func undone() async throws {
        let stage = try await Stage.open()
        try await stage.commit(["A"])
        try await stage.play([.resume("A")])
        let row = try #require(try await stage.row("A"))
        let form = try stage.stack.create(.private, named: "form")
        try await form.perform { context in
            context.undoLevels = 10
            context.delete(try #require(try context.find(row.id)))
            try context.commit()
        }
        // The first attempt learns that it has lost the operation.
        try await stage.log.waitForEnd(of: row.id)
        try await form.perform { context in
            try context.undo()
            try context.commit()
        }
        try await stage.end("A")
        #expect(try await stage.result("A") == .completed)
        #expect(stage.log.started.count == 2)
        try await stage.close()
    }
}
