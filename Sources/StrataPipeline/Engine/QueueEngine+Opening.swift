import Foundation
import Strata

/// Opening of pipelines and brokers.
extension QueueEngine {
    /// Opens a consumer and begins to run its operations.
    static func open(
        _ consumer: Consumer,
        previousNames: [PipelineName] = [],
        on stack: ContextStack
    ) async throws -> RunnerHandle {
        try stack.checkWritable()
        try consumer.options.check(consumer.rules.ordering)
        if case .pipeline(let name) = consumer.scope { try name.requireText() }
        try consumer.definition.checkHandlers()
        for item in consumer.definition.handlers.compactMap(\.itemModel) where !stack.knows(item) {
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
                added = try await engine.executor.perform { [engine] in try engine.add(consumer, previousNames) }
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
            interceptors: consumer.definition.interceptors,
            shutdownGrace: consumer.options.shutdownGrace
        )
    }

    /// Adds a consumer, between passes. Returns nil if this engine has ended.
    private func add(_ consumer: Consumer, _ previousNames: [PipelineName]) throws -> Consumer.ID? {
        let (known, others, isOver, isStopping) = state.withLock { state in
            (
                state.memory?.worker, Array(state.consumers.values), state.registry.isOver,
                state.registry.isStopping
            )
        }
        if isStopping { throw PipelineError(.closed, "The stack is being closed.") }
        if isOver { return nil }
        let now = clock.now
        var worker: Int64 = 0
        var nextDue: Date?
        var reports: [OperationRepository.SideResults.Entry] = []
        var overridden = OverriddenOptions()
        try transact { transaction in
            try Self.checkNames(of: consumer, others, transaction)
            let repository = OperationRepository(transaction, now: now, Self.rules(of: [consumer]))
            if known == nil { try repository.reclaimFromDeadWorkers { LiveWorkers.contains(self.key(of: $0)) } }
            worker = try known ?? repository.register(.own)
            // The worker is registered before other processes can see its row in the store.
            LiveWorkers.insert(self.key(of: worker))
            if case .pipeline(let name) = consumer.scope {
                var isMoved = false
                for former in previousNames {
                    if try repository.move(former, to: name) { isMoved = true }
                    try repository.moveSettings(of: former, to: name)
                }
                try repository.declare(name, consumer.rules)
                try repository.declareLimits(of: name, consumer.options)
                overridden = try repository.overriddenOptions()[name] ?? OverriddenOptions()
                if isMoved { try repository.breakCycles(of: name) }
            }
            try repository.adoptLaneRates(of: consumer)
            try repository.keep(consumer.options.retention, for: consumer.name)
            try repository.plan()
            try repository.correctFutureTimes()
            nextDue = try repository.nextDue()
            reports = repository.sideResults.reports
        }
        send(reports, to: [consumer])
        return state.withLock { state in
            var memory = state.memory ?? PassMemory(worker: worker)
            memory.nextDue = nextDue
            state.memory = memory
            state.work.haveConstraintsChanged = true
            state.registry.disputed = []
            state.consumers[consumer.id] = consumer
            state.consumers[consumer.id]?.overridden = overridden
            state.registry.rules = Self.rules(of: state.consumers.values)
            return consumer.id
        }
    }

    /// Sends events about operations that do not run.
    private func send(_ reports: [OperationRepository.SideResults.Entry], to consumers: [Consumer]) {
        for (number, pipeline, report) in reports {
            let events = consumers.first { $0.takes(pipeline) }?.events
            events?.send(event(of: number, report))
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
        var names = try transaction.names()
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
        let moved = try await executor.perform {
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
                moved = try transaction.names().filter { name in !open.contains { $0.takes(name) } }
                for other in moved { try repository.move(other, to: name) }
                if !moved.isEmpty { try repository.breakCycles(of: name) }
                reports = repository.sideResults.reports
            }
            self.send(reports, to: open)
            return moved
        }
        state.withLock { $0.work.hasUnseenWork = true }
        schedulePass()
        return moved
    }
}
