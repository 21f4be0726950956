import CStrataSQLite

/// The rows that queries on one connection see on top of the store's.
///
/// The layers of a context are not written anywhere to be queried. They appear to SQLite as one virtual table an
/// entity, `strata_pending_3` say, and the function `strata_hidden(3, id)` tells which of the store's rows they replace.
/// So one engine gives one answer to every query (C14).
///
/// Isolation: that of its connection.
final class Overlay {
    private(set) var parts: [Int: [any AnyPart]] = [:]

    /// Shows these parts, oldest first, from now on.
    func show(_ parts: [Int: [any AnyPart]]) {
        self.parts = parts
        pairs.removeAll()
    }

    /// The pending members of to-many relationships, made when they are first asked for.
    private var pairs: [Int: [Pair: Int64]] = [:]

    private struct Pair: Hashable {
        let left: Int64
        let right: Int64
    }

    /// The pending row that stands for a member, the newest where contexts that did not see each other have added the
    /// same one: join rows merge as members of a set (H25). Nil where none is pending.
    func row(ofPair left: Int64, _ right: Int64, entity: Int) -> Int64? {
        if let known = pairs[entity] { return known[Pair(left: left, right: right)] }
        var found: [Pair: Int64] = [:]
        var seen: Set<Int64> = []
        for part in (parts[entity] ?? []).reversed() {
            let part = part.typed(JoinRow.self)
            for change in part.changes where seen.insert(change.row._$number).inserted && change.kind.isVisible {
                let pair = Pair(left: change.row.left, right: change.row.right)
                if found[pair] == nil { found[pair] = change.row._$number }
            }
        }
        pairs[entity] = found
        return found[Pair(left: left, right: right)]
    }

    func isHidden(_ number: Int64, entity: Int) -> Bool {
        guard let parts = parts[entity] else { return false }
        return parts.contains { $0.index(of: number) != nil }
    }

    static func tableName(_ entity: Int) -> String { "strata_pending_\(entity)" }

    /// What stands in FROM for an entity of which there are pending rows.
    ///
    /// - Parameter hidingDuplicates: whether a member of a to-many relationship comes once, however often it was added.
    static func source(_ info: EntityInfo, hidingDuplicates: Bool = true) -> String {
        if info.isJoin && hidingDuplicates {
            let pair = "strata_pair(\(info.index), \"left\", \"right\")"
            return """
                (SELECT \(info.sql.columnList) FROM \(info.sql.table) WHERE NOT strata_hidden(\(info.index), "id") \
                AND \(pair) IS NULL UNION ALL SELECT \(info.sql.columnList) FROM \(tableName(info.index)) \
                WHERE \(pair) = "id")
                """
        }
        return """
            (SELECT \(info.sql.columnList) FROM \(info.sql.table) WHERE NOT strata_hidden(\(info.index), "id") \
            UNION ALL SELECT \(info.sql.columnList) FROM \(tableName(info.index)))
            """
    }

    /// Makes the function and the tables known to a connection, which keeps the overlay alive by itself.
    func register(_ entities: [any AnyEntity], on connection: OpaquePointer) throws {
        let code = sqlite3_create_function_v2(
            connection,
            "strata_hidden",
            2,
            SQLITE_UTF8,
            Unmanaged.passRetained(self).toOpaque(),
            { context, _, arguments in
                guard let data = sqlite3_user_data(context), let arguments else { return }
                let overlay = Unmanaged<Overlay>.fromOpaque(data).takeUnretainedValue()
                let entity = Int(sqlite3_value_int64(arguments[0]))
                let number = sqlite3_value_int64(arguments[1])
                sqlite3_result_int(context, overlay.isHidden(number, entity: entity) ? 1 : 0)
            },
            nil,
            nil,
            { Unmanaged<Overlay>.fromOpaque($0!).release() }  // the pointer that was passed above
        )
        guard code == SQLITE_OK else { throw StrataError(sqlite: code, connection: connection) }
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
                if let number = overlay.row(ofPair: left, right, entity: entity) {
                    sqlite3_result_int64(context, number)
                }
            },
            nil,
            nil,
            { Unmanaged<Overlay>.fromOpaque($0!).release() }  // the pointer that was passed above
        )
        guard pairCode == SQLITE_OK else { throw StrataError(sqlite: pairCode, connection: connection) }
        for entity in entities {
            try PendingTable.register(PendingTable(overlay: self, info: entity.info), on: connection)
        }
    }
}

/// What a virtual table of pending rows is made of.
final class PendingTable {
    /// The connection keeps the overlay, by the function that is registered before the tables.
    unowned let overlay: Overlay
    let info: EntityInfo

    init(overlay: Overlay, info: EntityInfo) {
        self.overlay = overlay
        self.info = info
    }

    var declaration: String {
        let columns = info.columns.map { "\($0.name.quotedIdentifier) \($0.type.rawValue)" }
        return "CREATE TABLE x(\((["\"id\" INTEGER"] + columns).joined(separator: ", ")))"
    }

    var parts: [any AnyPart] { overlay.parts[info.index] ?? [] }
}

/// Walks the pending rows of an entity in the order of their ids: of each row the newest version, if it is visible.
final class PendingCursor {
    let parts: [any AnyPart]
    private var positions: [Int]
    private(set) var part = 0
    private(set) var index = 0
    private(set) var number: Int64 = 0
    private(set) var isAtEnd = false
    private var only: Int64?

    init(_ parts: [any AnyPart]) {
        self.parts = parts
        positions = Array(repeating: 0, count: parts.count)
    }

    /// Starts at the first row, or at the row with this id only.
    func start(only number: Int64?) {
        isAtEnd = false
        only = number
        for position in positions.indices { positions[position] = 0 }
        guard let number else { return advance() }
        for (part, pending) in parts.enumerated().reversed() {
            guard let index = pending.index(of: number) else { continue }
            (self.part, self.index, self.number) = (part, index, number)
            isAtEnd = !pending.kind(at: index).isVisible
            return
        }
        isAtEnd = true
    }

    func advance() {
        guard only == nil else {
            isAtEnd = true
            return
        }
        while true {
            var least = Int64.max
            for (part, pending) in parts.enumerated() where positions[part] < pending.numbers.count {
                least = min(least, pending.numbers[positions[part]])
            }
            guard least != .max else {
                isAtEnd = true
                return
            }
            for (part, pending) in parts.enumerated()
            where positions[part] < pending.numbers.count && pending.numbers[positions[part]] == least {
                (self.part, index) = (part, positions[part])
                positions[part] += 1
            }
            number = least
            if parts[part].kind(at: index).isVisible { return }
        }
    }

    /// The value of a column of the table: the id, then the entity's.
    func value(_ column: Int) throws -> StoredValue {
        column == 0 ? .integer(number) : try parts[part].value(at: index, column: column - 1)
    }
}
