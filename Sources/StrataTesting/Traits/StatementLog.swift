#if canImport(Testing)
    import Logging
    import Synchronization

    /// The SQL statements of a stack that read or write rows of models, in the order of their ends, and its warnings
    /// about relationships that are read in a loop.
    ///
    /// Isolation: any. The stack calls the logger in the middle of its work, so the log does nothing but append.
    final class StatementLog: Sendable {
        private let texts = Mutex<[String]>([])
        private let warnings = Mutex<[String]>([])

        var statements: [String] { texts.withLock { $0 } }

        /// The messages of the warnings about loops.
        var loops: [String] { warnings.withLock { $0 } }

        func clear() {
            texts.withLock { $0 = [] }
            warnings.withLock { $0 = [] }
        }

        /// A logger for a stack that logs its statements or loops. Other records go to the logger that stacks have by
        /// default.
        var logger: Logger {
            var logger = Logger(label: "strata") { _ in Handler(self) }
            logger.logLevel = .trace
            return logger
        }

        fileprivate func note(_ sql: String) {
            if Self.counts(sql) { texts.withLock { $0.append(sql) } }
        }

        fileprivate func note(loop message: String) { warnings.withLock { $0.append(message) } }

        /// Whether a statement reads or writes rows of models.
        ///
        /// Other statements control transactions and connections, or belong to the bookkeeping of commits and ids.
        static func counts(_ sql: String) -> Bool {
            let verb = sql.prefix { $0.isLetter }.uppercased()
            guard ["SELECT", "INSERT", "UPDATE", "DELETE", "REPLACE", "WITH", "VALUES"].contains(verb) else {
                return false
            }
            return !["\"strata_history\"", "\"strata_store\"", "\"strata_schema\""].contains { sql.contains($0) }
        }
    }

    /// Passes statements and loops to a log, and other records to the default logger.
    private struct Handler: LogHandler {
        /// The key of a statement's text, as the documentation of `Diagnostics` lists it.
        private static let sqlKey = "strata.sql"
        /// A key of the warnings about loops.
        private static let prefetchKey = "strata.prefetch"

        private let statements: StatementLog
        private let others = Logger(label: "strata")
        var logLevel = Logger.Level.trace
        var metadata: Logger.Metadata = [:]
        var metadataProvider: Logger.MetadataProvider?

        init(_ statements: StatementLog) { self.statements = statements }

        subscript(metadataKey key: String) -> Logger.Metadata.Value? {
            get { metadata[key] }
            set { metadata[key] = newValue }
        }

        func log(event: LogEvent) {
            if let sql = event.metadata?[Self.sqlKey] { return statements.note(sql.description) }
            if event.metadata?[Self.prefetchKey] != nil { return statements.note(loop: event.message.description) }
            others.log(
                level: event.level,
                event.message,
                error: event.error,
                metadata: event.metadata,
                source: event.source,
                file: event.file,
                function: event.function,
                line: event.line
            )
        }
    }
#endif
