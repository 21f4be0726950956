import Foundation
import Strata

/// Closing of pipelines and brokers, and the end of the engine.
extension QueueEngine {
    /// Closes a pipeline or broker, after its handlers, which may continue for the grace period.
    func remove(_ id: Consumer.ID, _ grace: Duration = .zero) async {
        let isOpen = state.withLock { state in
            state.consumers[id]?.isClosing = true
            return state.consumers[id] != nil
        }
        guard isOpen else { return }
        // A handler that closes its own runner would wait for itself.
        guard !isInsideHandler(of: id) else {
            Task.detached { await self.remove(id, grace) }
            return
        }
        // After this pass, the operations that were just being claimed are known.
        await performPass()
        if grace > .zero { await waitForEnds(of: id, grace) }
        await cancelAttempts(of: id)
        await writeEnds(of: id)
        // The name is still taken, so this does not remove the gauges of another runner of this name.
        state.withLock { $0.consumers[id] }?.events.telemetry?.destroyGauges()
        let (consumer, isLast) = state.withLock { state in
            let consumer = state.consumers.removeValue(forKey: id)
            state.registry.rules = Self.rules(of: state.consumers.values)
            return (consumer, state.consumers.isEmpty)
        }
        consumer?.events.finish()
        if isLast { await end() }
        // A queue that two consumers took may belong to one of them now.
        state.withLock { state in (state.work.hasUnseenWork, state.registry.disputed) = (true, []) }
        schedulePass()
    }

    /// For how long a closed consumer tries again to write the outcomes of its handlers.
    private static let closingTime = Duration.seconds(5)

    /// Writes the outcomes of the handlers of a consumer. If the store cannot be written to, tries again each second:
    /// otherwise the operations would run again when the store is opened next.
    private func writeEnds(of id: Consumer.ID) async {
        var start: ContinuousClock.Instant?
        while true {
            await performPass()
            let ends = state.withLock { $0.work.ended.count { $0.consumer.id == id } }
            if ends == 0 { return }
            let first = start ?? .now
            start = first
            guard first.duration(to: .now) < Self.closingTime else {
                return stack.log(
                    .error,
                    "\(ends) operations have ended, and the store could not be written to: they run again"
                )
            }
            // The caller may be cancelled, and the clock of the engine may stand still in tests.
            await Task { try? await Task.sleep(for: .seconds(Self.storePause)) }.value
        }
    }

    /// Ends the attempts of a consumer: those that have begun are cancelled, and the others are returned to the queue.
    private func cancelAttempts(of id: Consumer.ID) async {
        withdraw { $0.consumer.id == id }
        var isBeginning = true
        while isBeginning {
            let running = state.withLock { state in
                state.running.values.filter { $0.consumer == id && ($0.task != nil || !$0.isEnding) }
            }
            for attempt in running { attempt.task?.cancel() }
            for attempt in running { await attempt.task?.value }
            // A thread is just creating the attempt's task.
            isBeginning = running.contains { $0.task == nil }
            if isBeginning { await performPass() }
        }
    }

    /// Returns attempts that have not begun to the queue.
    func withdraw(where isUnwanted: (EngineExecutor.Attempt) -> Bool) {
        for (operation, consumer) in executor.withdraw(where: isUnwanted) {
            end(AttemptEnd(operation: operation, consumer: consumer, outcome: .failure(CancellationError())))
        }
    }

    /// Waits until no handler of a consumer runs, for the grace period at most, and not after a cancellation of the
    /// current task.
    private func waitForEnds(of id: Consumer.ID, _ grace: Duration) async {
        let number = state.withLock { state in
            state.registry.lastWaiter += 1
            return state.registry.lastWaiter
        }
        var alarm: (any PipelineAlarm)?
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let isRunning = state.withLock { state in
                    let isRunning = state.running.values.contains { $0.consumer == id }
                    if isRunning { state.registry.endWaiters[number] = (id, continuation) }
                    return isRunning
                }
                guard isRunning else { return continuation.resume() }
                // The alarm is set only now, because an alarm or a cancellation before the continuation is stored would
                // resume nothing.
                alarm = clock.alarm(at: clock.now.later(by: grace.seconds)) { [weak self] in
                    self?.wake(waiter: number)
                }
                if Task.isCancelled { wake(waiter: number) }
            }
        } onCancel: {
            wake(waiter: number)
        }
        alarm?.cancel()
    }

    private func wake(waiter number: Int) {
        state.withLock { $0.registry.endWaiters.removeValue(forKey: number) }?.continuation.resume()
    }

    /// Leaves everything as a killed process does, for tests.
    func abandon() {
        let worker = state.withLock { state in
            state.registry.isAbandoned = true
            return state.memory?.worker
        }
        if let worker { LiveWorkers.remove(key(of: worker)) }
    }

    func stop() async {
        state.withLock { $0.registry.isStopping = true }
        // After this, a consumer that was just being opened has either been added or rejected.
        _ = try? await executor.perform {}
        while let id = state.withLock({ $0.consumers.keys.first }) {
            await remove(id)
        }
        await end()
    }

    /// Ends the engine after its last consumer was closed: removes the worker, and releases the stack.
    func end() async {
        try? await executor.perform {
            let ended = self.state.withLock { state -> (worker: Int64?, listening: CommitListening?)? in
                // Another consumer may have been opened meanwhile.
                guard state.consumers.isEmpty, !state.registry.isOver else { return nil }
                state.registry.isOver = true
                state.alarm.pending?.cancel()
                (state.alarm.pending, state.alarm.date) = (nil, nil)
                defer { (state.memory, state.commits.listening) = (nil, nil) }
                return (state.memory?.worker, state.commits.listening)
            }
            // The subscription ends after the lock is released, because the listener takes this lock.
            guard let ended else { return }
            self.stack.removeEngine(Self.name)
            guard let worker = ended.worker else { return }
            LiveWorkers.remove(self.key(of: worker))
            // If this fails, the next process that opens the store finds that the worker is dead.
            try self.transact { transaction in
                try OperationRepository(transaction).forget(worker)
            }
        }
    }
}
