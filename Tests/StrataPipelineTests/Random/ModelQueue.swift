import StrataPipeline

/// What a pipeline should do, on a page: the reference for random histories.
struct ModelQueue {
    struct Operation {
        let name: String
        let number: Int
        let commit: Int
        let lane: String
        var priority: Int
        var prerequisites: Set<String>
        /// What it waits for beside others.
        var heldUntil: Int?
        var isConstrained = false
        var isFailed = false
        var isRunning = false
        var attempts = 0
        var crashes = 0
    }

    let ordering: PipelineOrdering
    let whenFailed: FailurePolicy
    var limit: Int
    let limitPerLane: Int?
    var suspensions = 1
    var now = 0
    var queued: [String: Operation] = [:]
    var results: [String: OperationResult] = [:]
    private var lastCommit = 0
    private var lastNumber = 0

    init(ordering: PipelineOrdering, whenFailed: FailurePolicy, limit: Int, perLane limitPerLane: Int?) {
        self.ordering = ordering
        self.whenFailed = whenFailed
        self.limit = limit
        self.limitPerLane = limitPerLane
    }

    var running: [Operation] { queued.values.filter(\.isRunning) }

    /// - Returns: false if operations would wait for each other; then nothing is queued.
    mutating func commit(
        _ entries: [(name: String, lane: String, priority: Int, prerequisites: Set<String>)]
    ) -> Bool {
        let before = self
        lastCommit += 1
        for entry in entries {
            lastNumber += 1
            queued[entry.name] = Operation(
                name: entry.name,
                number: lastNumber,
                commit: lastCommit,
                lane: entry.lane,
                priority: entry.priority,
                prerequisites: entry.prerequisites
            )
        }
        if entries.contains(where: { isInRing($0.name) }) { self = before }
        return lastCommit > before.lastCommit
    }

    mutating func finish(_ name: String, _ result: OperationResult) {
        queued[name] = nil
        results[name] = result
    }

    mutating func putBack(_ name: String, counting: Bool, heldFor: Int? = nil, constrained: Bool = false) {
        queued[name]?.isRunning = false
        if !counting { queued[name]?.attempts -= 1 }
        if let heldFor { queued[name]?.heldUntil = now + heldFor }
        if constrained { queued[name]?.isConstrained = true }
    }

    mutating func fail(_ name: String) {
        if whenFailed == .drop { return finish(name, .dropped) }
        queued[name]?.isRunning = false
        queued[name]?.isFailed = true
    }

    mutating func retry(_ name: String) {
        queued[name]?.isFailed = false
        queued[name]?.heldUntil = nil
        queued[name]?.isConstrained = false
        queued[name]?.attempts = 0
    }

    // MARK: Choosing

    private func isBefore(_ left: Operation, _ right: Operation) -> Bool {
        (-left.priority, left.commit, left.number) < (-right.priority, right.commit, right.number)
    }

    /// Whether it is an operation's turn in its lane.
    private func isFirst(_ operation: Operation) -> Bool {
        let lane = queued.values.filter { $0.lane == operation.lane }
        let counting = lane.filter { whenFailed == .block || !$0.isFailed }
        switch ordering {
        case .flat: return limitPerLane.map { lane.count(where: \.isRunning) < $0 } ?? true
        case .commits: return counting.allSatisfy { $0.commit >= operation.commit }
        case .fifo: return counting.allSatisfy { $0.number >= operation.number } && !lane.contains(where: \.isRunning)
        case .lifo: return counting.allSatisfy { $0.number <= operation.number } && !lane.contains(where: \.isRunning)
        }
    }

    private func isReady(_ operation: Operation) -> Bool {
        !operation.isRunning && !operation.isFailed && !operation.isConstrained
            && (operation.heldUntil.map { $0 <= now } ?? true)
            && operation.prerequisites.allSatisfy { queued[$0] == nil } && isFirst(operation)
    }

    /// Starts what may be started, and gives the names in their order.
    mutating func start() -> [String] {
        var started: [String] = []
        while suspensions == 0, running.count < limit,
            let next = queued.values.filter(isReady).min(by: isBefore)
        {
            queued[next.name]?.isRunning = true
            queued[next.name]?.attempts += 1
            queued[next.name]?.heldUntil = nil
            started.append(next.name)
        }
        return started
    }

    // MARK: Rings

    /// Whether an operation would wait for itself, once all of them wait for their turns.
    private func isInRing(_ name: String) -> Bool {
        var (seen, pending): (Set<String>, [String]) = ([], [name])
        while let next = pending.popLast() {
            for other in waitedFor(queued[next]!) where seen.insert(other).inserted {
                if other == name { return true }
                pending.append(other)
            }
        }
        return false
    }

    private func waitedFor(_ operation: Operation) -> [String] {
        let before = queued.values.filter { other in
            switch ordering {
            case .flat: false
            case .commits: other.lane == operation.lane && other.commit < operation.commit
            case .fifo: other.lane == operation.lane && other.number < operation.number
            case .lifo: other.lane == operation.lane && other.number > operation.number
            }
        }
        return before.map(\.name) + operation.prerequisites.filter { queued[$0] != nil }
    }
}
