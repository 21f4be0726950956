import Strata
import StrataInspection
import StrataPipeline

extension StoreArgument {
    /// Refuses a queue without operations, schedules, settings and declaration, so that a spelling mistake is noticed.
    ///
    /// - Complexity: a few lookups for a known name; otherwise that of `queueSummaries(limit:)`.
    static func requireQueue(_ name: String, of store: String, in context: ObjectContext) throws {
        let pipeline = PipelineName(name)
        if try context.isKnown(pipeline) || context.pipelineSettings(of: pipeline).declared != nil { return }
        let names = try context.queueSummaries(limit: namedQueues + 1).map { "'\($0.name.rawValue)'" }
        let list = names.isEmpty ? "none" : names.prefix(namedQueues).joined(separator: ", ")
        let rest = names.count > namedQueues ? ", and more" : ""
        throw ToolError("'\(store)' has no such queue: '\(name)'. Its queues are: \(list)\(rest).")
    }

    /// The greatest number of queues that a message lists.
    private static let namedQueues = 20

    /// Opens the store with the models of queues to read it only, runs a body, and closes the store.
    ///
    /// - Throws: ``ToolError`` if the store has no queues; otherwise as ``reading(models:_:)``.
    func readingQueues<Value>(_ body: (ContextStack) async throws -> Value) async throws -> Value {
        let record = try await reading { try await $0.storeRecord() }
        guard !record.queueModels.isEmpty else {
            throw ToolError("'\(store)' has no queues. A program creates them when it opens the store with them.")
        }
        return try await reading(models: record.queueModels, body)
    }

    /// Opens the store with the models of its engines to write to its queues, runs a body, and closes the store. Call
    /// ``readingQueues(_:)`` before, which refuses a store without queues.
    ///
    /// If this takes a second, a note says that the command may wait for another process.
    ///
    /// - Throws: as ``reading(models:_:)``, with the advice of the tool instead of the advice for programs.
    func writingQueues<Value>(
        on console: Console,
        _ body: (ContextStack) async throws -> Value
    ) async throws -> Value {
        let store = store
        let note = Task {
            try await Task.sleep(for: .seconds(1))
            console.note("'\(store)' is not changed yet. Another process may be writing to it; the command waits.")
        }
        defer { note.cancel() }
        let record = try await reading { try await $0.storeRecord() }
        do {
            return try await writing(models: record.engineModels, body)
        } catch let error as PipelineError where error.code == .unknownPipeline {
            throw ToolError("'\(store)' has no such queue. 'strata queues' lists the queues.")
        } catch let error as PipelineError where error.code == .unknownSchedule {
            throw ToolError("'\(store)' has no such schedule. 'strata schedules' lists the schedules.")
        }
    }
}
