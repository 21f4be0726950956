import CStrataSQLite
import Foundation

/// The description that a store contains of itself.
package struct StoreRecord: Sendable {
    /// The newest commit.
    package struct NewestCommit: Sendable {
        package let sequence: Int64
        /// Nil if the store contains an invalid time.
        package let time: Date?
        package let author: String?
    }

    /// What a working copy records about its home.
    package struct Home: Sendable {
        package let name: String
        /// The name under which the node of the copy reports to the home; nil if the copy does not record it.
        package let node: String?
        /// The last transaction of the home that the copy contains; nil if the copy is damaged. It is then made again
        /// when it is opened with its home.
        package let position: HomePosition?
    }

    /// The version of Strata's own tables.
    package let format: Int64
    /// The version that the program gave to its models.
    package let version: Int64
    /// The number of migrations of the store.
    package let migrations: Int64
    /// The names of the migration steps that have run, in their order.
    package let steps: [String]
    package let schema: SchemaDescription
    /// Nil before the first commit.
    package let newest: NewestCommit?
    /// Nil for a store without a home.
    package let home: Home?
}

/// The sizes of a store that are known without reading its tables.
package struct StoreSizes: Sendable {
    /// The path of the file.
    package let path: String
    /// The size of a page in bytes.
    package let pageSize: Int
    /// The number of pages, including the free ones.
    package let pageCount: Int
    package let freePageCount: Int
    /// The size of the journal (`-wal`) in bytes.
    package let journalSize: Int
    /// The numbers of the oldest and newest recorded commits; nil before the first commit.
    package let history: ClosedRange<Int64>?
    /// The size of the recorded changes in bytes.
    package let historySize: Int

    /// The size of the file in bytes, with the commits that are still in the journal.
    package var fileSize: Int { pageCount.multipliedReportingOverflow(by: pageSize).partialValue }
}

/// How many commits the history of a store has of the last hour, by the clocks of the processes that have committed.
/// In a store with a home, these are the commits of all nodes, as far as the working copy has them.
package struct CommitRate: Sendable {
    package let lastMinute: Int
    package let lastHour: Int
    /// Whether the history reaches back an hour, or to the first commit. Otherwise the numbers may be too small.
    package let isComplete: Bool
}

/// Access to a store whose models the program does not have.
///
/// The stack is opened with ``StoreConfiguration/allowsUnopenedModels``, with some models or none. These functions work
/// with the description that the store records.
extension ContextStack {
    /// The store's description of itself.
    ///
    /// - Isolation: callable from anywhere; a separate thread waits for the disk.
    /// - Throws: `damagedStore` if the description cannot be read; `closed`.
    package func storeRecord() async throws -> StoreRecord {
        try await maintain { store, _ in try store.reading { connection, _ in try connection.storeRecord() } }
    }

    /// The sizes of the file, its journal and its history.
    ///
    /// - Throws: errors of the store; `closed`.
    /// - Complexity: O(1).
    package func storeSizes() async throws -> StoreSizes {
        try await maintain { store, _ in
            try store.reading { connection, _ in
                try connection.storeSizes(path: store.path, journalSize: store.journal.size)
            }
        }
    }

    /// Counts the commits of the last minute and the last hour.
    ///
    /// - Parameter time: the end of both.
    /// - Throws: errors of the store; `closed`.
    /// - Complexity: O(commits of the history).
    package func commitRate(at time: Date) async throws -> CommitRate {
        try await maintain { store, cancellation in
            try store.reading { connection, _ in
                try cancellation.interrupting(connection) { try connection.commitRate(at: time) }
            }
        }
    }

    /// Measures the store as ``statistics()`` does, with all tables that the store records.
    package func recordedStatistics() async throws -> StoreStatistics {
        try await maintain { store, cancellation in
            try store.reading { connection, _ in
                try cancellation.interrupting(connection) {
                    try store.statistics(of: try connection.recordedSchema(), on: connection)
                }
            }
        }
    }

    /// Looks for faults as ``check(limit:)`` does, in all tables that the store records. Only the rules of opened
    /// engines are checked.
    ///
    /// - Parameter exceptions: the relationships that may keep references to deleted objects, as `Article.author`. A
    ///   store does not record delete rules.
    package func checkRecorded(limit: Int, allowingMissing exceptions: [String]) async throws -> [StoreFinding] {
        try await maintain { store, cancellation in
            try store.reading { connection, newest in
                try cancellation.interrupting(connection) {
                    var check = StoreCheck(
                        connection,
                        CheckedTable.all(in: try connection.recordedSchema(), allowingMissing: exceptions),
                        rules: store.schema.consistencyRules,
                        newest: newest,
                        limit: max(limit, 1)
                    )
                    try check.run()
                    return check.findings
                }
            }
        }
    }

    /// The newest commits whose changes are known, oldest first.
    package nonisolated(nonsending) func recentHistory(limit: Int) async throws -> [ChangeSet] {
        try await core.engine.recentHistory(limit: limit)
    }

    /// The free pages that ``compact(progress:)`` would return.
    ///
    /// - Returns: their size in bytes, and whether they are returned in portions.
    /// - Complexity: O(1).
    package func freePages() async throws -> (size: Int, inPortions: Bool) {
        try await maintain { store, _ in
            try store.reading { connection, _ in
                let pages = try FilePages(on: connection)
                return (size: pages.free * pages.pageSize, inPortions: pages.hasPortions)
            }
        }
    }

    /// Runs a query that a person has written, on the committed state of the store.
    ///
    /// - Parameters:
    ///   - columns: receives the names of the columns, once and before the first row.
    ///   - row: receives each row. Both are called on another thread, which reads the next row afterwards.
    /// - Throws: ``StrataError`` with `invalidQuery` and SQLite's message, also for a statement that would write;
    ///   errors of `columns` and `row`; `CancellationError` if the task is cancelled.
    package func query(
        _ sql: String,
        columns: @escaping @Sendable ([String]) throws -> Void,
        row: @escaping @Sendable ([StoredValue]) throws -> Void
    ) async throws {
        try await maintain { store, cancellation in
            // Errors of the functions pass through unchanged.
            func passing(_ body: () throws -> Void) throws {
                do { try body() } catch { throw PassedError(error) }
            }
            let reader = try store.borrowReader()
            defer { store.giveBack(reader) }
            try reader.beginStreaming()
            _ = try reader.begin()
            let query = CompiledQuery(sql: sql, bindings: [], tables: [], isReversed: false, isRaw: true)
            try cancellation.interrupting(reader.connection) {
                let statement = try reader.connection.rawStatement(query)
                let indexes = 0..<sqlite3_column_count(statement.pointer)
                let values = statement.reader
                try passing { try columns(indexes.map { values.name(of: $0) }) }
                try statement.run([]) { values in
                    try cancellation.check()
                    try passing { try row(indexes.map { values.value(at: $0) }) }
                }
            }
        }
    }
}

extension Connection {
    /// The description that the last migration recorded.
    func recordedSchema() throws -> SchemaDescription { try recordedState().schema }

    private func recordedState() throws -> (record: SchemaRecord, schema: SchemaDescription) {
        guard let record = try StoreState(on: self).record else { throw StoreIdentity.damaged.naming(path) }
        return (record, try SchemaDescription(parsing: record.description))
    }

    fileprivate func storeSizes(path: String, journalSize: Int) throws -> StoreSizes {
        let pages = try FilePages(on: self)
        let known = try row(HistorySQL.readSizes)
        func integer(_ index: Int) -> Int64? {
            guard known.indices.contains(index), case .integer(let number) = known[index] else { return nil }
            return number
        }
        var history: ClosedRange<Int64>?
        if let oldest = integer(0), let newest = integer(1), oldest <= newest { history = oldest...newest }
        let (size, isDamaged) = (integer(2) ?? 0).subtractingReportingOverflow(integer(3) ?? 0)
        return StoreSizes(
            path: path,
            pageSize: pages.pageSize,
            pageCount: pages.all,
            freePageCount: pages.free,
            journalSize: journalSize,
            history: history,
            historySize: isDamaged ? 0 : max(Int(clamping: size), 0)
        )
    }

    fileprivate func commitRate(at time: Date) throws -> CommitRate {
        let end = time.timeIntervalSinceReferenceDate
        let counts = try row(HistorySQL.countSince, [.real(end - 60), .real(end - 3600)])
        guard counts.count == 3, case .integer(let minute) = counts[0], case .integer(let hour) = counts[1] else {
            throw StoreIdentity.damaged.naming(path)
        }
        // The history is pruned from its beginning. A store without a history has one row, that of its newest commit.
        return CommitRate(
            lastMinute: Int(clamping: minute),
            lastHour: Int(clamping: hour),
            isComplete: counts[2] == .integer(1)
        )
    }

    fileprivate func storeRecord() throws -> StoreRecord {
        let (record, schema) = try recordedState()
        let newest = try row(HistorySQL.readNewest)
        guard newest.count == 4, case .integer(let sequence) = newest[0], case .integer(let migrations) = newest[3]
        else { throw StoreIdentity.damaged.naming(path) }
        var (time, author): (Date?, String?) = (nil, nil)
        if case .real(let seconds) = newest[1] { time = Date(timeIntervalSinceReferenceDate: seconds) }
        if case .text(let text) = newest[2] { author = text }
        return StoreRecord(
            format: record.format,
            version: record.version,
            migrations: migrations,
            steps: record.steps,
            schema: schema,
            newest: sequence > 0 ? StoreRecord.NewestCommit(sequence: sequence, time: time, author: author) : nil,
            home: try homeRecord()
        )
    }

    private func homeRecord() throws -> StoreRecord.Home? {
        guard try CopyRecord.exists(on: self) else { return nil }
        let copy = try CopyRecord.read(on: self)
        return StoreRecord.Home(
            name: copy.home,
            node: try CopyRecord.node(on: self),
            position: copy.position == CopyRecord.damaged ? nil : copy.position
        )
    }
}
