/// A write transaction for engines, which change committed rows with SQL statements.
///
/// An engine reports each of its writes, so that live objects, observed queries and the history reflect them. For each
/// changed row, the engine sets `_version` to ``number`` and reports the row's id.
///
/// Isolation: used by one thread, inside one transaction.
package final class StoreTransaction {
    private let job: BatchJob
    /// The changes of the commit that precedes this one in the same transaction.
    private let behind: CommitChanges
    /// The reported writes of each entity.
    private var noted: [Noted]
    /// Whether the engine has reported no writes so far. Then no commit is made.
    package private(set) var isEmpty = true

    private struct Noted {
        var inserted: [Int64] = []
        var deleted: [Int64] = []
        /// By set of columns; there are few different sets.
        var updated: [(columns: [String], numbers: [Int64])] = []

        var isEmpty: Bool { inserted.isEmpty && deleted.isEmpty && updated.allSatisfy { $0.numbers.isEmpty } }
    }

    init(_ job: BatchJob, behind: CommitChanges = CommitChanges()) {
        self.job = job
        self.behind = behind
        noted = [Noted](repeating: Noted(), count: job.schema.entities.count)
    }

    var connection: Connection { job.connection }
    var schema: Schema { job.schema }

    /// The number of the commit that this transaction becomes.
    package var number: Int64 { job.sequence }

    /// Whether no rows of these models have changed since a commit, in this transaction or in the commit that precedes
    /// it in the transaction.
    ///
    /// - Parameter sequence: the number of that commit. The result is false if further commits lie between that commit
    ///   and this transaction, because their changes are not known here.
    package func isUnchanged(since sequence: Int64, _ models: [any Model.Type]) throws -> Bool {
        guard sequence == (behind.tables.isEmpty ? number - 1 : number - 2) else { return false }
        // The engine asks this at the start of each of its transactions. Mostly nothing precedes the question.
        if isEmpty, behind.tables.isEmpty { return true }
        return try models.allSatisfy { model in
            let entity = try job.schema.index(of: model)
            return noted[entity].isEmpty && behind.tables[job.schema.entities[entity].info.table] == nil
        }
    }

    /// Runs a statement and returns the number of rows that it has changed.
    @discardableResult
    package func run(_ sql: String, _ values: [StoredValue] = []) throws -> Int {
        let statement = try job.connection.statement(sql)
        try statement.bind(values)
        return try statement.runBound()
    }

    /// Runs a statement and calls `body` with each row.
    package func rows(_ sql: String, _ values: [StoredValue], _ body: (RowReader) throws -> Void) throws {
        try job.connection.statement(sql).run(values, body)
    }

    /// Returns the first column of all rows.
    package func numbers(_ sql: String, _ values: [StoredValue]) throws -> [Int64] {
        try job.connection.numbers(sql, values)
    }

    /// Returns the first column of the first row; nil if the column is not an integer.
    package func integer(_ sql: String, _ values: [StoredValue]) throws -> Int64? {
        try job.connection.integer(sql, values)
    }

    /// Returns an id for a new row.
    package func newID() throws -> Int64 { try job.takeID() }

    /// Returns consecutive ids for new rows.
    ///
    /// - Complexity: one statement, however many ids.
    package func newIDs(_ count: Int) throws -> Range<Int64> {
        let first = try job.connection.reserveIDs(Int64(count))
        return first..<(first + Int64(count))
    }

    /// Reports the insert of a row.
    package func report(inserted number: Int64, of model: any Model.Type) throws {
        noted[try job.schema.index(of: model)].inserted.append(number)
        isEmpty = false
    }

    /// Reports that columns of a row were set.
    package func report(updated number: Int64, _ columns: [String], of model: any Model.Type) throws {
        try report(updated: [number], columns, of: model)
    }

    /// Reports that columns of rows were set.
    package func report(updated numbers: [Int64], _ columns: [String], of model: any Model.Type) throws {
        let entity = try job.schema.index(of: model)
        var place = noted[entity].updated.firstIndex { $0.columns == columns }
        if place == nil {
            place = noted[entity].updated.count
            noted[entity].updated.append((columns, []))
        }
        noted[entity].updated[place!].numbers += numbers
        if !numbers.isEmpty { isEmpty = false }
    }

    /// Reports the insert of rows.
    package func report(inserted numbers: [Int64], of model: any Model.Type) throws {
        noted[try job.schema.index(of: model)].inserted += numbers
        if !numbers.isEmpty { isEmpty = false }
    }

    /// Reports the delete of a row.
    package func report(deleted number: Int64, of model: any Model.Type) throws {
        noted[try job.schema.index(of: model)].deleted.append(number)
        isEmpty = false
    }

    /// Reports the delete of rows.
    package func report(deleted numbers: [Int64], of model: any Model.Type) throws {
        noted[try job.schema.index(of: model)].deleted += numbers
        if !numbers.isEmpty { isEmpty = false }
    }

    /// The rows of a model whose insert was reported so far.
    package func inserted(of model: any Model.Type) throws -> [Int64] {
        noted[try job.schema.index(of: model)].inserted
    }

    /// Passes the reported writes to the batch job.
    func finish() {
        for (entity, rows) in noted.enumerated() where !rows.isEmpty {
            var changes = TableChanges(inserted: IDRanges(rows.inserted), deleted: IDRanges(rows.deleted))
            for (columns, numbers) in rows.updated {
                let runs = IDRanges(numbers).subtracting(changes.inserted).subtracting(changes.deleted)
                if !runs.isEmpty { changes.updated[columns] = runs }
            }
            job.note(changes, job.schema.entities[entity].info)
        }
        noted = []
    }
}
