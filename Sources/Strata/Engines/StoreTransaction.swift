/// The face of a write transaction for engines, which work on committed rows by statements of their own.
///
/// Whatever they write they say, so that live objects, queries that are followed and the history know of it: a row's `_version`
/// becomes ``number``, and its id is noted.
///
/// Isolation: used by one thread, inside of one transaction.
package final class StoreTransaction {
    private let job: BatchJob
    /// The commit that it goes behind, in one transaction.
    private let behind: CommitChanges
    /// What was noted of each entity.
    private var noted: [Noted]

    private struct Noted {
        var inserted: [Int64] = []
        var deleted: [Int64] = []
        /// By columns, of which there are few combinations.
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

    /// The number of the commit that this becomes.
    package var number: Int64 { job.sequence }

    /// Whether nobody has changed rows of these models since a commit, in this transaction or before it.
    ///
    /// - Parameter sequence: the number of that commit. Of those between it and this transaction nothing is known.
    package func isUnchanged(since sequence: Int64, _ models: [any Model.Type]) throws -> Bool {
        guard sequence == (behind.tables.isEmpty ? number - 1 : number - 2) else { return false }
        return try models.allSatisfy { model in
            let entity = try job.schema.index(of: model)
            return noted[entity].isEmpty && behind.tables[job.schema.entities[entity].info.table] == nil
        }
    }

    /// Whether nothing was noted so far: then there is no commit.
    package var isEmpty: Bool { noted.allSatisfy { $0.isEmpty } }

    /// Runs a statement, and gives the number of rows that it has changed.
    @discardableResult
    package func run(_ sql: String, _ values: [StoredValue] = []) throws -> Int {
        let statement = try job.connection.statement(sql)
        try statement.bind(values)
        return try statement.runBound()
    }

    /// Runs a statement, and gives `body` each row.
    package func rows(_ sql: String, _ values: [StoredValue], _ body: (RowReader) throws -> Void) throws {
        try job.connection.statement(sql).run(values, body)
    }

    /// The first column of all rows.
    package func numbers(_ sql: String, _ values: [StoredValue]) throws -> [Int64] {
        try job.connection.numbers(sql, values)
    }

    /// The first column of the first row, where that is a number.
    package func integer(_ sql: String, _ values: [StoredValue]) throws -> Int64? {
        try job.connection.integer(sql, values)
    }

    /// An id for a new row.
    package func newID() throws -> Int64 { try job.takeID() }

    /// Notes that a row was inserted.
    package func note(inserted number: Int64, of model: any Model.Type) throws {
        noted[try job.schema.index(of: model)].inserted.append(number)
    }

    /// Notes that columns of a row were set.
    package func note(updated number: Int64, _ columns: [String], of model: any Model.Type) throws {
        try note(updated: [number], columns, of: model)
    }

    /// Notes that columns of rows were set.
    package func note(updated numbers: [Int64], _ columns: [String], of model: any Model.Type) throws {
        let entity = try job.schema.index(of: model)
        var place = noted[entity].updated.firstIndex { $0.columns == columns }
        if place == nil {
            place = noted[entity].updated.count
            noted[entity].updated.append((columns, []))
        }
        noted[entity].updated[place!].numbers += numbers
    }

    /// Notes that rows were inserted.
    package func note(inserted numbers: [Int64], of model: any Model.Type) throws {
        noted[try job.schema.index(of: model)].inserted += numbers
    }

    /// Notes that a row was deleted.
    package func note(deleted number: Int64, of model: any Model.Type) throws {
        noted[try job.schema.index(of: model)].deleted.append(number)
    }

    /// Notes that rows were deleted.
    package func note(deleted numbers: [Int64], of model: any Model.Type) throws {
        noted[try job.schema.index(of: model)].deleted += numbers
    }

    /// The rows of a model that were noted as inserted so far.
    package func inserted(of model: any Model.Type) throws -> [Int64] {
        noted[try job.schema.index(of: model)].inserted
    }

    /// Hands on what was noted.
    func finish() {
        for (entity, rows) in noted.enumerated() where !rows.isEmpty {
            var changes = TableChanges(inserted: NumberRuns(rows.inserted), deleted: NumberRuns(rows.deleted))
            for (columns, numbers) in rows.updated {
                let runs = NumberRuns(numbers).subtracting(changes.inserted).subtracting(changes.deleted)
                if !runs.isEmpty { changes.updated[columns] = runs }
            }
            job.note(changes, job.schema.entities[entity].info)
        }
        noted = []
    }
}
