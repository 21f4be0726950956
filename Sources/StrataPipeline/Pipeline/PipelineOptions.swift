public import Strata

/// How a ``Pipeline`` or a ``TaskBroker`` runs its operations.
///
/// Name only the options that differ from the defaults:
///
/// ```swift
/// let uploads = try await Pipeline.open(
///     stack,
///     named: .uploads,
///     options: PipelineOptions(maxConcurrent: 4, timeout: .seconds(60))
/// ) { (attempt: Attempt<Upload>) in … }
/// ```
///
/// Opening a pipeline or broker checks the values, and throws ``PipelineError`` with `invalidArgument` if one of them
/// is out of its bounds.
public struct PipelineOptions: Sendable {
    // MARK: Order and limits

    /// The order in which the operations of one lane start; nil for `flat` in pipelines, and for `fifo` in brokers.
    ///
    /// If the pipeline had another ordering before, queued operations keep their former order as far as the new
    /// ordering leaves it open.
    public var ordering: PipelineOrdering?

    /// The greatest number of handlers that run at once; nil for any number. For a broker, the limit counts all of its
    /// queues together.
    public var maxConcurrent: Int?

    /// The greatest number of operations of one lane that run at once, in all processes together; nil for any number.
    /// Each queue of a broker has its own lanes.
    ///
    /// Only for the ordering `flat`. When an operation of a full lane ends, the best waiting operation of this lane
    /// starts.
    public var maxConcurrentPerLane: Int?

    /// The greatest number of attempts that run at once in all processes together; nil for any number. For a broker,
    /// the limit counts all of its queues together.
    ///
    /// The attempts of a process that has died count until another process reclaims its operations. Each end wakes the
    /// other processes, and a free place goes to the process that claims it first. All processes must pass the same
    /// limit.
    public var maxConcurrentGlobally: Int?

    /// How many attempts may start in an interval, in all processes that have a pipeline or broker of this name open;
    /// nil for any number.
    public var rateLimit: RateLimit?

    /// How many attempts of each lane may start in an interval, in all processes together; nil for any number.
    /// Operations without a lane form one lane. Each queue of a broker has its own lanes.
    ///
    /// Each lane has a separate token bucket: see ``RateLimit``. An operation above the limit waits, and does not delay
    /// other lanes. All processes must pass the same limit. If the limit changes, a lane keeps the tokens that it has.
    public var rateLimitPerLane: RateLimit?

    /// The rate limits of single lanes, by the names of the lanes. They replace ``rateLimitPerLane`` there.
    public var laneRateLimits: [UTF8Text: RateLimit]

    // MARK: Failures

    /// When an operation is tried again after its handler has thrown.
    public var retry: RetryPolicy

    /// Chooses the pause before the next attempt by the error of the last one; nil for the pauses of ``retry``.
    ///
    /// The closure receives the number of the failed attempt, from 1, and the error that the handler has thrown, or a
    /// ``PipelineError`` with `timedOut`. If it returns nil, ``retry`` or the operation's own policy chooses the pause.
    /// The number of attempts always follows the policy. A pause has at least 10 milliseconds.
    ///
    /// The closure is called by the engine, on any thread. It must return at once. It is not stored, so each process
    /// uses its own.
    public var backoff: (@Sendable (_ attempt: Int, _ error: any Error) -> Duration?)?

    /// What happens to operations that have failed permanently; nil for `blockLane` in serial orderings, and for
    /// `setAside` in `flat`.
    public var onFailure: FailurePolicy?

    /// How long the handler of an attempt may take; nil for any time.
    ///
    /// After this time the attempt has failed: its task is cancelled, and a later outcome does not count. If the
    /// handler returns `.done` with changes in time, the changes are committed however long the commit takes. A handler
    /// that ignores its cancellation may run at the same time as the next attempt.
    public var timeout: Duration?

    /// How often a process may end while one operation runs alone in it, before this operation counts as failed. If
    /// several operations were running, the end does not count for any of them, and each is then tried alone: see
    /// ``QueuedOperation/suspicion``.
    public var maxCrashes: Int

    // MARK: Constraints

    /// Sources of the constraints that handlers wait for by ``Outcome/wait(_:)``. If a constraint has no source, only
    /// ``QueuedOperation/retry()`` ends the waiting.
    public var constraints: [any ConstraintSource]

    // MARK: Records

    /// How long finished operations are kept. The longest retention of all pipelines and brokers that the store has
    /// known applies, including closed ones.
    public var retention: FinishedRetention

    /// Whether each status change of an operation is recorded as an ``OperationTransition``.
    public var recordsTransitions: Bool

    // MARK: Start, end and time

    /// Whether the pipeline or broker begins suspended, as after one call of ``OperationRunner/suspend()``.
    public var isSuspended: Bool

    /// How long handlers may continue when the service group of the pipeline or broker shuts down.
    public var shutdownGrace: Duration

    /// The source of time. The clock of the first pipeline or broker of a stack applies to all of them.
    public var clock: any PipelineClock

    /// Creates options. The defaults suit most pipelines.
    public init(
        ordering: PipelineOrdering? = nil,
        maxConcurrent: Int? = 8,
        maxConcurrentPerLane: Int? = nil,
        maxConcurrentGlobally: Int? = nil,
        rateLimit: RateLimit? = nil,
        rateLimitPerLane: RateLimit? = nil,
        laneRateLimits: [UTF8Text: RateLimit] = [:],
        retry: RetryPolicy = .standard,
        backoff: (@Sendable (_ attempt: Int, _ error: any Error) -> Duration?)? = nil,
        onFailure: FailurePolicy? = nil,
        timeout: Duration? = nil,
        constraints: [any ConstraintSource] = [],
        retention: FinishedRetention = .standard,
        maxCrashes: Int = 5,
        recordsTransitions: Bool = false,
        isSuspended: Bool = false,
        shutdownGrace: Duration = .seconds(20),
        clock: any PipelineClock = .system
    ) {
        self.ordering = ordering
        self.maxConcurrent = maxConcurrent
        self.maxConcurrentPerLane = maxConcurrentPerLane
        self.maxConcurrentGlobally = maxConcurrentGlobally
        self.rateLimit = rateLimit
        self.rateLimitPerLane = rateLimitPerLane
        self.laneRateLimits = laneRateLimits
        self.retry = retry
        self.backoff = backoff
        self.onFailure = onFailure
        self.timeout = timeout
        self.constraints = constraints
        self.retention = retention
        self.maxCrashes = maxCrashes
        self.recordsTransitions = recordsTransitions
        self.isSuspended = isSuspended
        self.shutdownGrace = shutdownGrace
        self.clock = clock
    }
}

extension PipelineOptions {
    /// Rejects values with which no operation could run, and values that contradict the ordering.
    ///
    /// - Parameter ordering: the ordering that applies.
    func check(_ ordering: PipelineOrdering) throws {
        if let maxConcurrent { try Self.checkLimit(maxConcurrent) }
        if let maxConcurrentGlobally { try Self.checkLimit(maxConcurrentGlobally) }
        if let rateLimit { try Self.check(rateLimit) }
        if let rateLimitPerLane { try Self.check(rateLimitPerLane) }
        for (lane, limit) in laneRateLimits {
            try Self.check(limit, "the rate limit of lane '\(lane)'", toRunNone: "hold the operations of the lane")
        }
        try Self.require(
            timeout.map { $0 > .zero } ?? true,
            "A timeout must be longer than zero, not \(timeout ?? .zero)."
        )
        try Self.require(retry.maxAttempts.map { $0 > 0 } ?? true, "The maximum number of attempts must be 1 or more.")
        try Self.require(
            retry.base >= .zero && retry.cap >= .zero,
            "The pauses before retries must not be negative."
        )
        try Self.require(maxCrashes > 0, "The limit of crashes must be 1 or more, not \(maxCrashes).")
        try Self.require(
            retention.maximumAge >= .zero && retention.maximumCount >= 0,
            "A retention of \(retention.maximumAge) and \(retention.maximumCount) operations is negative. To keep none, set both to zero."
        )
        try Self.require(
            shutdownGrace >= .zero,
            "A shutdown grace of \(shutdownGrace) is negative. To wait for no handler, set it to `.zero`."
        )
        if let maxConcurrentPerLane {
            try Self.checkLimit(maxConcurrentPerLane)
            try Self.require(
                ordering == .flat,
                "A lane limit is only for the ordering 'flat': 'fifo' and 'lifo' run one operation of a lane at once, "
                    + "and 'commits' all operations of a commit."
            )
        }
    }

    /// Rejects a rate limit with which no operation could start.
    ///
    /// - Parameters:
    ///   - name: the limit, in the words of the message.
    ///   - advice: how the caller keeps operations from starting, as the end of the message.
    static func check(
        _ limit: RateLimit,
        _ name: String = "a rate limit",
        toRunNone advice: String = PipelineOptions.isSuspendedAdvice
    ) throws {
        try require(
            limit.count > 0,
            "The number of attempts of \(name) must be 1 or more, not \(limit.count). To start none, \(advice)."
        )
        // The clock does not resolve much shorter times, and the engine would wake up again and again at one moment.
        try require(
            limit.interval >= .milliseconds(1),
            "The interval of \(name) must be a millisecond or longer, not \(limit.interval). To start any number "
                + "of attempts, set no limit."
        )
    }

    private static func require(_ condition: Bool, _ message: String) throws {
        if !condition { throw PipelineError(.invalidArgument, message) }
    }

    /// Rejects a limit with which no operation could run.
    ///
    /// - Parameter advice: how the caller keeps operations from running, as the end of the message.
    static func checkLimit(_ limit: Int, toRunNone advice: String = PipelineOptions.isSuspendedAdvice) throws {
        try require(
            limit > 0,
            "The limit of operations that run at once must be 1 or more, not \(limit). To run none, \(advice)."
        )
    }

    /// The advice for limits that are options.
    static let isSuspendedAdvice = "pass `isSuspended: true`"
}
