import StrataPipeline

/// The expected effects of options, keys, limits, schedules and settings, on one page: the reference for random
/// histories of them. Times are seconds since the beginning of the history.
struct FeatureModel {
    struct Operation {
        /// The name by which the history knows the operation. A run of a schedule is known by its due time.
        let label: String
        let number: Int
        let draft: FeatureStep.Draft
        let key: String?
        let isScheduled: Bool
        // The values that may change.
        var payload: String
        var priority: Int
        var expires: Int?
        /// The end times of the operation's holds, by name.
        var holds: [String: Int] = [:]
        var isFailed = false
        /// When the running attempt began; nil if none runs.
        var startedAt: Int?
        var wasStarted = false
        var attempts = 0
        var failures = 0
    }

    /// A token bucket; full without tokens. The rates are powers of two, so the sums are exact.
    struct Bucket {
        private var tokens: Double?
        private var countedAt = 0

        func count(by limit: RateLimit, at now: Int) -> Double {
            guard let tokens else { return Double(limit.count) }
            let rate = Double(limit.count) / Double(limit.interval.components.seconds)
            return min(tokens + rate * Double(now - countedAt), Double(limit.count))
        }

        mutating func take(by limit: RateLimit, at now: Int) {
            tokens = count(by: limit, at: now) - 1
            countedAt = now
        }
    }

    let rules: FeatureRules
    var now = 0
    var queued: [String: Operation] = [:]
    var finished: [String: (operation: Operation, result: OperationResult, value: Int?)] = [:]
    /// The call that waits for a time without further calls.
    var call: (draft: FeatureStep.Draft, first: Int, due: Int)?
    /// The runs of the schedule.
    var runs: [String] = []
    /// When the schedule is due next; nil during a pause.
    var nextRun: Int?
    // The settings in effect.
    var isPaused = false
    var maxConcurrent: Int?
    var rateLimit: RateLimit?
    /// The number of stamps that blocks of handlers have inserted.
    var stamps = 0
    /// The number of names that drafts and runs have used.
    var lastName = 0
    var lastNumber = 0
    /// The operations that have taken a key for some time.
    var unique: [String: (label: String, until: Int)] = [:]
    /// The tokens of the pipeline, and of its lanes.
    var bucket = Bucket()
    var laneBuckets: [String: Bucket] = [:]

    init(_ rules: FeatureRules) {
        self.rules = rules
        nextRun = rules.interval
        maxConcurrent = rules.maxConcurrent
    }

    var running: [Operation] { queued.values.filter { $0.startedAt != nil } }

    // MARK: Steps

    /// A step without prerequisites that have ended; nil if the step is not possible now.
    ///
    /// An operation that depends on a failed one by the policy `fail` fails when the engine looks at it. The model does
    /// not know when this is, so no step leads there. For the same reason, such an operation does not expire.
    func possible(_ step: FeatureStep) -> FeatureStep? {
        switch step {
        case .enqueue(let drafts): return .enqueue(drafts.map { possible($0) })
        case .unique(let draft, let key, let seconds, let policy):
            return .unique(possible(draft, isKeyed: true), key: key, seconds: seconds, policy)
        case .end(let label, _): return queued[label]?.startedAt == nil ? nil : step
        case .change(let change, _):
            guard case .retry = change.action else { return step }
            let retried = Set(found(change.filter).filter(\.isFailed).map(\.label))
            let left = Set(queued.values.filter(\.isFailed).map(\.label)).subtracting(retried)
            let fails = retried.contains { label in left.contains { queued[label]!.draft.prerequisites[$0] == .fail } }
            return fails ? nil : step
        default: return step
        }
    }

    private func possible(_ draft: FeatureStep.Draft, isKeyed: Bool = false) -> FeatureStep.Draft {
        var draft = draft
        draft.prerequisites = draft.prerequisites.filter { queued[$0.key] != nil }
        for (label, policy) in draft.prerequisites where policy == .fail {
            // A duplicate or a debounced call retries an operation with a key at any time.
            if isKeyed || queued[label]!.isFailed { draft.prerequisites[label] = .wait } else { draft.expires = nil }
        }
        return draft
    }

    /// Performs a possible step, without the starts that follow. Returns the answer of the call.
    mutating func perform(_ step: FeatureStep) -> String {
        defer { handleDueDates() }
        switch step {
        case .enqueue(let drafts):
            lastName += drafts.count
            for draft in drafts { add(draft.name, draft) }
        case .unique(let draft, let key, let seconds, let policy):
            lastName += 1
            return enqueue(draft, key, uniqueFor: seconds, policy)
        case .debounce(let draft, let delay, let maxWait):
            lastName += 1
            let first = call?.first ?? now
            call = (draft, first, min(now + delay, first + maxWait))
        case .change(let change, _): return "\(perform(change))"
        case .end(let label, let end): self.end(label, end)
        case .runSchedule(let label):
            lastName += 1
            addRun(label)
        case .pauseSchedule(let isPaused): nextRun = isPaused ? nil : nextRun ?? now + rules.interval
        case .set(.isPaused(let isPaused)): self.isPaused = isPaused
        case .set(.maxConcurrent(let limit)): maxConcurrent = limit
        case .set(.rateLimit(let limit)): rateLimit = limit
        case .set(.reset):
            isPaused = false
            maxConcurrent = rules.maxConcurrent
            rateLimit = nil
        case .pass(let seconds):
            now += seconds
            for operation in running {
                guard let timeout = operation.draft.timeout, operation.startedAt! + timeout <= now else { continue }
                failAttempt(operation.label, pause: 1)
            }
        case .reopen(let seconds):
            for operation in running { requeue(operation.label, counting: false) }
            handleDueDates()
            now += seconds
        }
        return ""
    }

    // MARK: Queueing

    private mutating func add(
        _ label: String,
        _ draft: FeatureStep.Draft,
        key: String? = nil,
        isScheduled: Bool = false
    ) {
        lastNumber += 1
        queued[label] = Operation(
            label: label,
            number: lastNumber,
            draft: draft,
            key: key,
            isScheduled: isScheduled,
            payload: draft.name,
            priority: draft.priority,
            expires: draft.expires.map { now + $0 }
        )
    }

    private mutating func addRun(_ label: String) {
        runs.append(label)
        add(label, FeatureStep.Draft(name: "tick", lane: "a", priority: 0), isScheduled: true)
    }

    private mutating func enqueue(
        _ draft: FeatureStep.Draft,
        _ key: String,
        uniqueFor seconds: Int,
        _ policy: DuplicatePolicy
    ) -> String {
        if let known = queued.values.first(where: { $0.key == key }) {
            if policy == .replace { replace(known.label, by: draft) }
            return "\(known.label) true"
        }
        if let taken = unique[key], taken.until > now { return "\(taken.label) true" }
        add(draft.name, draft, key: key)
        unique[key] = (draft.name, now + seconds)
        return "\(draft.name) false"
    }

    /// Gives an operation another payload, without the expiry of the earlier one. A running attempt is cancelled.
    private mutating func replace(_ label: String, by draft: FeatureStep.Draft) {
        queued[label]!.payload = draft.name
        queued[label]!.priority = draft.priority
        queued[label]!.expires = nil
        retry(label)
    }

    // MARK: Due dates

    private mutating func handleDueDates() {
        for label in queued.keys { queued[label]!.holds = queued[label]!.holds.filter { $0.value > now } }
        for operation in queued.values {
            if operation.wasStarted || operation.isFailed { continue }
            guard let date = operation.expires, date <= now else { continue }
            let failing = dependants(of: operation.label)
            finish(operation.label, .expired)
            for other in failing { fail(other) }
        }
        queueRuns()
        queueCall()
    }

    private mutating func queueRuns() {
        guard let first = nextRun, first <= now else { return }
        var times = Array(stride(from: first, through: now, by: rules.interval))
        nextRun = times.last! + rules.interval
        switch rules.catchUp {
        case .none: times = times.suffix(1).filter { now - $0 <= 60 }
        case .one: times = [first]
        case .all(let limit): times = Array(times.suffix(limit))
        }
        if rules.overlap == .skip, queued.values.contains(where: { $0.isScheduled && !$0.isFailed }) { return }
        for time in times { addRun("tick@\(time)") }
    }

    private mutating func queueCall() {
        guard let call, call.due <= now else { return }
        if let known = queued.values.first(where: { $0.key == "k" }) {
            if known.startedAt != nil { return }
            replace(known.label, by: call.draft)
        } else {
            add(call.draft.name, call.draft, key: "k")
        }
        self.call = nil
    }
}
