import CStrataSQLite

/// The rows that queries on one connection see on top of the store's.
///
/// The layers of a context are not written anywhere to be queried. They appear to SQLite as one virtual table an
/// entity, `strata_pending_3` say, and the function `strata_hidden_3(id)` tells which of the store's rows they replace.
/// So one engine gives one answer to every query (C14).
///
/// Isolation: that of its connection.
final class Overlay {
    private(set) var parts: [Int: [any AnyPart]] = [:]

    /// Shows these parts, oldest first, from now on.
    func show(_ parts: [Int: [any AnyPart]]) {
        if parts.isEmpty && self.parts.isEmpty { return }
        self.parts = parts
        rows.removeAll()
        version &+= 1
    }

    /// Counts what was shown, so that a table can tell whether its rows are still the same.
    private(set) var version = 0
    private var rows: [Int: PendingRows] = [:]

    /// The pending rows of an entity, made when they are first asked for.
    func rows(of entity: Int) -> PendingRows {
        if let rows = rows[entity] { return rows }
        let made = PendingRows(parts[entity] ?? [])
        rows[entity] = made
        return made
    }

    /// The pending row that stands for a member: of those that contexts which did not see each other have added the one
    /// that was made last (H25). Nil where none is pending.
    ///
    /// Ids tell which that is, since they mean the same in every layer and in the commit that makes one row of them.
    func row(ofPair left: Int64, _ right: Int64, entity: Int) throws -> Int64? {
        try rows(of: entity).places(ofRowsWith: [.integer(left), .integer(right)], in: JoinRow.Column.ends).last?.number
    }

    static func tableName(_ entity: Int) -> String { "strata_pending_\(entity)" }
    static func functionName(_ entity: Int) -> String { "strata_hidden_\(entity)" }

    /// What stands in FROM for an entity of which there are pending rows.
    ///
    /// - Parameter hidingDuplicates: whether a member of a to-many relationship comes once, however often it was added.
    static func source(_ info: EntityInfo, hidingDuplicates: Bool = true) -> String {
        // As a query of its own the call comes last of all conditions: only what a query is about to give is looked up.
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

    /// Makes the functions and the tables known to a connection, which keeps the overlay alive by itself.
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
                // A number is always there to be read.
                if let number = try? overlay.row(ofPair: left, right, entity: entity) {
                    sqlite3_result_int64(context, number)
                }
            },
            nil,
            nil,
            { Unmanaged<Overlay>.fromOpaque($0!).release() }  // the pointer that was passed above
        )
        guard pairCode == SQLITE_OK else { throw StrataError(sqlite: pairCode, connection: connection) }
        for entity in entities { try PendingTable(overlay: self, info: entity.info).register(on: connection) }
    }
}

/// What a virtual table of pending rows is made of, and the function that belongs to it.
final class PendingTable {
    /// The connection keeps the overlay, by a function that is registered before the tables and goes after them. Not checked,
    /// since this is asked for every row.
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
