import Foundation
import Strata

extension QueueEngine {
    // MARK: Opening

    /// Begins to run what a consumer takes.
    static func open(
        _ consumer: Consumer,
        formerNames: [PipelineName] = [],
        on stack: ContextStack,
        _ clock: any PipelineClock
    ) async throws -> RunnerHandle {
        if let limit = consumer.maxConcurrent { try PipelineOptions.checkLimit(limit) }
        let engine = try of(stack, clock)
        let id = try await engine.onQueue { try engine.add(consumer, formerNames) }
        engine.scheduleTurn()
        for constraint in consumer.options.constraints {
            constraint.observe { [weak engine] in engine?.constraintsChanged() }
        }
        return RunnerHandle(
            id: id,
            engine: engine,
            hub: consumer.events,
            shutdownGrace: consumer.options.shutdownGrace
        )
    }

    /// Runs on the queue.
    private func add(_ consumer: Consumer, _ formerNames: [PipelineName]) throws -> Consumer.ID {
        let (known, others) = state.withLock { ($0.worker, Array($0.consumers.values)) }
        let now = clock.now
        var worker: Int64 = 0
        try transact { transaction in
            try Self.checkNames(of: consumer, others, transaction)
            let book = OperationBook(transaction, now: now, Self.rules(of: [consumer]))
            if known == nil { try book.rescueOfTheDead { LiveWorkers.contains(self.key(of: $0)) } }
            worker = try known ?? book.register(.own)
            // Before anybody else can see it in the store.
            LiveWorkers.insert(self.key(of: worker))
            if case .pipeline(let name) = consumer.scope {
                for former in formerNames { try book.move(former, to: name) }
                try book.declare(name, consumer.rules)
            }
            try book.plan()
            let nextDue = try book.nextDue()
            state.withLock { $0.nextDue = nextDue }
        }
        return state.withLock { state in
            state.worker = worker
            state.haveConstraintsChanged = true
            state.lastConsumer += 1
            state.disputed = []
            state.consumers[state.lastConsumer] = consumer
            state.consumers[state.lastConsumer]?.id = state.lastConsumer
            return state.lastConsumer
        }
    }

    /// Refuses a consumer that would take what another one takes, as far as that is known by now.
    private static func checkNames(
        of consumer: Consumer,
        _ others: [Consumer],
        _ transaction: StoreTransaction
    ) throws {
        if case .pipeline(let name) = consumer.scope {
            guard let other = others.first(where: { $0.takes(name) }) else { return }
            if case .queues = other.scope { throw claimedTwice(name, [consumer, other]) }
            throw PipelineError(
                .alreadyOpen,
                "A pipeline named '\(name)' is open on this stack already. Close it first, or take another name."
            )
        }
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
            "Queue '\(name)' is taken by \(consumers.map(\.name).joined(separator: " and by ")). Each queue is one runner's: "
                + "change what they say of the names that they take."
        )
    }

    /// The rules of the pipelines among these. Those of a broker's queues are in the store.
    static func rules(of consumers: some Sequence<Consumer>) -> [PipelineName: OperationBook.Rules] {
        consumers.reduce(into: [:]) { rules, consumer in
            if case .pipeline(let name) = consumer.scope { rules[name] = consumer.rules }
        }
    }

    /// Moves what is queued under names that no open pipeline has.
    func adoptUndeclared(_ name: PipelineName) async throws -> [PipelineName] {
        let moved = try await onQueue {
            let open = self.state.withLock { Array($0.consumers.values) }
            var moved: [PipelineName] = []
            try self.transact { transaction in
                let book = OperationBook(transaction, now: self.clock.now, Self.rules(of: open))
                moved = try transaction.names().map { PipelineName($0) }.filter { name in
                    !open.contains { $0.takes(name) }
                }
                for other in moved { try book.move(other, to: name) }
            }
            return moved
        }
        state.withLock { $0.isNews = true }
        scheduleTurn()
        return moved
    }

    /// What a worker of this stack is known by in this process.
    func key(of worker: Int64) -> LiveWorkers.Key { LiveWorkers.Key(store: stack.fingerprint, number: worker) }

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
        if left == 0 { scheduleTurn() }
        return left
    }

    func suspensions(of id: Consumer.ID) -> Int { state.withLock { $0.consumers[id]?.suspensions ?? 0 } }

    func limit(of id: Consumer.ID) -> Int? { state.withLock { $0.consumers[id]?.maxConcurrent } }

    func setLimit(_ limit: Int?, of id: Consumer.ID) {
        state.withLock { $0.consumers[id]?.maxConcurrent = limit }
        scheduleTurn()
    }

    // MARK: Closing

    /// Ends a pipeline or broker, after its handlers, which may go on for a while.
    func remove(_ id: Consumer.ID, _ grace: Duration = .zero) async {
        let isOpen = state.withLock { state in
            state.consumers[id]?.suspensions += 1
            return state.consumers[id] != nil
        }
        guard isOpen else { return }
        // What has been claimed is started first.
        await takeTurn()
        if grace > .zero { await waitForEnds(of: id, grace) }
        let tasks = state.withLock { state in
            state.running.values.filter { $0.consumer == id }.compactMap(\.task)
        }
        for task in tasks { task.cancel() }
        for task in tasks { await task.value }
        // What they have said is written by now or by the turn that is due.
        await takeTurn()
        let (consumer, isLast) = state.withLock { state in
            (state.consumers.removeValue(forKey: id), state.consumers.isEmpty)
        }
        consumer?.events.finish()
        if isLast { await end() }
        // What two have taken may be one's now.
        state.withLock { state in (state.isNews, state.disputed) = (true, []) }
        scheduleTurn()
    }

    /// Waits until no handler of a consumer runs any more, at most so long.
    private func waitForEnds(of id: Consumer.ID, _ grace: Duration) async {
        var alarm: (any PipelineAlarm)?
        await withCheckedContinuation { continuation in
            let isRunning = state.withLock { state in
                let isRunning = state.running.values.contains { $0.consumer == id }
                if isRunning { state.endWaiters.append((id, continuation)) }
                return isRunning
            }
            guard isRunning else { return continuation.resume() }
            // Set only now: an alarm that rings before anybody waits would wake nobody.
            alarm = clock.alarm(at: clock.now.addingTimeInterval(grace.seconds)) { [weak self] in
                let waiters = self?.state.withLock { state in
                    defer { state.endWaiters.removeAll { $0.consumer == id } }
                    return state.endWaiters.filter { $0.consumer == id }
                }
                for waiter in waiters ?? [] { waiter.continuation.resume() }
            }
        }
        alarm?.cancel()
    }

    /// Leaves everything as a process does that is killed: for tests.
    func abandon() {
        let worker = state.withLock { state in
            state.suspensions += 1
            return state.worker
        }
        if let worker { LiveWorkers.remove(key(of: worker)) }
    }

    func stop() async {
        let ids = state.withLock { state in
            state.suspensions += 1
            return Array(state.consumers.keys)
        }
        for id in ids { await remove(id) }
        state.withLock { $0.suspensions -= 1 }
    }

    /// Nothing is open any more: the worker leaves, and the stack is let go.
    private func end() async {
        try? await onQueue {
            let worker = self.state.withLock { state -> Int64? in
                // Another one may have been opened meanwhile.
                guard state.consumers.isEmpty else { return nil }
                state.alarm?.cancel()
                (state.alarm, state.alarmDate) = (nil, nil)
                defer { state.worker = nil }
                return state.worker
            }
            guard let worker else { return }
            self.stack.removeEngine(Self.name)
            LiveWorkers.remove(self.key(of: worker))
            // Where this fails, the next one who opens the store finds that the worker is no more.
            try self.transact { transaction in
                try OperationBook(transaction).forget(worker)
            }
        }
    }
}

extension OperationBook {
    /// Makes a worker known, and gives its number.
    func register(_ identity: WorkerIdentity) throws -> Int64 {
        let number = try transaction.newID()
        try transaction.run(
            QueueSQL.insertWorker,
            [
                .integer(number), .integer(Int64(identity.process)), .integer(Int64(identity.start)),
                .text(identity.machine), .real(now.timeIntervalSinceReferenceDate), .integer(transaction.number),
            ]
        )
        try transaction.note(inserted: [number], of: PipelineWorker.self)
        return number
    }

    /// Moves the operations of one pipeline to another, where they keep their order.
    func move(_ name: PipelineName, to other: PipelineName) throws {
        let numbers = try transaction.numbers(QueueSQL.selectOfPipeline, [.text(name.rawValue)])
        for number in numbers {
            try transaction.run(
                QueueSQL.move,
                [.text(other.rawValue), .integer(transaction.number), .integer(number)]
            )
        }
        try transaction.note(updated: numbers, ["pipeline", "status"], of: QueuedOperation.self)
    }

    /// Remembers how a pipeline orders its operations. Where that has changed, all that wait are looked at again.
    ///
    /// - Parameter isTransient: whether it may be forgotten when nothing is queued there.
    func declare(_ name: PipelineName, _ rules: Rules, isTransient: Bool = false) throws {
        var known: (id: Int64, rules: Rules)?
        try transaction.rows(QueueSQL.selectRecord, [.text(name.rawValue)]) { row in
            known = (try row.read(Int64.self, at: 0), try Rules(row))
        }
        guard known?.rules != rules else { return }
        let values: [StoredValue] = [
            .text(rules.ordering.rawValue), .text(rules.whenFailed.rawValue),
            .integer(Int64(rules.crashLimit)),
            .integer(transaction.number),
        ]
        if let known {
            try transaction.run(QueueSQL.updateRecord, values + [.integer(known.id)])
            try transaction.note(
                updated: [known.id],
                ["ordering", "whenFailed", "crashLimit"],
                of: PipelineRecord.self
            )
        } else {
            let id = try transaction.newID()
            let head: [StoredValue] = [.integer(id), .text(name.rawValue), .integer(isTransient ? 1 : 0)]
            try transaction.run(QueueSQL.insertRecord, head + values)
            try transaction.note(inserted: [id], of: PipelineRecord.self)
        }
        try set(.pending, of: transaction.numbers(QueueSQL.selectWaiting, [.text(name.rawValue)]))
    }

    /// Puts back what workers have left that are no more.
    ///
    /// - Parameter isAlive: whether a worker of this process lives.
    func rescueOfTheDead(_ isAlive: (Int64) -> Bool) throws {
        for worker in try workers() {
            let isDead = worker.identity == .own ? !isAlive(worker.number) : worker.identity.isDead
            if isDead { try rescue(worker.number) }
        }
    }

    private func workers() throws -> [(number: Int64, identity: WorkerIdentity, beat: Int)] {
        var workers: [(number: Int64, identity: WorkerIdentity, beat: Int)] = []
        try transaction.rows(QueueSQL.selectWorkers, []) { row in
            let identity = WorkerIdentity(
                process: try row.read(Int.self, at: 1),
                start: try row.read(Int.self, at: 2),
                machine: try row.read(String.self, at: 3)
            )
            workers.append((try row.read(Int64.self, at: 0), identity, try row.read(Int.self, at: 4)))
        }
        return workers
    }

    /// Says that a worker lives; false where others have taken it for dead.
    func beat(_ worker: Int64) throws -> Bool {
        guard try transaction.run(QueueSQL.beat, [.integer(transaction.number), .integer(worker)]) > 0 else {
            return false
        }
        try transaction.note(updated: [worker], ["beat"], of: PipelineWorker.self)
        return true
    }

    /// Puts back what workers have left that are no more, or have not said for long that they live.
    ///
    /// How long that is, is counted by beats of one's own and not by the time of day, which may be set.
    ///
    /// - Parameter known: what was found before, by worker.
    /// - Returns: what is found now.
    func rescueOfTheSilent(
        _ known: [Int64: (beat: Int, missed: Int)],
        except own: Int64,
        missedLimit: Int
    ) throws -> [Int64: (beat: Int, missed: Int)] {
        let workers = Dictionary(uniqueKeysWithValues: try workers().map { ($0.number, $0) })
        let busy = Set(try transaction.numbers(QueueSQL.selectBusyWorkers, []))
        var result: [Int64: (beat: Int, missed: Int)] = [:]
        for worker in busy.union(workers.keys) where worker != own {
            guard let (_, identity, beat) = workers[worker], !identity.isDead else {
                try rescue(worker)
                continue
            }
            // Who runs nothing need not beat.
            guard busy.contains(worker) else { continue }
            let missed = known[worker].map { $0.beat == beat ? $0.missed + 1 : 0 } ?? 0
            if missed >= missedLimit { try rescue(worker) } else { result[worker] = (beat, missed) }
        }
        return result
    }

    /// Has operations tried again that have waited for a constraint.
    func wake(_ constraint: Constraint, of consumer: Consumer) throws {
        var waiting: [Int64] = []
        try transaction.rows(QueueSQL.selectConstrained, [.text(constraint.rawValue)]) { row in
            guard consumer.takes(PipelineName(try row.read(String.self, at: 1))) else { return }
            waiting.append(try row.read(Int64.self, at: 0))
        }
        for number in waiting {
            try transaction.run(QueueSQL.wake, [.integer(transaction.number), .integer(number)])
            try transaction.note(updated: [number], ["status", "constraint"], of: QueuedOperation.self)
        }
    }

    /// Lets go of finished operations that are too old or too many, a bounded number of them.
    func prune(_ retention: FinishedRetention) throws {
        let oldest = now.addingTimeInterval(-retention.maximumAge.seconds).timeIntervalSinceReferenceDate
        var due = try transaction.numbers(QueueSQL.selectOldFinished, [.real(oldest)])
        due += try transaction.numbers(QueueSQL.selectExcessFinished, [.integer(Int64(retention.maximumCount))])
        for number in Set(due) {
            try transaction.run(QueueSQL.deleteFinished, [.integer(number)])
            try transaction.note(deleted: [number], of: FinishedOperation.self)
        }
    }

    /// Forgets the queues of brokers where nothing is queued any more, a bounded number of them.
    func forgetEmptyQueues() throws {
        let empty = try transaction.numbers(QueueSQL.selectEmptyRecords, [])
        for record in empty { try transaction.run(QueueSQL.deleteRecord, [.integer(record)]) }
        try transaction.note(deleted: empty, of: PipelineRecord.self)
    }

    /// Puts back what a worker has left, and forgets it.
    func rescue(_ worker: Int64) throws {
        var left: [(number: Int64, crashes: Int)] = []
        try transaction.rows(QueueSQL.selectActiveOfWorker, [.integer(worker)]) { row in
            left.append((try row.read(Int64.self, at: 0), try row.read(Int.self, at: 1)))
        }
        for (number, crashes) in left {
            guard let standing = try state(of: number) else { continue }
            // A crash is counted for itself, and takes no attempt.
            try transaction.run(QueueSQL.rescue, [.integer(transaction.number), .integer(number)])
            try transaction.note(updated: [number], QueueSQL.rescueColumns, of: QueuedOperation.self)
            if standing.request == nil, crashes + 1 >= (try rules(standing.pipeline)).crashLimit {
                try fail(number, "The process that ran it has ended before it did, \(crashes + 1) times.")
                continue
            }
            // Somebody may have asked for something while it ran.
            try carryOut(number)
        }
        try forget(worker)
    }

    /// Takes a worker off the list.
    func forget(_ worker: Int64) throws {
        try transaction.run(QueueSQL.deleteWorker, [.integer(worker)])
        try transaction.note(deleted: [worker], of: PipelineWorker.self)
    }
}
