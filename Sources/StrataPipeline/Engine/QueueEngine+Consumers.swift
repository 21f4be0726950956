import Foundation
import Strata

extension QueueEngine {
    // MARK: Opening

    /// Opens a consumer and begins to run its operations.
    static func open(
        _ consumer: Consumer,
        previousNames: [PipelineName] = [],
        on stack: ContextStack
    ) async throws -> RunnerHandle {
        try consumer.options.check(consumer.ordering)
        if case .pipeline(let name) = consumer.scope { try name.requireText() }
        try consumer.checkHandlers()
        for item in consumer.handlers.compactMap(\.itemModel) where !stack.knows(item) {
            throw PipelineError(
                .modelsMissing,
                "The stack was opened without \(item), the model of the items of \(consumer.name). Add it to the "
                    + "stack's models."
            )
        }
        var engine = try of(stack, consumer.options.clock)
        var added: Consumer.ID?
        while added == nil {
            // `add` returns nil if the engine has ended meanwhile, because its last consumer was closed.
            do {
                added = try await engine.onQueue { [engine] in try engine.add(consumer, previousNames) }
            } catch {
                // An engine without consumers must not keep its stack open.
                await engine.end()
                throw error
            }
            if added == nil { engine = try of(stack, consumer.options.clock) }
        }
        let id = added!
        for source in consumer.options.constraints { engine.watch(source) }
        consumer.gate?.constraint.observe { [weak engine] in engine?.schedulePass() }
        // The first pass starts operations left from earlier runs.
        engine.schedulePass()
        return RunnerHandle(
            id: id,
            engine: engine,
            hub: consumer.events,
            interceptors: consumer.interceptors,
            shutdownGrace: consumer.options.shutdownGrace
        )
    }

    /// Adds a consumer, between passes. Returns nil if this engine has ended.
    private func add(_ consumer: Consumer, _ previousNames: [PipelineName]) throws -> Consumer.ID? {
        let (known, others, isOver, isStopping) = state.withLock { state in
            (state.worker, Array(state.consumers.values), state.isOver, state.isStopping)
        }
        if isStopping { throw PipelineError(.closed, "The stack is being closed.") }
        if isOver { return nil }
        let now = clock.now
        var worker: Int64 = 0
        var nextDue: Date?
        var reports: [OperationRepository.SideResults.Entry] = []
        try transact { transaction in
            try Self.checkNames(of: consumer, others, transaction)
            let repository = OperationRepository(transaction, now: now, Self.rules(of: [consumer]))
            if known == nil { try repository.reclaimFromDeadWorkers { LiveWorkers.contains(self.key(of: $0)) } }
            worker = try known ?? repository.register(.own)
            // The worker is registered before other processes can see its row in the store.
            LiveWorkers.insert(self.key(of: worker))
            if case .pipeline(let name) = consumer.scope {
                var isMoved = false
                for former in previousNames where try repository.move(former, to: name) { isMoved = true }
                try repository.declare(name, consumer.rules)
                if isMoved { try repository.breakCycles(of: name) }
            }
            try repository.keep(consumer.options.retention, for: consumer.name)
            try repository.plan()
            try repository.correctFutureTimes()
            nextDue = try repository.nextDue()
            reports = repository.sideResults.reports
        }
        send(reports, to: [consumer])
        return state.withLock { state in
            state.worker = worker
            state.nextDue = nextDue
            state.haveConstraintsChanged = true
            state.lastConsumer += 1
            state.disputed = []
            state.consumers[state.lastConsumer] = consumer
            state.consumers[state.lastConsumer]?.id = state.lastConsumer
            return state.lastConsumer
        }
    }

    /// Sends events about operations that do not run.
    private func send(_ reports: [OperationRepository.SideResults.Entry], to consumers: [Consumer]) {
        for (number, pipeline, report) in reports {
            let events = consumers.first { $0.takes(pipeline) }?.events
            events?.send(report.event(stack.id(number, of: QueuedOperation.self)))
        }
    }

    /// Rejects a consumer that would take another consumer's queue, as far as the queues are known.
    private static func checkNames(
        of consumer: Consumer,
        _ others: [Consumer],
        _ transaction: StoreTransaction
    ) throws {
        // The store uses the name as key of the rate limit and of the retention.
        guard !others.contains(where: { $0.name.hasSameBytes(as: consumer.name) }) else {
            throw PipelineError(
                .alreadyOpen,
                "A \(consumer.name) is open on this stack already. Close it first, or choose another name."
            )
        }
        if case .pipeline(let name) = consumer.scope {
            guard let other = others.first(where: { $0.takes(name) }) else { return }
            throw claimedTwice(name, [consumer, other])
        }
        if others.isEmpty { return }
        var names = try transaction.names().map { PipelineName($0) }
        for other in others {
            if case .pipeline(let name) = other.scope { names.append(name) }
        }
        for name in names where consumer.takes(name) {
            guard let other = others.first(where: { $0.takes(name) }) else { continue }
            throw claimedTwice(name, [consumer, other])
        }
    }

    static func claimedTwice(_ name: PipelineName, _ consumers: [Consumer]) -> PipelineError {
        PipelineError(
            .queueClaimedTwice,
            "Queue '\(name)' is claimed by \(consumers.map(\.name).joined(separator: " and by ")). A queue can have "
                + "only one runner: change the names that they take."
        )
    }

    /// The rules of the pipelines among these consumers. The rules of a broker's queues are in the store.
    static func rules(of consumers: some Sequence<Consumer>) -> [PipelineName: OperationRepository.Rules] {
        consumers.reduce(into: [:]) { rules, consumer in
            if case .pipeline(let name) = consumer.scope { rules[name] = consumer.rules }
        }
    }

    /// Moves the operations that are queued under names which no open consumer takes.
    func adoptOrphanedOperations(_ name: PipelineName, _ id: Consumer.ID) async throws -> [PipelineName] {
        let moved = try await onQueue {
            let open = self.state.withLock { Array($0.consumers.values) }
            guard open.contains(where: { $0.id == id }) else {
                throw PipelineError(
                    .closed,
                    "Pipeline '\(name)' is closed. Only an open pipeline can adopt orphaned operations."
                )
            }
            var moved: [PipelineName] = []
            var reports: [OperationRepository.SideResults.Entry] = []
            try self.transact { transaction in
                let repository = OperationRepository(transaction, now: self.clock.now, Self.rules(of: open))
                moved = try transaction.names().map { PipelineName($0) }.filter { name in
                    !open.contains { $0.takes(name) }
                }
                for other in moved { try repository.move(other, to: name) }
                if !moved.isEmpty { try repository.breakCycles(of: name) }
                reports = repository.sideResults.reports
            }
            self.send(reports, to: open)
            return moved
        }
        state.withLock { $0.hasUnseenWork = true }
        schedulePass()
        return moved
    }

    /// The key of a worker of this stack in this process.
    func key(of worker: Int64) -> LiveWorkers.Key { LiveWorkers.Key(store: stack.fingerprint, number: worker) }

    /// Whether a consumer takes operations under a name; true if the consumer no longer exists.
    func takes(_ name: PipelineName, _ id: Consumer.ID) -> Bool {
        let consumer = state.withLock { $0.consumers[id] }
        return consumer?.takes(name) ?? true
    }

    // MARK: Waiting

    /// Waits until no handler of a consumer runs and none of its operations is ready; without an id, of all consumers.
    func waitUntilIdle(_ id: Consumer.ID? = nil) async throws {
        var pause = Duration.milliseconds(1)
        await waitForPasses()
        while try await isWorking(id) {
            try await Task.sleep(for: pause)
            pause = min(pause * 2, .milliseconds(100))
            await waitForPasses()
        }
        // The events of the last operations may still be on their way.
        await waitForPasses()
    }

    /// Whether a handler of a consumer runs, or one of its operations is pending and could start. Operations that wait
    /// for a rate limit do not count, and neither do operations of a queue that several consumers take.
    func isWorking(_ id: Consumer.ID?) async throws -> Bool {
        guard !isInsideHandler(of: id) else {
            throw PipelineError(
                .invalidArgument,
                "A handler cannot wait until no handlers run, because it would wait for itself."
            )
        }
        // This runs between two passes, so that claimed operations are known to run.
        let (all, isRunning, pending) = try await onQueue { [self] in
            checkGates()
            let (all, isRunning) = state.withLock { state in
                (state.consumers, state.running.values.contains { id == nil || $0.consumer == id })
            }
            var pending: [PipelineName] = []
            if !isRunning {
                try transact { transaction in
                    let repository = OperationRepository(transaction)
                    pending = try repository.pendingNames().filter { name in
                        // Operations at a closed gate wait for a constraint.
                        guard let gate = all.values.first(where: { $0.isGateClosed && $0.takes(name) })?.gate
                        else { return true }
                        return try gate.exemptKeys.map { try repository.isPending(name, keys: $0) } ?? false
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

    func limit(of id: Consumer.ID) -> Int? { state.withLock { $0.consumers[id]?.options.maxConcurrent } }

    func setLimit(_ limit: Int?, of id: Consumer.ID) {
        state.withLock { $0.consumers[id]?.options.maxConcurrent = limit }
        schedulePass()
    }

    /// Adds a source of a constraint, or replaces an earlier one.
    func observe(_ source: any ConstraintSource, for id: Consumer.ID) {
        let isOpen = state.withLock { state in
            state.consumers[id]?.options.constraints.removeAll { $0.constraint == source.constraint }
            state.consumers[id]?.options.constraints.append(source)
            return state.consumers[id] != nil
        }
        if isOpen { watch(source) }
    }

    /// Looks at waiting operations whenever a constraint may have become satisfied.
    private func watch(_ source: any ConstraintSource) {
        source.observe { [weak self] in self?.constraintsChanged() }
        // The constraint may have become satisfied before this callback was registered.
        constraintsChanged()
    }

    // MARK: Closing

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
        // The outcomes of the handlers are written before or in this pass.
        await performPass()
        let (consumer, isLast) = state.withLock { state in
            (state.consumers.removeValue(forKey: id), state.consumers.isEmpty)
        }
        consumer?.events.finish()
        if isLast { await end() }
        // A queue that two consumers took may belong to one of them now.
        state.withLock { state in (state.hasUnseenWork, state.disputed) = (true, []) }
        schedulePass()
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
            state.lastWaiter += 1
            return state.lastWaiter
        }
        var alarm: (any PipelineAlarm)?
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let isRunning = state.withLock { state in
                    let isRunning = state.running.values.contains { $0.consumer == id }
                    if isRunning { state.endWaiters[number] = (id, continuation) }
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
        state.withLock { $0.endWaiters.removeValue(forKey: number) }?.continuation.resume()
    }

    /// Leaves everything as a killed process does, for tests.
    func abandon() {
        let worker = state.withLock { state in
            state.suspensions += 1
            return state.worker
        }
        if let worker { LiveWorkers.remove(key(of: worker)) }
    }

    func stop() async {
        state.withLock { $0.isStopping = true }
        // After this, a consumer that was just being opened has either been added or rejected.
        _ = try? await onQueue {}
        while let id = state.withLock({ $0.consumers.keys.first }) {
            await remove(id)
        }
        await end()
    }

    /// Ends the engine after its last consumer was closed: removes the worker, and releases the stack.
    func end() async {
        try? await onQueue {
            let (isOver, worker) = self.state.withLock { state -> (Bool, Int64?) in
                // Another consumer may have been opened meanwhile.
                guard state.consumers.isEmpty, !state.isOver else { return (false, nil) }
                state.isOver = true
                state.alarm?.cancel()
                (state.alarm, state.alarmDate) = (nil, nil)
                defer { state.worker = nil }
                return (true, state.worker)
            }
            if isOver {
                self.stack.removeEngine(Self.name)
                self.listening.withLock { $0 = nil }
            }
            guard let worker else { return }
            LiveWorkers.remove(self.key(of: worker))
            // If this fails, the next process that opens the store finds that the worker is dead.
            try self.transact { transaction in
                try OperationRepository(transaction).forget(worker)
            }
        }
    }
}
