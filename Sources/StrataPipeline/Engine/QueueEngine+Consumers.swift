import Foundation
import Strata

extension QueueEngine {
    // MARK: Opening

    /// Begins to run the operations of a pipeline.
    func add(_ consumer: Consumer, formerNames: [PipelineName]) async throws {
        try await onQueue { try self.addOnQueue(consumer, formerNames) }
        scheduleTurn()
    }

    private func addOnQueue(_ consumer: Consumer, _ formerNames: [PipelineName]) throws {
        let (known, isOpen) = state.withLock { ($0.worker, $0.consumers[consumer.name] != nil) }
        if isOpen {
            throw PipelineError(
                .alreadyOpen,
                "A pipeline named '\(consumer.name)' is open on this stack already. Close it first, or take another name."
            )
        }
        let now = clock.now
        var worker: Int64 = 0
        try stack.transact(author: Self.author) { transaction in
            let book = OperationBook(transaction, now: now, [consumer.name: consumer.rules])
            if known == nil { try book.rescueOfTheDead { LiveWorkers.contains(self.key(of: $0)) } }
            worker = try known ?? book.register(.own)
            // Before anybody else can see it in the store.
            LiveWorkers.insert(self.key(of: worker))
            for name in formerNames { try book.move(name, to: consumer.name) }
            try book.declare(consumer.name, consumer.rules)
            var nextHold: Date?
            try transaction.rows(QueueSQL.selectNextHold, []) { nextHold = try $0.read(Date?.self, at: 0) }
            state.withLock { $0.nextHold = nextHold }
        }
        state.withLock { state in
            state.worker = worker
            state.haveConstraintsChanged = true
            state.consumers[consumer.name] = consumer
        }
    }

    /// Moves what is queued under names that no open pipeline has.
    func adoptUndeclared(_ name: PipelineName) async throws -> [PipelineName] {
        let moved = try await onQueue {
            let open = self.state.withLock { $0.consumers.mapValues(\.rules) }
            var moved: [PipelineName] = []
            try self.stack.transact(author: Self.author) { transaction in
                let book = OperationBook(transaction, now: self.clock.now, open)
                moved = try transaction.names().map { PipelineName($0) }.filter { open[$0] == nil }
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

    /// Whether the pipeline of this name is the one with these events.
    func isOpen(_ name: PipelineName, _ hub: EventHub) -> Bool { state.withLock { $0.consumers[name]?.events === hub } }

    func suspend(_ name: PipelineName) -> Int {
        state.withLock { state in
            state.consumers[name]?.suspensions += 1
            return state.consumers[name]?.suspensions ?? 0
        }
    }

    func resume(_ name: PipelineName) -> Int {
        let left = state.withLock { state in
            guard let suspensions = state.consumers[name]?.suspensions, suspensions > 0 else { return 0 }
            state.consumers[name]?.suspensions -= 1
            return suspensions - 1
        }
        if left == 0 { scheduleTurn() }
        return left
    }

    func suspensions(of name: PipelineName) -> Int { state.withLock { $0.consumers[name]?.suspensions ?? 0 } }

    func limit(of name: PipelineName) -> Int? { state.withLock { $0.consumers[name]?.maxConcurrent } }

    func setLimit(_ limit: Int?, of name: PipelineName) {
        state.withLock { $0.consumers[name]?.maxConcurrent = limit }
        scheduleTurn()
    }

    // MARK: Closing

    /// Ends a pipeline, after its handlers, which may go on for a while.
    func remove(_ name: PipelineName, _ grace: Duration = .zero) async {
        state.withLock { $0.consumers[name]?.suspensions += 1 }
        // What has been claimed is started first.
        await takeTurn()
        if grace > .zero { await waitForEnds(of: name, grace) }
        let tasks = state.withLock { state in
            state.running.values.filter { $0.pipeline == name }.compactMap(\.task)
        }
        for task in tasks { task.cancel() }
        for task in tasks { await task.value }
        // What they have said is written by now or by the turn that is due.
        await takeTurn()
        let (consumer, isLast) = state.withLock { state in
            (state.consumers.removeValue(forKey: name), state.consumers.isEmpty)
        }
        consumer?.events.finish()
        if isLast { await end() }
    }

    /// Waits until no handler of a pipeline runs any more, at most so long.
    private func waitForEnds(of name: PipelineName, _ grace: Duration) async {
        var alarm: (any PipelineAlarm)?
        await withCheckedContinuation { continuation in
            let isRunning = state.withLock { state in
                let isRunning = state.running.values.contains { $0.pipeline == name }
                if isRunning { state.endWaiters.append((name, continuation)) }
                return isRunning
            }
            guard isRunning else { return continuation.resume() }
            // Set only now: an alarm that rings before anybody waits would wake nobody.
            alarm = clock.alarm(at: clock.now.addingTimeInterval(grace.seconds)) { [weak self] in
                let waiters = self?.state.withLock { state in
                    defer { state.endWaiters.removeAll { $0.pipeline == name } }
                    return state.endWaiters.filter { $0.pipeline == name }
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
        let names = state.withLock { state in
            state.suspensions += 1
            return Array(state.consumers.keys)
        }
        for name in names { await remove(name) }
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
            try self.stack.transact(author: Self.author) { transaction in
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
    func declare(_ name: PipelineName, _ rules: Rules) throws {
        var known: (id: Int64, rules: Rules)?
        try transaction.rows(QueueSQL.selectRecord, [.text(name.rawValue)]) { row in
            known = (try row.read(Int64.self, at: 0), try Rules(row))
        }
        guard known?.rules != rules else { return }
        let values: [StoredValue] = [
            .text(rules.ordering.rawValue), .integer(rules.isBlockedByFailed ? 1 : 0),
            .integer(Int64(rules.crashLimit)),
            .integer(transaction.number),
        ]
        if let known {
            try transaction.run(QueueSQL.updateRecord, values + [.integer(known.id)])
            try transaction.note(
                updated: [known.id],
                ["ordering", "isBlockedByFailed", "crashLimit"],
                of: PipelineRecord.self
            )
        } else {
            let id = try transaction.newID()
            try transaction.run(QueueSQL.insertRecord, [.integer(id), .text(name.rawValue)] + values)
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
    func wake(_ constraint: Constraint, of pipeline: PipelineName) throws {
        let waiting = try transaction.numbers(
            QueueSQL.selectConstrained,
            [.text(pipeline.rawValue), .text(constraint.rawValue)]
        )
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

    /// Puts back what a worker has left, and forgets it.
    func rescue(_ worker: Int64) throws {
        var left: [(number: Int64, crashes: Int)] = []
        try transaction.rows(QueueSQL.selectActiveOfWorker, [.integer(worker)]) { row in
            left.append((try row.read(Int64.self, at: 0), try row.read(Int.self, at: 1)))
        }
        for (number, crashes) in left {
            guard let pipeline = try state(of: number)?.pipeline else { continue }
            let status: OperationStatus = crashes + 1 >= (try rules(pipeline)).crashLimit ? .failed : .pending
            // A crash is counted for itself, and takes no attempt.
            try transaction.run(
                QueueSQL.rescue,
                [
                    .integer(Int64(status.rawValue)), .integer(1), .integer(1), .integer(transaction.number),
                    .integer(number),
                ]
            )
            try transaction.note(updated: [number], QueueSQL.rescueColumns, of: QueuedOperation.self)
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
