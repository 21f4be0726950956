import CStrataSQLite

/// The pending rows that queries on one connection see on top of the store's rows.
///
/// The layers of a context are queried without being written to the store. SQLite sees them as one virtual table per
/// entity, such as `strata_pending_3`. The function `strata_hidden_3(id)` returns whether the layers replace one of the
/// store's rows. SQLite therefore evaluates every query, whether rows are pending or stored.
///
/// Isolation: that of its connection.
final class Overlay {
    private(set) var parts: [Int: [any AnyRowChanges]] = [:]

    /// Replaces the visible parts. The parts are ordered from the oldest to the newest.
    func show(_ parts: [Int: [any AnyRowChanges]]) {
        if parts.isEmpty && self.parts.isEmpty { return }
        self.parts = parts
        rows.removeAll()
        version &+= 1
    }

    /// The number of changes of the visible parts, by which a table detects whether its rows are still current.
    private(set) var version = 0
    private var rows: [Int: PendingRows] = [:]

    /// The pending rows of an entity, created at the first request.
    func rows(of entity: Int) -> PendingRows {
        if let rows = rows[entity] { return rows }
        let made = PendingRows(parts[entity] ?? [])
        rows[entity] = made
        return made
    }

    /// The pending row that represents a member; nil if none is pending.
    ///
    /// Contexts that did not see each other's changes may have added the same member several times. The row that was
    /// created last represents the member. Its id is the greatest, because ids have the same meaning in every layer and
    /// in the commit that merges the rows into one.
    func row(ofPair left: Int64, _ right: Int64, entity: Int) throws -> Int64? {
        try rows(of: entity).places(ofRowsWith: [.integer(left), .integer(right)], in: JoinRow.Column.ends).last?.number
    }

    static func tableName(_ entity: Int) -> String { "strata_pending_\(entity)" }
    static func functionName(_ entity: Int) -> String { "strata_hidden_\(entity)" }

    /// The FROM source for an entity with pending rows.
    ///
    /// - Parameter hidingDuplicates: whether a member of a to-many relationship occurs only once even if it was added
    ///   several times.
    static func source(_ info: EntityInfo, hidingDuplicates: Bool = true) -> String {
        // As a subquery, the call is evaluated after all other conditions, so only rows that the query would return are
        // looked up.
        let isShown = "(SELECT NOT \(functionName(info.index))(\"id\"))"
        if info.isJoin && hidingDuplicates {
            let pair = "strata_pair(\(info.index), \"left\", \"right\")"
            return """
                (SELECT \(info.sql.columnList) FROM \(info.sql.table) WHERE \(isShown) \
                AND \(pair) IS NULL UNION ALL SELECT \(info.sql.columnList) FROM \(tableName(info.index)) \
                WHERE \(pair) = "id")
                """
        }
        return """
            (SELECT \(info.sql.columnList) FROM \(info.sql.table) WHERE \(isShown) \
            UNION ALL SELECT \(info.sql.columnList) FROM \(tableName(info.index)))
            """
    }

    /// A statement that reads the pending row with an id.
    static func selectByID(_ info: EntityInfo) -> String {
        "SELECT \(info.sql.columnList) FROM \(tableName(info.index)) WHERE \"id\" = ?"
    }

    /// Registers the functions and tables with a connection. The connection then keeps the overlay alive.
    func register(_ entities: [any AnyEntity], on connection: OpaquePointer) throws {
        let pairCode = sqlite3_create_function_v2(
            connection,
            "strata_pair",
            3,
            SQLITE_UTF8,
            Unmanaged.passRetained(self).toOpaque(),
            { context, _, arguments in
                guard let data = sqlite3_user_data(context), let arguments else { return }
                let overlay = Unmanaged<Overlay>.fromOpaque(data).takeUnretainedValue()
                let (left, right) = (sqlite3_value_int64(arguments[1]), sqlite3_value_int64(arguments[2]))
                let entity = Int(sqlite3_value_int64(arguments[0]))
                // Reading an integer from a row cannot fail.
                if let number = try? overlay.row(ofPair: left, right, entity: entity) {
                    sqlite3_result_int64(context, number)
                }
            },
            nil,
            nil,
            { Unmanaged<Overlay>.fromOpaque($0!).release() }  // the pointer passed above
        )
        guard pairCode == SQLITE_OK else { throw StrataError(sqlite: pairCode, connection: connection) }
        for entity in entities { try PendingTable(overlay: self, info: entity.info).register(on: connection) }
    }
}

/// The data source of a virtual table of pending rows and of its function.
final class PendingTable {
    /// The connection retains the overlay through a function that is registered before the tables and released after
    /// them. The reference is unchecked, because it is used for every row.
    private unowned(unsafe) let overlay: Overlay
    let info: EntityInfo
    private var known: (version: Int, rows: PendingRows)?

    init(overlay: Overlay, info: EntityInfo) {
        self.overlay = overlay
        self.info = info
    }

    var declaration: String {
        let columns = info.columns.map { "\($0.name.quotedIdentifier) \($0.type.rawValue)" }
        return "CREATE TABLE x(\((["\"id\" INTEGER"] + columns).joined(separator: ", ")))"
    }

    var rows: PendingRows {
        if let known, known.version == overlay.version { return known.rows }
        let rows = overlay.rows(of: info.index)
        known = (overlay.version, rows)
        return rows
    }
}
