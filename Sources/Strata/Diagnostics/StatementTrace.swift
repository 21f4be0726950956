import CStrataSQLite
import Foundation
import Logging

/// Follows the statements of one connection from their first step to their end, and logs them.
///
/// SQLite calls it back: see https://www.sqlite.org/c3ref/trace_v2.html. A connection that is not traced pays nothing for it.
///
/// Isolation: that of the connection, whose calls are where the callbacks come from.
final class StatementTrace {
    /// A statement that has begun and not ended.
    private struct Run {
        let statement: OpaquePointer
        let start: ContinuousClock.Instant
        let values: String?
        /// How many rows the connection had changed before it.
        let changes: Int64
        var rows: Int64 = 0
    }

    /// The name of the context for which the connection works.
    var context: String?
    private let logger: Logger
    private let diagnostics: Diagnostics
    /// The innermost one last.
    private var running: [Run] = []
    /// The texts of slow statements whose plan has not been logged.
    private var unexplained: [String] = []
    /// Whether what runs is of its own making.
    private var isPaused = false

    /// Of how many statements plans are logged at a time.
    private static let planLimit = 10
    /// How much of a text with values is logged, in characters.
    private static let valuesLimit = 4000

    init(_ logger: Logger, _ diagnostics: Diagnostics) {
        self.logger = logger
        self.diagnostics = diagnostics
    }

    /// Has SQLite call back. The connection keeps the trace alive until ``unregister(from:)``.
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
        // Triggers, and what SQLite runs for its own virtual tables, come with a comment in place of the statement's text.
        guard let text, let sql = sqlite3_sql(statement),
            strcmp(text.assumingMemoryBound(to: CChar.self), sql) == 0
        else { return }
        // One that SQLite has had to compile anew begins twice.
        if let index = index(of: statement) { running.remove(at: index) }
        running.append(
            Run(
                statement: statement,
                start: .now,
                // Now, since bound texts need not live on to the end of the statement.
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
        guard isSlow || diagnostics.statements != .off else { return }
        let level = isSlow ? .warning : diagnostics.statementLevel
        guard level >= logger.logLevel else { return }
        let sql = String(cString: text)
        let connection = sqlite3_db_handle(statement)
        // The total counts what triggers do as well, and the other count is the last statement's where this one changes nothing.
        let changes = Int64(sqlite3_total_changes(connection)) == run.changes ? 0 : Int64(sqlite3_changes(connection))
        var metadata = metadata(of: sql)
        metadata[LogKey.values] = run.values.map { "\($0)" }
        metadata[LogKey.duration] = "\(LogKey.text(duration))"
        metadata[LogKey.rows] = "\(sqlite3_column_count(statement) > 0 ? run.rows : changes)"
        logger.log(level: level, isSlow ? "slow SQL" : "SQL", metadata: metadata)
        if isSlow, unexplained.count < Self.planLimit, !unexplained.contains(sql) { unexplained.append(sql) }
    }

    private func metadata(of sql: String) -> Logger.Metadata {
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

    /// Logs the plans of slow statements.
    ///
    /// Apart from their end: inside of a callback the connection is in the middle of a step, and the plan of a statement that
    /// writes would take the place of the number of rows that it has changed.
    func explain(on connection: Connection) {
        guard !unexplained.isEmpty else { return }
        let statements = unexplained
        unexplained = []
        isPaused = true
        defer { isPaused = false }
        for sql in statements {
            var lines: [Logger.MetadataValue] = []
            // What is gone by now, a temporary table for one, cannot be explained. Nor has COMMIT a plan.
            try? Statement(SQLText.plan(of: sql), on: connection).run([]) { lines.append("\($0.string(at: 3))") }
            guard !lines.isEmpty else { continue }
            var metadata = metadata(of: sql)
            metadata[LogKey.plan] = .array(lines)
            logger.warning("the plan of slow SQL", metadata: metadata)
        }
    }
}
