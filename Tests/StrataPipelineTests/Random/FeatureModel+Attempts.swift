import StrataPipeline

/// Ends, changes in bulk, and starts.
extension FeatureModel {
    // MARK: Ends

    mutating func end(_ label: String, _ end: FeatureStep.End) {
        switch end {
        case .done: finish(label, .completed)
        case .doneWithResult(let value): finish(label, .completed, value)
        case .doneInBlock(let value):
            stamps += 1
            finish(label, .completed, value)
        case .thrown: failAttempt(label, pause: 2 * queued[label]!.attempts)
        case .failing: fail(label)
        case .retrying: if isLastAttempt(of: label) { fail(label) } else { requeue(label, counting: true, pause: 5) }
        case .snoozing: requeue(label, counting: false, pause: 5)
        case .skipping: finish(label, .skipped)
        }
    }

    mutating func finish(_ label: String, _ result: OperationResult, _ value: Int? = nil) {
        guard let operation = queued.removeValue(forKey: label) else { return }
        finished[label] = (operation, result, value)
        // The work was not done, so the key is free.
        if let key = operation.key, result != .completed, unique[key]?.label == label { unique[key] = nil }
    }

    /// Ends an attempt whose handler has thrown, or has taken too long.
    mutating func failAttempt(_ label: String, pause: Int) {
        if isLastAttempt(of: label) { return fail(label) }
        queued[label]!.failures += 1
        requeue(label, counting: true, pause: pause)
    }

    private func isLastAttempt(of label: String) -> Bool {
        let operation = queued[label]!
        return (operation.draft.maxAttempts ?? rules.maxAttempts).map { operation.attempts >= $0 } ?? false
    }

    mutating func requeue(_ label: String, counting: Bool, pause: Int? = nil) {
        queued[label]!.startedAt = nil
        if !counting { queued[label]!.attempts -= 1 }
        if let pause { queued[label]!.holds["retry"] = now + pause }
    }

    /// Makes an operation fail permanently, and then those that fail with it.
    mutating func fail(_ label: String) {
        guard queued[label]?.isFailed == false else { return }
        let failing = dependants(of: label)
        queued[label]!.failures += 1
        queued[label]!.startedAt = nil
        queued[label]!.isFailed = true
        if rules.onFailure == .discard { finish(label, .discarded) }
        for other in failing { fail(other) }
    }

    /// The operations that fail with a prerequisite.
    func dependants(of label: String) -> [String] {
        queued.values.filter { $0.draft.prerequisites[label] == .fail }.map(\.label)
    }

    mutating func retry(_ label: String) {
        queued[label]!.startedAt = nil
        queued[label]!.isFailed = false
        queued[label]!.holds["retry"] = nil
        queued[label]!.attempts = 0
    }

    // MARK: Changes in bulk

    func found(_ filter: BulkStep.Filter) -> [Operation] {
        queued.values.filter { operation in
            switch filter {
            case .all: true
            case .lane(let lane): operation.draft.lane == lane
            case .tag(let tag): operation.draft.tags.contains(tag)
            case .atLeast(let priority): operation.priority >= priority
            case .failed: operation.isFailed
            }
        }
    }

    /// Performs a change of one operation after the other. Returns the number of changed operations.
    mutating func perform(_ change: BulkStep) -> Int {
        var count = 0
        for operation in found(change.filter) {
            let label = operation.label
            switch change.action {
            case .retry:
                guard operation.isFailed else { continue }
                retry(label)
            case .skip(let policy):
                guard operation.startedAt == nil || policy == .cancel else { continue }
                finish(label, .skipped)
            case .hold(let seconds): queued[label]!.holds["audit"] = now + seconds
            case .release(let name):
                guard operation.holds[name] != nil else { continue }
                queued[label]!.holds[name] = nil
            case .priority(let priority):
                guard operation.priority != priority else { continue }
                queued[label]!.priority = priority
            }
            count += 1
        }
        return count
    }

    // MARK: Starts

    /// Starts all operations that may start, the best first, and returns their labels.
    mutating func start() -> [String] {
        var labels: [String] = []
        while let next = queued.values.filter(mayStart).min(by: isBefore) {
            let lane = next.draft.lane
            queued[next.label]!.startedAt = now
            queued[next.label]!.wasStarted = true
            queued[next.label]!.attempts += 1
            if let rateLimit { bucket.take(by: rateLimit, at: now) }
            if let limit = rules.rate(of: lane) { laneBuckets[lane, default: Bucket()].take(by: limit, at: now) }
            labels.append(next.label)
        }
        return labels
    }

    private func isBefore(_ left: Operation, _ right: Operation) -> Bool {
        (-left.priority, left.number) < (-right.priority, right.number)
    }

    private func mayStart(_ operation: Operation) -> Bool {
        guard operation.startedAt == nil, !operation.isFailed, operation.holds.isEmpty else { return false }
        let isBlocked = operation.draft.prerequisites.contains { label, policy in
            queued[label].map { !($0.isFailed && policy == .run) } ?? false
        }
        return !isBlocked && isTurn(of: operation) && isWithinLimits(operation.draft.lane)
    }

    /// Whether it is an operation's turn in its lane.
    private func isTurn(of operation: Operation) -> Bool {
        if rules.ordering == .flat { return true }
        return !queued.values.contains { other in
            guard other.draft.lane == operation.draft.lane, other.label != operation.label else { return false }
            let isBlocking = !other.isFailed || rules.onFailure == .blockLane
            return other.startedAt != nil || isBlocking && other.number < operation.number
        }
    }

    private func isWithinLimits(_ lane: String) -> Bool {
        let active = running
        if isPaused { return false }
        if let maxConcurrent, active.count >= maxConcurrent { return false }
        if let limit = rules.maxGlobally, active.count >= limit { return false }
        if let limit = rules.maxPerLane, active.count(where: { $0.draft.lane == lane }) >= limit { return false }
        if let rateLimit, bucket.count(by: rateLimit, at: now) < 1 { return false }
        guard let limit = rules.rate(of: lane) else { return true }
        return laneBuckets[lane, default: Bucket()].count(by: limit, at: now) >= 1
    }
}
