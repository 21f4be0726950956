import Foundation
import Strata

/// Requests about open pipelines and brokers.
extension QueueEngine {
    /// The key of a worker of this stack in this process.
    func key(of worker: Int64) -> LiveWorkers.Key { LiveWorkers.Key(store: stack.fingerprint, number: worker) }

    /// Whether a consumer takes operations under a name; true if the consumer no longer exists.
    func takes(_ name: PipelineName, _ id: Consumer.ID) -> Bool {
        let consumer = state.withLock { $0.consumers[id] }
        return consumer?.takes(name) ?? true
    }

    /// Whether a consumer claims operations with a type of payload; true if the consumer no longer exists.
    func claims(type: String, _ id: Consumer.ID) -> Bool {
        let types = state.withLock { $0.consumers[id]?.claimedTypes }
        return types?.contains { $0.hasSameBytes(as: type) } ?? true
    }

    /// The types of payloads that this engine claims from a pipeline; nil if it claims all types, or if not exactly one
    /// open consumer takes the pipeline.
    func claimedTypes(of name: PipelineName) -> [String]? {
        let takers = takers(of: name)
        return takers.count == 1 ? takers[0].claimedTypes : nil
    }

    /// The open consumers that take operations under a name.
    func takers(of name: PipelineName) -> [Consumer] {
        // The names are compared outside of the lock, because a broker's predicate is not code of the engine.
        state.withLock { Array($0.consumers.values) }.filter { $0.takes(name) }
    }

    /// The number of running attempts of all consumers.
    var runningCount: Int { state.withLock { $0.running.count } }

    /// Whether an attempt of a consumer runs an operation.
    func isRunning(_ operation: Int64, by id: Consumer.ID) -> Bool {
        state.withLock { $0.running[operation]?.consumer == id }
    }

    // MARK: Waiting

    /// Waits until no handler of a consumer runs and none of its operations is ready; without an id, of all consumers.
    func waitUntilIdle(_ id: Consumer.ID? = nil) async throws {
        var pause = Duration.milliseconds(1)
        await executor.waitUntilIdle()
        while try await isWorking(id) {
            try await Task.sleep(for: pause)
            pause = min(pause * 2, .milliseconds(100))
            await executor.waitUntilIdle()
        }
        // The events of the last operations may still be on their way.
        await executor.waitUntilIdle()
    }

    /// Whether a handler of a consumer runs, or one of its operations is pending and could start. Operations that wait
    /// for a rate limit do not count, and neither do operations of a queue that several consumers take, or of a type
    /// that is left to other processes.
    func isWorking(_ id: Consumer.ID?) async throws -> Bool {
        guard !isInsideHandler(of: id) else {
            throw PipelineError(
                .invalidArgument,
                "A handler cannot wait until no handlers run, because it would wait for itself."
            )
        }
        // This runs between two passes, so that claimed operations are known to run.
        let (all, isRunning, pending) = try await executor.perform { [self] in
            checkGates()
            let (all, isRunning) = state.withLock { state in
                (state.consumers, state.running.values.contains { id == nil || $0.consumer == id })
            }
            var pending: [PipelineName] = []
            if !isRunning {
                try transact { transaction in
                    let repository = OperationRepository(transaction)
                    let overridden = try repository.overriddenOptions()
                    pending = try repository.pendingNames().filter { name in
                        // Operations of a paused pipeline wait for an operator.
                        if overridden[name]?.isPaused == true { return false }
                        let taker = all.values.first { $0.takes(name) }
                        let gate = all.values.first { $0.isGateClosed && $0.takes(name) }?.gate
                        // Operations at a closed gate wait for a constraint.
                        if let gate, gate.exemptKeys == nil { return false }
                        guard gate != nil || taker?.claimedTypes != nil else { return true }
                        return try repository.isPending(name, keys: gate?.exemptKeys, types: taker?.claimedTypes)
                    }
                }
            }
            return (all, isRunning, pending)
        }
        if let id, all[id] == nil {
            throw PipelineError(.closed, "The pipeline or broker is closed and does not run operations. Open it again.")
        }
        let now = clock.now
        return isRunning
            || pending.contains { name in
                let takers = all.values.filter { $0.takes(name) }
                guard let taker = takers.first, takers.count == 1, id == nil || taker.id == id else { return false }
                return taker.limitedUntil.map { $0 <= now } ?? true
            }
    }

    // MARK: Suspension

    func suspend(_ id: Consumer.ID) -> Int {
        state.withLock { state in
            state.consumers[id]?.suspensions += 1
            return state.consumers[id]?.suspensions ?? 0
        }
    }

    func resume(_ id: Consumer.ID) -> Int {
        let left = state.withLock { state in
            guard let suspensions = state.consumers[id]?.suspensions, suspensions > 0 else { return 0 }
            state.consumers[id]?.suspensions -= 1
            return suspensions - 1
        }
        if left == 0 { schedulePass() }
        return left
    }

    func suspensions(of id: Consumer.ID) -> Int { state.withLock { $0.consumers[id]?.suspensions ?? 0 } }

    func limit(of id: Consumer.ID) -> Int? { state.withLock { $0.consumers[id]?.maxConcurrent } }

    func setLimit(_ limit: Int?, of id: Consumer.ID) {
        state.withLock { $0.consumers[id]?.limit = limit }
        schedulePass()
    }

    /// Adds a source of a constraint, or replaces an earlier one.
    func observe(_ source: any ConstraintSource, for id: Consumer.ID) {
        let isOpen = state.withLock { state in
            state.consumers[id]?.constraints.removeAll { $0.constraint == source.constraint }
            state.consumers[id]?.constraints.append(source)
            return state.consumers[id] != nil
        }
        if isOpen { watch(source) }
    }

    /// Looks at waiting operations whenever a constraint may have become satisfied.
    func watch(_ source: any ConstraintSource) {
        source.observe { [weak self] in self?.constraintsChanged() }
        // The constraint may have become satisfied before this callback was registered.
        constraintsChanged()
    }
}
