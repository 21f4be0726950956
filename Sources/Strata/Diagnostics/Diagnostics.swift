public import Logging
public import Metrics

/// What a stack tells of its work, beyond what its `logger` is told of anyway. Nothing unless asked for.
///
/// ```swift
/// let stack = try await ContextStack.open(
///     .sqlite(url), models: [Note.self],
///     diagnostics: Diagnostics(slowStatementThreshold: .milliseconds(100), metrics: MetricsSystem.factory))
/// ```
///
/// Records of a stack's log have these keys in their metadata, as far as they apply:
///
/// | key | |
/// |---|---|
/// | `strata.context` | the name of the context |
/// | `strata.sql` | the text of a statement |
/// | `strata.values` | the same with its values, where these are asked for |
/// | `strata.duration` | in seconds, as a decimal number |
/// | `strata.rows` | how many rows were returned or written |
/// | `strata.plan` | the lines of SQLite's query plan |
/// | `strata.sequence` | the number of a commit |
/// | `strata.error` | the code of the error with which a commit has failed |
/// | `strata.backup` | the file to which a store was copied before it was migrated |
///
/// Commits, batches and migrations are logged at the levels `debug` and `info`, whatever stands here. A log handler and a
/// metrics handler are called where the work is done, so they must not use the stack that they are told of.
public struct Diagnostics: Sendable {
    /// Whether statements of SQL are logged.
    public enum StatementLogging: Sendable {
        /// None but slow ones, if ``Diagnostics/slowStatementThreshold`` is set.
        case off
        /// Their texts. Values are bound and not part of the text, except for those that a person has written into raw SQL.
        case text
        /// Their texts, and the texts with the values in place. These are the users' data: think of who reads the log.
        case textAndValues
    }

    /// Whether statements of SQL are logged, each at its end.
    public var statements: StatementLogging
    /// The level at which statements are logged that are not slow.
    public var statementLevel: Logger.Level
    /// How long a statement may take; one that takes longer is logged as a warning, and its query plan as soon as its block is
    /// done with reading. Nil, the default, for no limit.
    ///
    /// The time goes from the first step of the statement to its end, what is done between its rows included.
    public var slowStatementThreshold: Duration?
    /// Where counters, timers and gauges are made, usually `MetricsSystem.factory`. Nil, the default, for nowhere.
    public var metrics: (any MetricsFactory)?
    /// What tells the metrics of this stack from those of others, for instance `[("store", "notes")]`.
    public var metricsDimensions: [(String, String)]

    /// What to tell; what is left out is off.
    ///
    /// While statements are logged, or slow ones looked for, SQLite calls back at each statement and at each row. When both are
    /// off, nothing is paid.
    public init(
        statements: StatementLogging = .off,
        statementLevel: Logger.Level = .debug,
        slowStatementThreshold: Duration? = nil,
        metrics: (any MetricsFactory)? = nil,
        metricsDimensions: [(String, String)] = []
    ) {
        self.statements = statements
        self.statementLevel = statementLevel
        self.slowStatementThreshold = slowStatementThreshold
        self.metrics = metrics
        self.metricsDimensions = metricsDimensions
    }
}
