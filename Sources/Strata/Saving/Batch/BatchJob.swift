import Foundation

/// Changes many rows by SQL statements, inside one transaction. Used by one thread.
///
/// The job first gathers the ids of the rows in temporary tables. No statement then changes the data that its own
/// condition depends on. Updated rows that must be read are read in portions, because rows with derived columns are
/// held in memory until these columns are written.
final class BatchJob {
    let connection: Connection
    let schema: Schema
    let base: Int64
    let time: Date
    /// The changes so far.
    private(set) var changes = CommitChanges()
    /// The tables that the job has written to.
    private(set) var tables: Set<String> = []
    /// The entities that have a table of ids.
    private var gathered: Set<Int> = []
    /// Whether these tables have an index by round.
    private var areRoundsIndexed = false

    /// The entities that may have gathered rows.
    var gatheredInfos: [EntityInfo] { gathered.sorted().map { schema.entities[$0].info } }

    static let portion: Int64 = 5000
    private static let failureLimit = 100

    var sequence: Int64 { base + 1 }

    init(_ connection: Connection, _ schema: Schema, base: Int64, time: Date) {
        self.connection = connection
        self.schema = schema
        self.base = base
        self.time = time
    }

    func note(_ changes: TableChanges, _ info: EntityInfo) {
        guard changes != TableChanges() else { return }
        self.changes.add(changes, to: info.table)
        tables.insert(info.table)
    }

    /// Adds the changes of another job in the same transaction, whose schema describes other models.
    func include(_ other: BatchJob) {
        for (table, changes) in other.changes.tables { self.changes.add(changes, to: table) }
        tables.formUnion(other.tables)
    }

    /// Records members that were removed from a relationship.
    func note(removed rows: [JoinRow], of join: EntityInfo) {
        let removals = rows.map { Change(kind: .delete, columns: ColumnSet(), row: $0, base: nil) }
        changes.addMembers(RowChanges(unsorted: removals), join, schema)
        tables.insert(join.table)
    }

    // MARK: Ids

    /// Ids that this transaction has reserved and not yet used.
    private var reserved: Range<Int64> = 0..<0
    private var reservation: Int64 = 64
    static let reservationLimit: Int64 = 65_536

    /// An id for a new row, greater than all ids that were issued before this job began.
    ///
    /// This transaction reserves the id itself. If the job asked the store's id source, the source would wait for this
    /// transaction, and the transaction for the source.
    func takeID() throws -> Int64 {
        if let homeIDs = connection.homeIDs { return try homeIDs.next() }
        if reserved.isEmpty {
            let first = try connection.reserveIDs(reservation)
            reserved = first..<(first + reservation)
            reservation = min(reservation * 4, Self.reservationLimit)
        }
        defer { reserved = (reserved.lowerBound + 1)..<reserved.upperBound }
        return reserved.lowerBound
    }

    // MARK: The rows concerned

    /// Creates the empty id table of an entity, if it does not exist. Returns its name.
    @discardableResult
    func idTable(_ entity: Int) throws -> String {
        let name = BatchSQL.idTable(entity)
        if gathered.insert(entity).inserted {
            try connection.execute(BatchSQL.createIDs(entity))
            if areRoundsIndexed { try connection.execute(BatchSQL.indexRounds(entity)) }
        }
        return name
    }

    /// Adds an index by round to all id tables, including tables that are created later.
    func indexRounds() throws {
        areRoundsIndexed = true
        for entity in gathered { try connection.execute(BatchSQL.indexRounds(entity)) }
    }

    /// Gathers the ids of the committed objects that a query finds.
    @discardableResult
    func gather<Object: Model>(_ query: Query<Object>) throws -> EntityInfo {
        try connection.registerFunctions()
        let info = schema.entities[try schema.index(of: Object.self)].info
        var sources = SQLSources.tables(resolver: schema.resolver, identity: connection.identity)
        sources.search = { [connection, schema] in try connection.searchSource($0, schema) }
        let compiled = try query.compile(.ids, using: sources)
        try connection.execute(BatchSQL.insertIDs(try idTable(info.index), compiled.sql), compiled.bindings)
        return info
    }

    /// Calls `body` with the first and last id of each portion of the gathered ids.
    func forEachPortion(of entity: Int, _ body: (_ first: Int64, _ last: Int64) throws -> Void) throws {
        var last: Int64 = 0
        while true {
            let bounds = try connection.row(BatchSQL.selectPortion(entity), [.integer(last), .integer(Self.portion)])
            guard case .integer(let first) = bounds[0], case .integer(let end) = bounds[1] else { return }
            try body(first, end)
            last = end
        }
    }

    /// The gathered ids of an entity. They do not contain integers that are not ids, under which raw SQL may have
    /// inserted rows.
    ///
    /// Complexity: O(ids).
    func gatheredIDs(of entity: Int) throws -> IDRanges {
        let all = ObjectIDRawValues.all
        let bounds: [StoredValue] = [.integer(all.lowerBound), .integer(all.upperBound - 1)]
        var ids = IDRanges()
        try connection.statement(BatchSQL.selectIDs(entity)).run(bounds) { ids.append(try $0.read(Int64.self, at: 0)) }
        return ids
    }

    /// Drops the temporary tables. After an error, the rollback of the transaction has already removed them.
    func cleanUp() {
        for entity in gathered { try? connection.execute(BatchSQL.dropIDs(entity)) }
    }

    // MARK: Checks

    /// Runs a statement that returns changed rows, checks these rows, and writes their derived columns. Returns their
    /// numbers.
    ///
    /// - Parameter edited: the columns that were set.
    @discardableResult
    func run<Row: StoredRow>(
        _ sql: String,
        _ values: [StoredValue],
        checking entity: Entity<Row>,
        edited: ColumnSet
    ) throws -> IDRanges {
        var numbers: [Int64] = []
        var rows: [Row] = []
        var failures: [StrataError.Detail] = []
        do {
            try connection.statement(sql).run(values) { reader in
                let row = try Row(_$from: reader)
                numbers.append(row._$id)
                if !entity.info.derived.isEmpty { rows.append(row) }
                if failures.count < Self.failureLimit {
                    failures += withUnsafePointer(to: row) { entity.check($0, edited) }
                }
            }
        } catch let error as StrataError {
            throw Self.constraint(error, entity.info)
        }
        guard failures.isEmpty else { throw CommitJob.validationError(failures) }
        // Derived columns depend on the other columns.
        try write(entity.info.derived, of: rows, entity.info)
        return IDRanges(numbers)
    }

    /// Writes columns of rows that already exist in the store.
    func write<Row: StoredRow>(_ columns: ColumnSet, of rows: [Row], _ info: EntityInfo) throws {
        guard !rows.isEmpty else { return }
        let statement = try connection.statement(info.sql.update(columns))
        let position = Int32(columns.count + 1)
        for row in rows {
            var binder = statement.binder
            try withUnsafePointer(to: row) { try Row._$bind(columns, of: $0, to: &binder) }
            try binder.bind(sequence, at: position)
            try binder.bind(row._$id, at: position + 1)
            try binder.bind(sequence, at: position + 2)
            do { try statement.runBound() } catch let error as StrataError {
                throw Self.constraint(error, info) { try? row._$value(at: $0) }
            }
        }
    }

    /// - Throws: ``StrataError`` with `validation`.
    func check<Row: StoredRow>(_ row: Row, edited: ColumnSet? = nil, _ entity: Entity<Row>) throws {
        let failures = withUnsafePointer(to: row) { entity.check($0, edited) }
        guard failures.isEmpty else { throw CommitJob.validationError(failures) }
    }

    /// Runs a statement that writes a whole row. Returns the id from the statement's result, if there is one.
    func write<Row: StoredRow>(_ row: Row, by statement: Statement, _ entity: Entity<Row>) throws -> Int64? {
        do {
            var binder = statement.binder
            try withUnsafePointer(to: row) { try Row._$bind($0, to: &binder) }
            try binder.bind(sequence, at: Int32(entity.info.columns.count + 2))
            defer { statement.reset() }
            guard try statement.step() else { return nil }
            let number = try statement.reader.read(Int64.self, at: 0)
            _ = try statement.step()
            return number
        } catch let error as StrataError {
            throw Self.constraint(error, entity.info) { try? row._$value(at: $0) }
        }
    }

    /// Checks that the destinations of the to-one columns of these rows exist.
    func checkReferences(_ runs: IDRanges, _ columns: ColumnSet, _ info: EntityInfo) throws {
        for reference in info.outgoing where columns.contains(reference.column) {
            let destination = schema.entities[reference.destination].info
            let rule = destination.incoming.first { $0.entity == info.index && $0.column == reference.column }
            if rule?.deleteRule == .noAction { continue }
            let sql = BatchSQL.selectDangling(info, reference.column, destination)
            var missing: [StrataError.Detail] = []
            for run in runs.ranges where missing.count < Self.failureLimit {
                try connection.statement(sql).run([.integer(run.lowerBound), .integer(run.upperBound)]) { row in
                    missing.append(
                        StrataError.Detail(
                            model: info.name,
                            id: try row.read(Int64.self, at: 0),
                            column: info.columns[reference.column].name,
                            message:
                                "refers to \(destination.name) \(try row.read(Int64.self, at: 1)), which does not "
                                + "exist",
                            mine: row.value(at: 1)
                        )
                    )
                }
            }
            guard missing.isEmpty else {
                throw StrataError(
                    .missingReference,
                    "Nothing was changed: relationships would refer to objects that do not exist.",
                    details: missing
                )
            }
        }
    }
}
