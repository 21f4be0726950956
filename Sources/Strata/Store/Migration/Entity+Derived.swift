extension Entity {
    /// Recalculates and writes the derived columns of all rows from their other columns.
    ///
    /// - Parameter report: called after each portion with the number of rows just written.
    func writeDerived(on connection: Connection, _ report: (_ rows: Int) throws -> Void) throws {
        let select = try connection.statement(MigrationSQL.selectRows(info))
        let update = try connection.statement(MigrationSQL.updateColumns(info.derived, info))
        var last: Int64 = 0
        while true {
            var rows: [Row] = []
            try select.run([.integer(last), .integer(500)]) {
                rows.append(try Row(_$from: $0))
            }
            guard let end = rows.last?._$id else { return }
            for row in rows {
                var binder = update.binder
                try withUnsafePointer(to: row) { try Row._$bind(info.derived, of: $0, to: &binder) }
                try binder.bind(row._$id, at: Int32(info.derived.count + 1))
                try update.runBound()
            }
            last = end
            try report(rows.count)
        }
    }
}
