import CStrataSQLite
package import Foundation

/// Makes the rows of a store the first contents of a home, and the file of the store a working copy of the home.
///
/// The home gets all rows in one transaction, and the file becomes a copy in another one after it. If the process ends
/// before the first, nothing has changed. If it ends between the two, the file is still a store without a home, and the
/// next move finds that the home has exactly its rows. The ids of objects stay valid, because the home gets the
/// fingerprint of the store.
package struct HomeMove {
    /// What a move has done.
    package struct Report: Sendable {
        package let position: HomePosition
        package let rowCount: Int
        /// Whether an earlier move, which did not end, has already stored the rows.
        package let wasStored: Bool
        /// Whether ids of objects from before a copy of the file exist. Only the copy that the file becomes knows them.
        package let hasLineage: Bool
    }

    private let url: URL
    private let home: any StoreHome

    /// - Parameter home: has no store yet. It need not be open.
    package init(of url: URL, to home: any StoreHome) {
        self.url = url
        self.home = home
    }

    /// Moves the store. No other connection can use the file meanwhile.
    ///
    /// - Throws: `busy` if a process has the store open; `nameTaken` if the home has another store; `schemaMismatch`,
    ///   `notAStore` and the other errors of opening a store; the errors of ``StoreHome/create(_:nextID:_:)``;
    ///   `CancellationError` if the current task was cancelled before the home had all rows. The file is then a store
    ///   without a home, as before.
    /// - Complexity: O(size of the store).
    package func run() throws -> Report {
        guard try !StoreFile.inspect(url) else {
            throw StrataError(.notAStore, "'\(url.path)' does not exist or is empty. Name the file of a store.")
        }
        let pointer = try StoreCopy.connect(url.path)
        defer { sqlite3_close(pointer) }
        let connection = Connection(pointer, fingerprint: 0)
        defer { connection.finalize() }
        sqlite3_busy_timeout(pointer, Self.busyMilliseconds)
        try lock(connection)
        do {
            let report = try move(connection)
            try connection.execute("COMMIT")
            return report
        } catch {
            if connection.isInTransaction { try? connection.execute("ROLLBACK") }
            throw error
        }
    }

    /// How long the move waits for processes that end at this moment.
    private static let busyMilliseconds: Int32 = 500
    private static let maxPortionRows = 500
    private static let maxPortionBytes = 4 << 20

    private func lock(_ connection: Connection) throws {
        try connection.beginAlone(
            otherwise: "'\(url.path)' is open in a program, whose later commits would be missing in the home. End all "
                + "programs that have the store open, then move it."
        )
    }

    private func move(_ connection: Connection) throws -> Report {
        let (record, schema) = try checkedStore(connection)
        // Later changes of the file have the values in this order.
        let description = try HomeDescription(record, schema).inOrder(of: connection)
        try connection.storeDefaults(in: description.tables)
        guard let identity = try StoreIdentity.read(on: connection, ifCopied: .accept) else {
            throw StoreIdentity.damaged.naming(url.path)
        }
        let state = HomeState(
            fingerprint: identity.fingerprint,
            description: description,
            position: HomePosition(number: 1, id: UUID())
        )
        var count = 0
        let isNew = try home.create(state, nextID: try nextID(connection, description)) { insert in
            try Task.checkCancellation()
            for table in description.tables {
                count += try Self.forEachPortion(of: table, connection) { rows in
                    try insert(table.name, rows)
                    // The home rolls the creation back. After it, the move only changes the file, which takes no time.
                    try Task.checkCancellation()
                }
            }
        }
        var position = state.position
        if !isNew { (position, count) = try storedState(state, connection) }
        try CopyRecord(home: home.name, position: position).create(on: connection)
        try CopyRecord.addToLayout(on: connection)
        return Report(
            position: position,
            rowCount: count,
            wasStored: !isNew,
            hasLineage: !identity.lineage.isEmpty
        )
    }

    /// The recorded schema of a store that only Strata has changed.
    private func checkedStore(_ connection: Connection) throws -> (SchemaRecord, SchemaDescription) {
        let state = try StoreState(on: connection)
        if state.isWorkingCopy {
            let record = try CopyRecord.read(on: connection)
            throw StrataError(
                .schemaMismatch,
                "'\(url.path)' is a working copy of \(record.home), and was left as it is. Move a store without a home."
            )
        }
        guard let record = state.record, record.format >= StoreFile.formatVersion else {
            throw StrataError(
                .schemaMismatch,
                "'\(url.path)' was written by an earlier version of Strata, and was left as it is. Open it once with a "
                    + "program that uses this version, then move it."
            )
        }
        try StoreSchema.checkFormat(record)
        let schema = try SchemaDescription(parsing: record.description)
        try StoreDifference(state, schema, on: connection).check()
        return (record, schema)
    }

    /// The first id that no object and no external bytes of the store have.
    private func nextID(_ connection: Connection, _ description: HomeDescription) throws -> Int64 {
        var next = try connection.integer(SchemaSQL.readNextID) ?? 0
        if description.tables.contains(where: { $0.name == ExternalSQL.table.name }) {
            // The numbers of bytes came from SQLite so far, and come from the home from now on.
            let last = try connection.integer("SELECT \"seq\" FROM sqlite_sequence WHERE \"name\" = 'strata_data'")
            next = max(next, (last ?? 0) + 1)
        }
        guard IDSource.isRange(from: next) else { throw StoreIdentity.damaged.naming(url.path) }
        return next
    }

    /// Reads the rows of a table. Returns their number.
    static func forEachPortion(
        of table: HomeTable,
        _ connection: Connection,
        _ body: ([[StoredValue]]) throws -> Void
    ) throws -> Int {
        let statement = try connection.statement("SELECT \(columnList(table)) FROM \(table.name.quotedIdentifier)")
        let columnCount = Int32(table.columns.count)
        var rows: [[StoredValue]] = []
        var (bytes, count) = (0, 0)
        try statement.run([]) { row in
            let values = (0..<columnCount).map { row.value(at: $0) }
            bytes += values.reduce(0) { $0 + $1.approximateSize }
            rows.append(values)
            count += 1
            guard rows.count >= maxPortionRows || bytes >= maxPortionBytes else { return }
            try body(rows)
            (rows, bytes) = ([], 0)
        }
        if !rows.isEmpty { try body(rows) }
        return count
    }

    private static func columnList(_ table: HomeTable) -> String {
        table.columns.map(\.name.quotedIdentifier).joined(separator: ", ")
    }

    // MARK: A move that did not end

    /// The position of a home that already has exactly the rows of the store, and their number.
    ///
    /// - Throws: `nameTaken` if the home has another store, or other rows.
    private func storedState(_ expected: HomeState, _ connection: Connection) throws -> (HomePosition, Int) {
        let found = try home.open(expected.description, busyTimeout: 5)
        guard found.fingerprint == expected.fingerprint, found.description == expected.description,
            found.position.number == expected.position.number
        else { throw otherStore }
        let tables = Dictionary(uniqueKeysWithValues: expected.description.tables.map { (UTF8Text($0.name), $0) })
        var count = 0
        let position = try home.copy { name, rows in
            try Task.checkCancellation()
            guard let table = tables[UTF8Text(name)] else { throw otherStore }
            let select = """
                SELECT \(Self.columnList(table)) FROM \(name.quotedIdentifier) \
                WHERE \(table.columns[0].name.quotedIdentifier) = ?
                """
            for row in rows {
                guard let id = row.first, try connection.row(select, [id]) == row else { throw otherStore }
            }
            count += rows.count
        }
        let own = try expected.description.tables.reduce(Int64(0)) { sum, table in
            sum + (try connection.integer("SELECT count(*) FROM \(table.name.quotedIdentifier)") ?? 0)
        }
        guard position == found.position, own == Int64(count) else { throw otherStore }
        return (position, count)
    }

    private var otherStore: StrataError {
        StrataError(
            .nameTaken,
            "\(home.name) has another store, or other rows than '\(url.path)'. Both were left as they are. Name another "
                + "store of the home, or remove the one that is there."
        )
    }
}

extension StoredValue {
    /// The number of bytes that the value needs in memory or in a message, roughly.
    fileprivate var approximateSize: Int {
        switch self {
        case .null, .integer, .real: 8
        case .text(let text): 8 + text.utf8.count
        case .blob(let bytes): 8 + bytes.count
        }
    }
}
