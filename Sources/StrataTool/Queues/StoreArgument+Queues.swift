import Strata
import StrataPipeline

extension StoreArgument {
    /// Opens the store with the models of queues to read it only, runs a body, and closes the store.
    ///
    /// - Throws: ``ToolError`` if the store has no queues; otherwise as ``reading(models:_:)``.
    func readingQueues<Value>(_ body: (ContextStack) async throws -> Value) async throws -> Value {
        let record = try await reading { try await $0.storeRecord() }
        guard !record.engineModels.isEmpty else {
            throw ToolError("'\(store)' has no queues. A program creates them when it opens the store with them.")
        }
        return try await reading(models: record.engineModels, body)
    }

    /// Opens the store with the models of queues to write to it, runs a body, and closes the store. Call
    /// ``readingQueues(_:)`` before: opening would otherwise add missing queues to the store.
    ///
    /// - Throws: as ``readingQueues(_:)``, with the advice of the tool instead of the advice for programs.
    func writingQueues<Value>(_ body: (ContextStack) async throws -> Value) async throws -> Value {
        do {
            return try await writing(models: Pipeline.models, body)
        } catch let error as PipelineError where error.code == .unknownPipeline {
            throw ToolError("'\(store)' has no such queue. 'strata queues' lists the queues.")
        } catch let error as PipelineError where error.code == .unknownSchedule {
            throw ToolError("'\(store)' has no such schedule. 'strata schedules' lists the schedules.")
        }
    }
}
