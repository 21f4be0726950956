public import Foundation
import Synchronization

/// Collects the slow statements of stacks in memory, for a report or a page of a console.
///
/// ```swift
/// let slowStatements = SlowStatements()
/// let stack = try await ContextStack.open(
///     .sqlite(url), models: [Note.self],
///     diagnostics: Diagnostics(slowStatementThreshold: .milliseconds(100), slowStatements: slowStatements))
/// // …
/// for statement in slowStatements.worst { print(statement.meanDuration, statement.sql, statement.plan) }
/// ```
///
/// Statements whose texts differ only in values count as one. The collection does not contain values: literals in raw
/// SQL become `?`, and bound values are never read. A text in double quotation marks is kept, because it is usually a
/// name.
///
/// The number of statements is limited. If too many different ones are slow, those with the smallest total duration are
/// dropped.
///
/// - Isolation: usable anywhere.
public final class SlowStatements: Sendable {
    /// A statement that was slow at least once.
    public struct Statement: Sendable {
        /// The text of the statement, with `?` in place of values. Long texts are cut.
        public let sql: String
        /// The number of slow executions.
        public internal(set) var executionCount = 0
        /// The sum of the durations of the slow executions.
        public internal(set) var totalDuration = Duration.zero
        /// The longest duration of an execution.
        public internal(set) var maximumDuration = Duration.zero
        /// The number of rows that all slow executions have returned or written.
        public internal(set) var rowCount = 0
        /// When the last slow execution ended.
        public internal(set) var lastExecution: Date
        /// The lines of SQLite's query plan; empty until it is known, and for statements without a plan.
        public internal(set) var plan: [String] = []

        /// The mean duration of the slow executions.
        public var meanDuration: Duration { executionCount > 0 ? totalDuration / executionCount : .zero }
    }

    /// One slow execution of a statement.
    public struct Execution: Sendable {
        /// The text of the statement, as in ``SlowStatements/Statement/sql``.
        public let sql: String
        /// When the execution ended.
        public let time: Date
        /// The time from the first step of the statement to its end.
        public let duration: Duration
        /// The number of rows returned or written.
        public let rowCount: Int
        /// The name of the context; nil if the statement belongs to none.
        public let context: String?
    }

    /// The greatest number of different statements.
    public let maximumStatements: Int
    /// The greatest number of executions in ``newest``.
    public let maximumExecutions: Int

    private struct State {
        var statements: [UTF8Text: Statement] = [:]
        /// Oldest first.
        var executions: [Execution] = []
    }

    private let state = Mutex(State())

    /// The greatest number of bytes of a statement that are read.
    private static let readLength = 65_536
    /// The greatest number of bytes of a statement that are kept.
    static let keptLength = 4096
    /// The greatest number of lines of a plan, and of characters of a line, that are kept.
    private static let planLimit = 200

    /// Creates an empty collection. Both numbers are at least 1.
    public init(maximumStatements: Int = 200, maximumExecutions: Int = 100) {
        self.maximumStatements = max(maximumStatements, 1)
        self.maximumExecutions = max(maximumExecutions, 1)
    }

    /// The statements, those with the longest total duration first. Complexity: O(statements × log statements).
    public var worst: [Statement] {
        state.withLock { Array($0.statements.values) }.sorted { left, right in
            guard left.totalDuration == right.totalDuration else { return left.totalDuration > right.totalDuration }
            return UTF8Text(left.sql) < UTF8Text(right.sql)
        }
    }

    /// The newest slow executions, newest first.
    public var newest: [Execution] { state.withLock { Array($0.executions.reversed()) } }

    /// Drops all statements and executions.
    public func removeAll() { state.withLock { $0 = State() } }

    // MARK: Recording

    /// Adds an execution.
    ///
    /// - Complexity: O(length of the statement + statements).
    func record(_ sql: String, _ duration: Duration, rows: Int64, context: String?) {
        let (text, now) = (Self.text(of: sql), Date())
        let execution = Execution(
            sql: text,
            time: now,
            duration: duration,
            rowCount: Int(clamping: rows),
            context: context
        )
        state.withLock { state in
            if state.executions.count >= maximumExecutions { state.executions.removeFirst() }
            state.executions.append(execution)
            let key = UTF8Text(text)
            var statement = state.statements[key] ?? Statement(sql: text, lastExecution: now)
            statement.executionCount += 1
            statement.totalDuration += duration
            statement.maximumDuration = max(statement.maximumDuration, duration)
            statement.rowCount &+= execution.rowCount
            statement.lastExecution = now
            if state.statements[key] == nil, state.statements.count >= maximumStatements {
                let least = state.statements.min { $0.value.totalDuration < $1.value.totalDuration }
                if let least { state.statements[least.key] = nil }
            }
            state.statements[key] = statement
        }
    }

    /// Adds the plan of a statement.
    func record(plan: [String], of sql: String) {
        let key = UTF8Text(Self.text(of: sql))
        let lines = plan.prefix(Self.planLimit).map { String($0.prefix(Self.planLimit)) }
        state.withLock { state in
            guard var statement = state.statements[key] else { return }
            statement.plan = lines
            state.statements[key] = statement
        }
    }

    /// The text of a statement that is kept.
    private static func text(of sql: String) -> String {
        let read = sql.utf8.count > readLength ? String(decoding: sql.utf8.prefix(readLength), as: UTF8.self) : sql
        let text = SQLText.withoutLiterals(read)
        guard text.utf8.count > keptLength || read.utf8.count < sql.utf8.count else { return text }
        return String(decoding: text.utf8.prefix(keptLength), as: UTF8.self) + "…"
    }
}
