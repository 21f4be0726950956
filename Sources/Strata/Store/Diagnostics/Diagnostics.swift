public import Logging
public import Metrics
public import Tracing

/// Optional reports of a stack about its work, beyond the records that its `logger` always receives. Everything is off
/// by default.
///
/// ```swift
/// let stack = try await ContextStack.open(
///     .sqlite(url), models: [Note.self],
///     diagnostics: Diagnostics(slowStatementThreshold: .milliseconds(100), metrics: MetricsSystem.factory))
/// ```
///
/// Log records of a stack have these keys in their metadata, where they apply:
///
/// | key | |
/// |---|---|
/// | `strata.context` | the name of the context |
/// | `strata.queue` | the queue of a block that holds the writer for long |
/// | `strata.sql` | the text of a statement |
/// | `strata.values` | the text with its values, if values are logged |
/// | `strata.duration` | in seconds, as a decimal number |
/// | `strata.rows` | the number of rows returned or written |
/// | `strata.plan` | the lines of SQLite's query plan |
/// | `strata.sequence` | the number of a commit |
/// | `strata.error` | the code of the error that made a commit fail |
/// | `strata.backup` | the file with the copy of a store from before its migration |
/// | `strata.relationship` | the relationship that a block has read in a loop |
/// | `strata.count` | the number of queries for this relationship, each for one object |
/// | `strata.prefetch` | the query that prefetches the relationship |
///
/// Commits, batches and migrations are logged at the levels `debug` and `info`, independently of these settings. The
/// stack calls the log handler, the metrics handler and the tracer in the middle of its work. They must therefore not
/// use the stack that they receive records of.
public struct Diagnostics: Sendable {
    /// Whether SQL statements are logged.
    public enum StatementLogging: Sendable {
        /// Only slow statements are logged, if ``Diagnostics/slowStatementThreshold`` is set.
        case off
        /// Statements are logged as texts. Bound values are not part of the text, but literal values in raw SQL are.
        case text
        /// Statements are logged as texts, and as texts with their values. The values are user data: consider who can
        /// read the log.
        case textAndValues
    }

    /// Whether SQL statements are logged, each when it ends.
    public var statements: StatementLogging
    /// The level of log records for statements that are not slow.
    public var statementLevel: Logger.Level
    /// The duration from which a statement counts as slow. Nil, the default, for no limit.
    ///
    /// A slow statement is logged as a warning. Its query plan is logged as soon as its block has finished reading. The
    /// duration runs from the first step of the statement to its end, and includes the work between its rows.
    public var slowStatementThreshold: Duration?
    /// Collects the slow statements with their plans, for example for a page of a console. Nil, the default, for none.
    ///
    /// It needs ``slowStatementThreshold``, and also works without a log.
    public var slowStatements: SlowStatements?
    /// The number of queries that a block may run for the same relationship of several objects, one object at a time.
    /// Nil, the default, for no limit and no cost.
    ///
    /// Above this limit, the end of the block logs one warning for each such relationship. The warning contains the
    /// number of queries, and the query that would have prefetched the relationship: `Author.including { $0.books }`.
    /// It is for development and tests; 10 is a good limit. A turn of the main actor counts as a block.
    ///
    /// To-one relationships count if their object is not in memory. To-many relationships count if their `fetch`,
    /// `count`, `isEmpty`, `first` or `last` runs a query.
    public var relationshipLoopLimit: Int?
    /// The factory of counters, timers and gauges, usually `MetricsSystem.factory`. Nil, the default, for no metrics.
    public var metrics: (any MetricsFactory)?
    /// Dimensions that distinguish the metrics of this stack from those of other stacks, for example
    /// `[("store", "notes")]`.
    public var metricsDimensions: [(String, String)]
    /// The tracer of the stack's spans, usually `InstrumentationSystem.tracer`. Nil, the default, for no spans.
    ///
    /// Blocks, commits, batches and attempts of operations become spans, and so do slow statements if
    /// ``slowStatementThreshold`` is set. A span is a child of the calling task's span. A queued operation stores the
    /// trace of its `enqueue`, and the spans of its attempts link to this trace, also in another process.
    ///
    /// A `NoOpTracer` counts as nil, so pass the system's tracer after `InstrumentationSystem.bootstrap(_:)`.
    public var tracer: (any Tracer)?

    /// Creates the settings; every omitted report is off.
    ///
    /// If statements are logged, or a threshold for slow statements is set, SQLite calls back for each statement and
    /// each row. If both are off, there is no cost.
    public init(
        statements: StatementLogging = .off,
        statementLevel: Logger.Level = .debug,
        slowStatementThreshold: Duration? = nil,
        slowStatements: SlowStatements? = nil,
        relationshipLoopLimit: Int? = nil,
        metrics: (any MetricsFactory)? = nil,
        metricsDimensions: [(String, String)] = [],
        tracer: (any Tracer)? = nil
    ) {
        self.statements = statements
        self.statementLevel = statementLevel
        self.slowStatementThreshold = slowStatementThreshold
        self.slowStatements = slowStatements
        self.relationshipLoopLimit = relationshipLoopLimit
        self.metrics = metrics
        self.metricsDimensions = metricsDimensions
        self.tracer = tracer
    }
}
