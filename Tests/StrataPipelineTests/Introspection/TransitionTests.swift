import Foundation
import Strata
import StrataTesting
import Testing

@testable import StrataPipeline

@Suite("Allowed status transitions and their records", .timeLimit(.minutes(1)))
struct TransitionTests {
    @Test("The database refuses every transition that is not in the table, and allows the others")
    func table() async throws {
        let harness = try await PipelineHarness.open()
        try await harness.commit(["A"])
        let number = try #require(try await harness.row("A")).id.rawValue
        for old in OperationStatus.allCases {
            for new in OperationStatus.allCases {
                let isAllowed = old == new || StatusRules.successors[old]!.contains(new)
                let outcome = Result { try Self.go(from: old, to: new, number, harness.stack) }
                switch outcome {
                case .success: #expect(isAllowed, "\(old) to \(new)")
                case .failure(let error): #expect(!isAllowed && error is StrataError, "\(old) to \(new): \(error)")
                }
            }
        }
        #expect(try await harness.row("A")?.status == .pending)
        try await harness.close()
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
        let harness = try await PipelineHarness.open()
        try await harness.commit(["A"])
        #expect(throws: StrataError.self) {
            try harness.stack.transact(author: "test") { try $0.run("UPDATE \"QueuedOperation\" SET \(assignment)") }
        }
        try await harness.play([.resume("A"), .done("A")])
        try await harness.close()
    }

    @Test(
        "An import refuses rows with an inconsistent status",
        arguments: [
            #"{"worker":1}"#, #"{"status":3}"#, #"{"awaitsPlace":true}"#, #"{"status":4,"worker":1}"#,
            #"{"status":3,"worker":1,"awaitsPlace":true}"#,
        ]
    )
    func tornInsert(_ values: String) async throws {
        let harness = try await PipelineHarness.open()
        try await harness.commit(["A"])
        let (line, torn) = try await Self.line(of: harness.stack, setting: values)
        let error = await #expect(throws: PipelineError.self) { try await harness.stack.importJSONLines([line, torn]) }
        #expect(error?.code == .invalidArgument)
        #expect(try await harness.stack.background { try $0.count(QueuedOperation.all) } == 1)
        // Only the inconsistent row caused the refusal.
        try await harness.stack.importJSONLines([line])
        #expect(try await harness.stack.background { try $0.count(QueuedOperation.all) } == 2)
        try await harness.close()
    }

    /// The exported line of an operation, and the line of another operation with other values.
    private static func line(
        of stack: ContextStack,
        setting values: String
    ) async throws -> (line: String, torn: String) {
        func object(_ text: String) throws -> [String: Any] {
            try #require(JSONSerialization.jsonObject(with: Data(text.utf8)) as? [String: Any])
        }
        let line = try #require(try await stack.jsonLines(of: [QueuedOperation.self]).first { _ in true })
        let torn = try object(line).merging(object(values)) { $1 }.merging(["$id": "torn"]) { $1 }
        return (line, String(decoding: try JSONSerialization.data(withJSONObject: torn), as: UTF8.self))
    }

    @Test("A pipeline with `recordsTransitions` records every transition, and another one records none")
    func recorded() async throws {
        let stack = try await ContextStack.open(.inMemory, models: Pipeline.models, stack: .rootOnly)
        let clock = VirtualClock()
        let ids = try await stack.background { context in
            let first = context.enqueue(Named(name: "A"), in: .work)
            let second = context.enqueue(Named(name: "B"), in: .work)
            let third = context.enqueue(Named(name: "C"), in: .work, notBefore: clock.now.addingTimeInterval(100))
            try second.addDependencies([first])
            context.enqueue(Named(name: "D"), in: "other")
            try context.commit()
            return [first.id.rawValue, second.id.rawValue, third.id.rawValue]
        }
        // An operation queued before transitions were recorded is recorded from its next transition.
        let pipeline = try await Pipeline.open(
            stack,
            named: .work,
            options: PipelineOptions(retry: RetryPolicy(maxAttempts: 1), recordsTransitions: true, clock: clock)
        ) { (attempt: Attempt<Named>) in
            if attempt.payload.name == "B" { return .fail("broken") }
            return .done
        }
        let other = try await Pipeline.open(
            stack,
            named: "other",
            options: PipelineOptions(clock: clock)
        ) { (_: Attempt<Named>) in .done }
        try await pipeline.waitUntilIdle()
        try await other.waitUntilIdle()
        let late = try await stack.background { context in
            for operation in try context.fetch(QueuedOperation.where { $0.status == .failed }) { operation.skip() }
            for operation in try context.fetch(QueuedOperation.where { $0.status == .held }) {
                context.delete(operation)
            }
            let late = context.enqueue(Named(name: "E"), in: .work)
            try context.commit()
            return late.id.rawValue
        }
        try await pipeline.waitUntilIdle()
        let steps = try await stack.background { context in
            // In the order in which they were written.
            try context.rows(OperationTransition.all).sorted { $0.id.rawValue < $1.id.rawValue }
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
        await pipeline.waitUntilProcessed()
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

    @Test("The transition of a failed attempt to its pause names the error, and so does that of a requested retry")
    func reasons() async throws {
        let stack = try await ContextStack.open(.inMemory, models: Pipeline.models, stack: .rootOnly)
        let clock = VirtualClock()
        let pipeline = try await Pipeline.open(
            stack,
            named: .work,
            options: PipelineOptions(retry: RetryPolicy(maxAttempts: 2), recordsTransitions: true, clock: clock)
        ) { (attempt: Attempt<Named>) in
            switch attempt.payload.name {
            case "throws": throw Undo()
            case "retries": return .retry(after: .seconds(1), because: Undo())
            case "asks": return .retry(after: .seconds(1))
            case "snoozes": return .snooze(for: .seconds(1), because: "busy")
            default: return .wait("door")
            }
        }
        let log = EventRecorder(pipeline)
        let names = ["throws", "retries", "asks", "snoozes", "waits"]
        let ids = try await stack.background { context in
            let ids = names.map { context.enqueue(Named(name: $0), in: .work).id }
            try context.commit()
            return ids
        }
        for id in ids { try await log.waitForEnd(of: id) }
        // The random pauses after thrown errors have at most this length too.
        clock.advance(by: .seconds(1))
        for id in ids.dropLast() { try await log.waitForEnd(of: id, count: 2) }
        let steps = try await stack.background { context in
            try context.rows(OperationTransition.all).sorted { $0.id.rawValue < $1.id.rawValue }
        }
        let paths = ids.map { id in
            steps.filter { $0.operation == id.rawValue && ["held", "failed"].contains($0.status) }
                .map { "\($0.status): \($0.reason ?? "-")" }
        }
        let usedUp = "failed: The handler requested a retry, and the operation has used all of its attempts."
        #expect(paths[0] == ["held: Undo()", "failed: Undo()"])
        #expect(paths[1] == ["held: Undo()", "\(usedUp) The last error: Undo()"])
        #expect(paths[2] == ["held: -", usedUp])
        #expect(paths[3] == ["held: busy", "held: busy"])
        #expect(paths[4] == ["held: door"])
        // The next start does not repeat the reason.
        let others = steps.filter { !["held", "failed"].contains($0.status) }
        #expect(others.count >= 2 * ids.count && others.allSatisfy { $0.reason == nil })
        try await stack.close()
    }

    @Test("An operation whose delete is undone starts again, even if it was running")
    func undone() async throws {
        let harness = try await PipelineHarness.open()
        try await harness.commit(["A"])
        try await harness.play([.resume("A")])
        let row = try #require(try await harness.row("A"))
        let form = try harness.stack.create(.private, named: "form")
        try await form.perform { context in
            context.undoLevels = 10
            context.delete(try #require(try context.find(row.id)))
            try context.commit()
        }
        // The first attempt learns that it has lost the operation.
        try await harness.log.waitForEnd(of: row.id)
        try await form.perform { context in
            try context.undo()
            try context.commit()
        }
        try await harness.end("A")
        #expect(try await harness.result("A") == .completed)
        #expect(harness.log.started.count == 2)
        try await harness.close()
    }
}
