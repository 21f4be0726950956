import Strata
import StrataPipeline

extension StoreArgument {
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
    /// - Throws: as ``reading(models:_:)``, with the advice of the tool instead of the advice for programs.
    func writingQueues<Value>(_ body: (ContextStack) async throws -> Value) async throws -> Value {
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
