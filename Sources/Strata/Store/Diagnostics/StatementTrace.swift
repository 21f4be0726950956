import CStrataSQLite
import Foundation
import Logging

/// Traces the statements of one connection from their first step to their end, logs them, and makes spans of slow ones
/// or collects them.
///
/// The trace uses SQLite's callbacks: see https://www.sqlite.org/c3ref/trace_v2.html. A connection without a trace has
/// no overhead.
///
/// Isolation: that of the connection, whose calls trigger the callbacks.
final class StatementTrace {
    /// A running statement.
    private struct Run {
        let statement: OpaquePointer
        let start: ContinuousClock.Instant
        let values: String?
        /// The number of rows that the connection had changed before this statement.
        let changes: Int64
        var rows: Int64 = 0
    }

    /// The name of the context for which the connection works.
    var context: String?
    private let logger: Logger?
    private let diagnostics: Diagnostics
    /// Nil if slow statements make no spans.
    private let spans: StoreSpans?
    /// The running statements, the innermost last.
    private var running: [Run] = []
    /// The texts of slow statements whose plan has not been logged.
    private var unexplained: [(sql: String, context: String?)] = []
    /// Whether the running statement belongs to the trace itself.
    private var isPaused = false

    /// The maximum number of statements whose plans are logged at a time.
    private static let planLimit = 10
    /// The maximum length of a logged text with values, in characters.
    private static let valuesLimit = 4000

    init(_ logger: Logger?, _ diagnostics: Diagnostics, _ spans: StoreSpans?) {
        self.logger = logger
        self.diagnostics = diagnostics
        self.spans = spans
    }

    /// Registers the callbacks with SQLite. The connection keeps the trace alive until ``unregister(from:)``.
    func register(on connection: OpaquePointer) {
        let events = UInt32(SQLITE_TRACE_STMT | SQLITE_TRACE_PROFILE | SQLITE_TRACE_ROW)
        sqlite3_trace_v2(
            connection,
            events,
            { event, trace, statement, detail in
                guard let trace, let statement else { return 0 }
                let handler = Unmanaged<StatementTrace>.fromOpaque(trace).takeUnretainedValue()
                handler.handle(Int32(bitPattern: event), OpaquePointer(statement), detail)
                return 0
            },
            Unmanaged.passRetained(self).toOpaque()
        )
    }

    func unregister(from connection: OpaquePointer) {
        sqlite3_trace_v2(connection, 0, nil, nil)
        Unmanaged.passUnretained(self).release()
    }

    // MARK: Following

    private func handle(_ event: Int32, _ statement: OpaquePointer, _ detail: UnsafeMutableRawPointer?) {
        if isPaused { return }
        switch event {
        case SQLITE_TRACE_ROW: if let index = index(of: statement) { running[index].rows += 1 }
        case SQLITE_TRACE_STMT: begin(statement, detail)
        default: end(statement)
        }
    }

    private func index(of statement: OpaquePointer) -> Int? { running.lastIndex { $0.statement == statement } }

    private func begin(_ statement: OpaquePointer, _ text: UnsafeMutableRawPointer?) {
        // For triggers, and for statements that SQLite runs for its virtual tables, the callback receives a comment in
        // place of the statement's text.
        guard let text, let sql = sqlite3_sql(statement),
            strcmp(text.assumingMemoryBound(to: CChar.self), sql) == 0
        else { return }
        // A statement that SQLite has recompiled begins twice.
        if let index = index(of: statement) { running.remove(at: index) }
        running.append(
            Run(
                statement: statement,
                start: .now,
                // Expanded at the start, because bound texts may not live until the end of the statement.
                values: diagnostics.statements == .textAndValues ? expanded(statement) : nil,
                changes: Int64(sqlite3_total_changes(sqlite3_db_handle(statement)))
            )
        )
    }

    private func end(_ statement: OpaquePointer) {
        guard let index = index(of: statement), let text = sqlite3_sql(statement) else { return }
        let run = running.remove(at: index)
        let duration = run.start.duration(to: .now)
        let isSlow = diagnostics.slowStatementThreshold.map { duration >= $0 } ?? false
        if isSlow, let spans {
            let rows = sqlite3_column_count(statement) > 0 ? run.rows : nil
            spans.recordSlowStatement(String(cString: text), duration, rows: rows, in: context)
        }
        let level: Logger.Level = isSlow ? .warning : diagnostics.statementLevel
        let isWanted = isSlow || diagnostics.statements != .off
        let isLogged = isWanted && (logger.map { level >= $0.logLevel } ?? false)
        let collection = isSlow ? diagnostics.slowStatements : nil
        guard isLogged || collection != nil else { return }
        let sql = String(cString: text)
        let connection = sqlite3_db_handle(statement)
        // The total also counts the changes of triggers. `sqlite3_changes` keeps the previous statement's count if this
        // statement changes no rows.
        let changes = Int64(sqlite3_total_changes(connection)) == run.changes ? 0 : Int64(sqlite3_changes(connection))
        let rows = sqlite3_column_count(statement) > 0 ? run.rows : changes
        collection?.record(sql, duration, rows: rows, context: context)
        if isLogged {
            var metadata = metadata(of: sql, for: context)
            metadata[LogKey.values] = run.values.map { "\($0)" }
            metadata[LogKey.duration] = "\(LogKey.text(duration))"
            metadata[LogKey.rows] = "\(rows)"
            logger?.log(level: level, isSlow ? "slow SQL" : "SQL", metadata: metadata)
        }
        if isSlow, unexplained.count < Self.planLimit, !unexplained.contains(where: { $0.sql == sql }) {
            unexplained.append((sql, context))
        }
    }

    private func metadata(of sql: String, for context: String?) -> Logger.Metadata {
        var metadata: Logger.Metadata = [LogKey.sql: "\(sql)"]
        metadata[LogKey.context] = context.map { "\($0)" }
        return metadata
    }

    private func expanded(_ statement: OpaquePointer) -> String? {
        guard let text = sqlite3_expanded_sql(statement) else { return nil }
        defer { sqlite3_free(text) }
        let all = String(cString: text)
        return all.utf8.count <= Self.valuesLimit ? all : "\(all.prefix(Self.valuesLimit))…"
    }

    // MARK: Plans

    /// Logs and collects the plans of slow statements.
    ///
    /// The plans are not logged when the statements end. Inside a callback, the connection is in the middle of a step.
    /// Explaining a writing statement there would overwrite the number of rows that it has changed.
    func explain(on connection: Connection) {
        guard !unexplained.isEmpty else { return }
        let statements = unexplained
        unexplained = []
        isPaused = true
        defer { isPaused = false }
        for (sql, context) in statements {
            var lines: [String] = []
            // Some statements cannot be explained, for example if a temporary table no longer exists. `COMMIT` does not
            // have a plan either.
            try? Statement(SQLText.plan(of: sql), on: connection).run([]) { lines.append($0.string(at: 3)) }
            guard !lines.isEmpty else { continue }
            diagnostics.slowStatements?.record(plan: lines, of: sql)
            var metadata = metadata(of: sql, for: context)
            metadata[LogKey.plan] = .array(lines.map { "\($0)" })
            logger?.warning("the plan of slow SQL", metadata: metadata)
        }
    }
}
