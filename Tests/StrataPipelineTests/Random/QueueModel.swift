import Strata
import StrataPipeline

/// The expected behaviour of a pipeline, on one page: the reference for random histories.
struct QueueModel {
    struct Operation {
        let name: String
        let number: Int
        let commit: Int
        let lane: String
        var priority: Int
        let prerequisites: Set<String>
        /// The end times of the operation's holds, by name.
        var holds: [String: Int] = [:]
        var isConstrained = false
        var isFailed = false
        var isRunning = false
        var attempts = 0
        var crashes = 0
        /// How many times the operation's process ended while the operation ran beside others.
        var suspicion = 0
        var startedAt = 0
        var failures = 0
    }

    let rules: PipelineHistory.Rules
    var suspensions = 1
    var now = 0
    var queued: [String: Operation] = [:]
    var finished: [String: (operation: Operation, result: OperationResult)] = [:]
    private var lastCommit = 0
    private var lastNumber = 0

    init(_ rules: PipelineHistory.Rules) { self.rules = rules }

    var running: [Operation] { queued.values.filter(\.isRunning) }

    /// - Returns: false if operations would wait for each other; then nothing is queued.
    mutating func commit(_ drafts: [PipelineHistory.Draft]) -> Bool {
        let before = self
        lastCommit += 1
        for draft in drafts {
            lastNumber += 1
            queued[draft.name] = Operation(
                name: draft.name,
                number: lastNumber,
                commit: lastCommit,
                lane: draft.lane,
                priority: draft.priority,
                prerequisites: draft.prerequisites
            )
        }
        if drafts.contains(where: { isInRing($0.name) }) { self = before }
        return lastCommit > before.lastCommit
    }

    // MARK: Ends

    mutating func finish(_ name: String, _ result: OperationResult) {
        queued.removeValue(forKey: name).map { finished[name] = ($0, result) }
    }

    mutating func requeue(_ name: String, counting: Bool, heldFor pause: Int? = nil) {
        queued[name]?.isRunning = false
        queued[name]?.suspicion = 0
        if !counting { queued[name]?.attempts -= 1 }
        if let pause { hold(name, "retry", for: pause) }
    }

    mutating func fail(_ name: String) {
        queued[name]?.failures += 1
        if rules.onFailure == .discard { return finish(name, .discarded) }
        queued[name]?.isRunning = false
        queued[name]?.suspicion = 0
        queued[name]?.isFailed = true
    }

    mutating func retry(_ name: String) {
        queued[name]?.isRunning = false
        queued[name]?.isFailed = false
        queued[name]?.isConstrained = false
        queued[name]?.holds["retry"] = nil
        queued[name]?.attempts = 0
        queued[name]?.crashes = 0
        queued[name]?.suspicion = 0
    }

    /// Ends the process of these operations. A single operation is known to be the reason; among several the reason is
    /// unknown.
    mutating func crash(_ names: [String]) {
        for name in names {
            let suspicion = queued[name]!.suspicion
            requeue(name, counting: false)
            queued[name]!.suspicion = names.count == 1 ? max(suspicion, 1) : suspicion + 1
            if names.count == 1 { queued[name]!.crashes += 1 }
            if queued[name]!.crashes >= rules.maxCrashes { fail(name) }
        }
    }

    // MARK: Time

    mutating func hold(_ name: String, _ hold: String, for seconds: Int) {
        queued[name]?.holds[hold] = seconds > 0 ? now + seconds : nil
    }

    mutating func pass(_ seconds: Int) {
        now += seconds
        for name in queued.keys { queued[name]!.holds = queued[name]!.holds.filter { $0.value > now } }
    }

    // MARK: Choosing

    private func isBefore(_ left: Operation, _ right: Operation) -> Bool {
        (-left.priority, left.commit, left.number) < (-right.priority, right.commit, right.number)
    }

    /// The operations that come before an operation in its lane.
    private func before(_ operation: Operation) -> [Operation] {
        queued.values.filter { other in
            guard other.lane == operation.lane else { return false }
            return switch rules.ordering {
            case .flat: false
            case .commits: other.commit < operation.commit
            case .fifo: other.number < operation.number
            case .lifo: other.number > operation.number
            }
        }
    }

    private func blocks(_ operation: Operation) -> Bool { rules.onFailure == .blockLane || !operation.isFailed }

    /// Whether an operation is the next one in its lane.
    private func isFirst(_ operation: Operation) -> Bool {
        let running = running.count { $0.lane == operation.lane }
        return switch rules.ordering {
        case .flat: rules.limitPerLane.map { running < $0 } ?? true
        case .commits: !before(operation).contains(where: blocks)
        case .fifo, .lifo: !before(operation).contains(where: blocks) && running == 0
        }
    }

    private func hasToWait(_ operation: Operation) -> Bool {
        operation.prerequisites.contains { queued[$0] != nil } || !isFirst(operation)
    }

    private func isReady(_ operation: Operation) -> Bool {
        !operation.isRunning && !operation.isFailed && !operation.isConstrained && operation.holds.isEmpty
            && !hasToWait(operation)
    }

    /// Takes at most this number of ready operations, and returns their names in order. A suspect is taken alone.
    mutating func claim(_ limit: Int) -> [String] {
        if let suspect = readySuspect {
            take(suspect)
            return [suspect]
        }
        var names: [String] = []
        while names.count < limit, let next = queued.values.filter(isReady).min(by: isBefore) {
            take(next.name)
            names.append(next.name)
        }
        return names
    }

    private mutating func take(_ name: String) {
        queued[name]?.isRunning = true
        queued[name]?.attempts += 1
        queued[name]?.startedAt = now
    }

    /// The ready suspect that started last. A suspect is an operation whose process has ended.
    private var readySuspect: String? {
        queued.values.filter { $0.suspicion > 0 && isReady($0) }.min { left, right in
            left.startedAt != right.startedAt ? left.startedAt > right.startedAt : isBefore(left, right)
        }?.name
    }

    private var freeSlots: Int { suspensions > 0 ? 0 : rules.limit - running.count }

    /// Whether nothing starts although a slot is free, because a suspect must run alone for a while.
    private var isWithheld: Bool {
        let new = running.filter { now - $0.startedAt < 30 << max($0.suspicion - 1, 0) }
        return new.contains { $0.suspicion > 0 } || !new.isEmpty && readySuspect != nil
    }

    /// Starts all operations that may start, and returns their names in order.
    mutating func start() -> [String] { freeSlots > 0 && !isWithheld ? claim(freeSlots) : [] }

    /// The statuses that an operation may have in the store. The engine finds out that an operation must wait only when
    /// the operation is next.
    func statuses(of operation: Operation) -> Set<OperationStatus> {
        if operation.isRunning { return [.active] }
        if operation.isFailed { return [.failed] }
        if operation.isConstrained { return [.held] }
        var statuses: Set<OperationStatus> = []
        let isUnseen = freeSlots == 0 || isWithheld
        if isUnseen { statuses.insert(.pending) }
        if !operation.holds.isEmpty { statuses.insert(.held) }
        // A better operation may be about to take the free slot of the lane.
        if hasToWait(operation) || isUnseen && rules.limitPerLane != nil { statuses.insert(.waiting) }
        return statuses
    }

    // MARK: Waiting

    /// The reasons why an operation that has not failed does not run, apart from its holds.
    ///
    /// - Parameter id: the id of an operation in the store.
    func waitReasons(of operation: Operation, id: (String) -> ObjectID<QueuedOperation>) -> Set<WaitReason> {
        if operation.isRunning { return [] }
        var waitReasons: Set<WaitReason> = []
        for name in operation.prerequisites where queued[name] != nil { waitReasons.insert(.dependency(id(name))) }
        if operation.isConstrained { waitReasons.insert(.constraint(.network)) }
        if let limit = rules.limitPerLane, running.count(where: { $0.lane == operation.lane }) >= limit {
            waitReasons.insert(.fullLane(limit: limit))
        }
        if let first = first(of: operation.lane), !isBeside(operation, first) {
            waitReasons.insert(.lane(id(first.name)))
        }
        if suspensions > 0 { waitReasons.insert(.suspended) }
        if running.count >= rules.limit { waitReasons.insert(.fullPipeline(limit: rules.limit)) }
        return waitReasons
    }

    /// The operation whose turn it is in a lane; nil if the lane has no order, or only failed operations.
    private func first(of lane: String) -> Operation? {
        let all = queued.values.filter { $0.lane == lane }
        switch rules.ordering {
        case .flat: return nil
        case .commits: return all.filter(blocks).min { $0.number < $1.number }
        case .fifo: return all.first(where: \.isRunning) ?? all.filter(blocks).min { $0.number < $1.number }
        case .lifo: return all.first(where: \.isRunning) ?? all.filter(blocks).max { $0.number < $1.number }
        }
    }

    /// Whether an operation is the first one of its lane, or runs beside it.
    private func isBeside(_ operation: Operation, _ first: Operation) -> Bool {
        operation.name == first.name || rules.ordering == .commits && operation.commit == first.commit
    }

    /// Whether an operation would wait for itself through lanes and prerequisites.
    private func isInRing(_ name: String) -> Bool {
        var (seen, pending): (Set<String>, [String]) = ([], [name])
        while let next = pending.popLast() {
            let operation = queued[next]!
            let others = before(operation).map(\.name) + operation.prerequisites.filter { queued[$0] != nil }
            for other in others where seen.insert(other).inserted {
                if other == name { return true }
                pending.append(other)
            }
        }
        return false
    }

    /// Operations that do not end by themselves: failed operations and those that wait for them.
    var stuck: Set<String> {
        var stuck = Set(queued.values.filter(\.isFailed).map(\.name))
        var count = 0
        while count != stuck.count {
            count = stuck.count
            for operation in queued.values {
                let others = before(operation).filter(blocks).map(\.name) + operation.prerequisites
                if others.contains(where: stuck.contains) { stuck.insert(operation.name) }
            }
        }
        return stuck
    }
}
