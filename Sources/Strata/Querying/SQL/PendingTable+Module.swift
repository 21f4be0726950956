import CStrataSQLite

extension PendingTable {
    /// SQLite's structures for an open table and a cursor: SQLite's header first, then Strata's fields.
    private struct Table {
        var header: sqlite3_vtab
        var table: Unmanaged<PendingTable>
    }

    private struct Cursor {
        var header: sqlite3_vtab_cursor
        var cursor: Unmanaged<PendingCursor>
    }

    /// Registers the table and its function with a connection, which releases them when it closes.
    func register(on connection: OpaquePointer) throws {
        let code = sqlite3_create_module_v2(
            connection,
            Overlay.tableName(info.index),
            Self.module,
            Unmanaged.passRetained(self).toOpaque(),
            { Unmanaged<PendingTable>.fromOpaque($0!).release() }  // the pointer that was passed above
        )
        guard code == SQLITE_OK else { throw StrataError(sqlite: code, connection: connection) }
        let functionCode = sqlite3_create_function_v2(
            connection,
            Overlay.functionName(info.index),
            1,
            SQLITE_UTF8,
            Unmanaged.passRetained(self).toOpaque(),
            { context, _, arguments in
                guard let data = sqlite3_user_data(context), let arguments else { return }
                let table = Unmanaged<PendingTable>.fromOpaque(data).takeUnretainedValue()
                sqlite3_result_int(context, table.rows.isHidden(sqlite3_value_int64(arguments[0])) ? 1 : 0)
            },
            nil,
            nil,
            { Unmanaged<PendingTable>.fromOpaque($0!).release() }  // the pointer that was passed above
        )
        guard functionCode == SQLITE_OK else { throw StrataError(sqlite: functionCode, connection: connection) }
    }

    /// One module for all tables. It never changes after its creation, and is never freed, because SQLite keeps a
    /// pointer to it.
    nonisolated(unsafe) private static let module: UnsafePointer<sqlite3_module> = {
        let module = UnsafeMutablePointer<sqlite3_module>.allocate(capacity: 1)
        module.initialize(to: sqlite3_module())
        module.pointee.iVersion = 1
        // A module without xCreate is an eponymous virtual table: it exists under its own name in every schema and is
        // not written to the file.
        module.pointee.xConnect = { connection, data, _, _, result, _ in
            guard let data, let result else { return SQLITE_MISUSE }
            let table = Unmanaged<PendingTable>.fromOpaque(data)
            let code = sqlite3_declare_vtab(connection, table.takeUnretainedValue().declaration)
            guard code == SQLITE_OK else { return code }
            let pointer = UnsafeMutablePointer<Table>.allocate(capacity: 1)
            pointer.initialize(to: Table(header: sqlite3_vtab(), table: table))
            result.pointee = UnsafeMutableRawPointer(pointer).assumingMemoryBound(to: sqlite3_vtab.self)
            return SQLITE_OK
        }
        module.pointee.xDisconnect = { table in
            UnsafeMutableRawPointer(table)?.assumingMemoryBound(to: Table.self).deallocate()
            return SQLITE_OK
        }
        module.pointee.xBestIndex = { table, info in
            guard let table, let info else { return SQLITE_MISUSE }
            plan(&info.pointee, owner(table))
            return SQLITE_OK
        }
        module.pointee.xOpen = { table, result in
            guard let table, let result else { return SQLITE_MISUSE }
            let pointer = UnsafeMutablePointer<Cursor>.allocate(capacity: 1)
            let cursor = Unmanaged.passRetained(PendingCursor(owner(table).rows))
            pointer.initialize(to: Cursor(header: sqlite3_vtab_cursor(), cursor: cursor))
            result.pointee = UnsafeMutableRawPointer(pointer).assumingMemoryBound(to: sqlite3_vtab_cursor.self)
            return SQLITE_OK
        }
        module.pointee.xClose = { pointer in
            guard let pointer = UnsafeMutableRawPointer(pointer)?.assumingMemoryBound(to: Cursor.self) else {
                return SQLITE_OK
            }
            pointer.pointee.cursor.release()
            pointer.deallocate()
            return SQLITE_OK
        }
        module.pointee.xFilter = { pointer, plan, columns, _, arguments in
            let cursor = cursor(pointer)
            guard plan != walkPlan, let table = pointer?.pointee.pVtab.map(owner), let arguments else {
                cursor.start()
                return SQLITE_OK
            }
            let columns = columns.map { PendingTable.columns(of: $0) } ?? []
            let types = plan == lookupPlan ? [.integer] : columns.map { table.info.columns[$0].type }
            let values = types.enumerated().compactMap { place, type in
                arguments[place].flatMap { StoredValue($0, of: type) }
            }
            // For a value of another type, only SQLite's rules decide equality. The cursor visits all rows, and SQLite
            // compares the values again.
            guard values.count == types.count else {
                cursor.start()
                return SQLITE_OK
            }
            if plan == lookupPlan {
                if case .integer(let number) = values[0] { cursor.start(at: number) }
                return SQLITE_OK
            }
            do { try cursor.start(at: values, in: columns) } catch { cursor.start() }
            return SQLITE_OK
        }
        module.pointee.xNext = { pointer in
            cursor(pointer).advance()
            return SQLITE_OK
        }
        module.pointee.xEof = { cursor($0).isAtEnd ? 1 : 0 }
        module.pointee.xRowid = { pointer, result in
            result?.pointee = cursor(pointer).place.number
            return SQLITE_OK
        }
        module.pointee.xColumn = { pointer, context, column in
            do {
                try SQLFunctions.give(cursor(pointer).value(Int(column)), to: context)
                return SQLITE_OK
            } catch {
                sqlite3_result_error(context, "\(error)", -1)
                return SQLITE_ERROR
            }
        }
        return UnsafePointer(module)
    }()

    // The plan that xBestIndex passes to xFilter: scan all rows, look up an id, or look up the values of the columns in
    // idxStr.
    private static let walkPlan: Int32 = 0
    private static let lookupPlan: Int32 = 1
    private static let columnsPlan: Int32 = 2

    /// The columns as a text. SQLite keeps the text with the statement and frees it.
    private static func text(of columns: [Int]) -> UnsafeMutablePointer<CChar>? {
        let bytes = columns.map(String.init).joined(separator: ",").utf8CString
        guard let memory = sqlite3_malloc(Int32(bytes.count)) else { return nil }
        let text = memory.bindMemory(to: CChar.self, capacity: bytes.count)
        for (index, byte) in bytes.enumerated() { text[index] = byte }
        return text
    }

    private static func columns(of text: UnsafePointer<CChar>) -> [Int] {
        String(cString: text).utf8.split(separator: UInt8(ascii: ",")).compactMap { Int(Substring($0)) }
    }

    private static func owner(_ table: UnsafeMutablePointer<sqlite3_vtab>) -> PendingTable {
        UnsafeMutableRawPointer(table).assumingMemoryBound(to: Table.self).pointee.table.takeUnretainedValue()
    }

    private static func cursor(_ pointer: UnsafeMutablePointer<sqlite3_vtab_cursor>?) -> PendingCursor {
        // SQLite passes only cursors that xOpen has created.
        UnsafeMutableRawPointer(pointer!).assumingMemoryBound(to: Cursor.self).pointee.cursor.takeUnretainedValue()
    }

    /// Chooses the plan: a look-up by id, a look-up by all compared columns, or a scan in the order of ids.
    private static func plan(_ info: inout sqlite3_index_info, _ table: PendingTable) {
        let rows = table.rows.limit
        let equalities = (0..<Int(info.nConstraint)).filter { index in
            let constraint = info.aConstraint[index]
            return constraint.usable != 0 && constraint.op == UInt8(SQLITE_INDEX_CONSTRAINT_EQ)
                && sqlite3_stricmp(sqlite3_vtab_collation(&info, Int32(index)), "BINARY") == 0
        }
        if let index = equalities.first(where: { info.aConstraint[$0].iColumn <= 0 }) {
            info.aConstraintUsage[index].argvIndex = 1
            info.idxNum = lookupPlan
            info.estimatedCost = 1
            info.estimatedRows = 1
            return
        }
        if info.nOrderBy == 1, info.aOrderBy[0].iColumn <= 0, info.aOrderBy[0].desc == 0 { info.orderByConsumed = 1 }
        var columns: [(column: Int, constraint: Int)] = []
        for index in equalities {
            let column = Int(info.aConstraint[index].iColumn) - 1
            if table.info.columns[column].type == .real || columns.contains(where: { $0.column == column }) { continue }
            columns.append((column, index))
        }
        // The order is the same however the conditions are written, because each list of columns gets its own index.
        columns.sort { $0.column < $1.column }
        guard !columns.isEmpty, let text = text(of: columns.map(\.column)) else {
            info.idxNum = walkPlan
            info.estimatedCost = Double(rows + 1)
            info.estimatedRows = Int64(rows)
            return
        }
        for (place, column) in columns.enumerated() {
            info.aConstraintUsage[column.constraint].argvIndex = Int32(place + 1)
        }
        (info.idxStr, info.needToFreeIdxStr) = (text, 1)
        info.idxNum = columnsPlan
        info.estimatedCost = 2
        info.estimatedRows = 1
    }
}

extension StoredValue {
    /// Converts a value from SQLite; nil if the value is not of the column's type.
    fileprivate init?(_ value: OpaquePointer, of type: ColumnType) {
        let stored = RowReader.value(value)
        switch (type, stored) {
        case (.integer, .integer), (.text, .text), (.blob, .blob): self = stored
        default: return nil
        }
    }
}
