import Foundation

/// Verifies one snapshot of a store.
///
/// The checks do not trust the indexes that enforce a rule, because a damaged index is a reason to check. They report
/// at most ``limit`` findings of each kind for each table or rule.
struct StoreCheck {
    let connection: Connection
    let tables: [CheckedTable]
    /// The rules of engines, and the model whose rows break them.
    let rules: [(subject: String, rule: ConsistencyRule)]
    /// The number of the newest commit in the snapshot.
    let newest: Int64
    let limit: Int
    private(set) var findings: [StoreFinding] = []

    init(
        _ connection: Connection,
        _ tables: [CheckedTable],
        rules: [(subject: String, rule: ConsistencyRule)],
        newest: Int64,
        limit: Int
    ) {
        self.connection = connection
        self.tables = tables
        self.rules = rules
        self.newest = newest
        self.limit = limit
    }

    /// Runs all checks.
    mutating func run() throws {
        try checkFile()
        for table in tables {
            try surviving { try $0.checkReferences(to: table) }
            try surviving { try $0.checkUniqueValues(of: table) }
            try surviving { try $0.checkExternalBytes(of: table) }
            try surviving { try $0.checkCommits(of: table) }
        }
        try surviving { try $0.checkHistory() }
        for (subject, rule) in rules { try surviving { try $0.check(rule, of: subject) } }
    }

    /// Continues with the next check if the file is too damaged for one.
    private mutating func surviving(_ check: (inout StoreCheck) throws -> Void) throws {
        do {
            try check(&self)
        } catch let error as StrataError where error.code == .damagedStore {
            report(.damagedFile, nil, nil, error.message)
        }
    }

    private mutating func report(_ kind: StoreFinding.Kind, _ subject: String?, _ id: Int64?, _ message: String) {
        let finding = StoreFinding(kind: kind, subject: subject, id: id, message: message)
        if !findings.contains(finding) { findings.append(finding) }
    }

    // MARK: The file

    private mutating func checkFile() throws {
        try surviving { check in
            var lines: [String] = []
            let sql = "PRAGMA main.integrity_check(\(check.limit))"
            try check.connection.statement(sql).run([]) { lines.append($0.string(at: 0)) }
            guard lines.count != 1 || !lines[0].hasSameBytes(as: "ok") else { return }
            for line in lines { check.report(.damagedFile, nil, nil, line) }
        }
    }

    // MARK: Objects

    private mutating func checkReferences(to table: CheckedTable) throws {
        for reference in table.incoming {
            let column = reference.column.quotedIdentifier
            let sql = """
                SELECT "id", \(column) FROM \(reference.table.quotedIdentifier) AS r WHERE \(column) IS NOT NULL \
                AND NOT EXISTS (SELECT 1 FROM \(table.name.quotedIdentifier) AS d WHERE d."id" = r.\(column)) LIMIT ?
                """
            for (id, destination) in try pairs(sql) {
                report(
                    .missingReference,
                    reference.subject,
                    id,
                    "\(reference.column) leads to \(table.subject) \(destination), which does not exist."
                )
            }
        }
    }

    private mutating func checkUniqueValues(of table: CheckedTable) throws {
        for index in table.uniques {
            let list = index.columns.map(\.quotedIdentifier).joined(separator: ", ")
            let present = (index.columns + (index.present.map { [$0] } ?? [])).map {
                "\($0.quotedIdentifier) IS NOT NULL"
            }
            let sql = """
                SELECT min("id"), count(*) FROM \(table.name.quotedIdentifier) NOT INDEXED \
                WHERE \(present.joined(separator: " AND ")) GROUP BY \(list) HAVING count(*) > 1 LIMIT ?
                """
            for (id, count) in try pairs(sql) {
                let what = index.columns.joined(separator: ", ")
                report(.duplicateValue, table.subject, id, "\(count) rows have the same value of \(what).")
            }
        }
    }

    private mutating func checkExternalBytes(of table: CheckedTable) throws {
        for column in table.externals {
            let name = column.quotedIdentifier
            let sql = """
                SELECT "id", \(name) FROM \(table.name.quotedIdentifier) AS r WHERE \(name) IS NOT NULL \
                AND NOT EXISTS (SELECT 1 FROM "strata_data" AS d WHERE d."id" = r.\(name)) LIMIT ?
                """
            for (id, number) in try pairs(sql) {
                report(.missingBytes, table.subject, id, "The bytes of \(column) (number \(number)) do not exist.")
            }
        }
    }

    // MARK: History

    /// A row records the commit that wrote it last. A later commit than the newest one shows that commits were lost.
    private mutating func checkCommits(of table: CheckedTable) throws {
        let sql = """
            SELECT "id", "_version" FROM \(table.name.quotedIdentifier) WHERE "_version" > \(newest) LIMIT ?
            """
        for (id, commit) in try pairs(sql) {
            report(
                .damagedHistory,
                table.subject,
                id,
                "The row was written by commit \(commit), but the newest commit of the store is \(newest)."
            )
        }
    }

    private mutating func checkHistory() throws {
        var damaged: [Int64] = []
        let limit = limit
        let sql = "SELECT \"sequence\", \"changes\" FROM \"strata_history\" WHERE \"changes\" IS NOT NULL"
        try connection.statement(sql).run([]) { row in
            guard damaged.count < limit, case .blob(let bytes) = row.value(at: 1),
                CommitChanges(encoded: bytes) == nil
            else { return }
            damaged.append(try row.read(Int64.self, at: 0))
        }
        for commit in damaged {
            report(.damagedHistory, nil, nil, "The changes of commit \(commit) cannot be read.")
        }
    }

    // MARK: Engines

    private mutating func check(_ rule: ConsistencyRule, of subject: String) throws {
        for id in try connection.numbers("\(rule.sql) LIMIT ?", [.integer(Int64(limit))]) {
            report(.inconsistentQueue, subject, id, rule.message)
        }
    }

    /// The rows of a query with two numbers, whose last parameter is the limit.
    private func pairs(_ sql: String) throws -> [(Int64, Int64)] {
        var result: [(Int64, Int64)] = []
        try connection.statement(sql).run([.integer(Int64(limit))]) { row in
            guard case .integer(let id) = row.value(at: 0) else { return }
            // A damaged row may contain a value of another type.
            var other: Int64 = 0
            if case .integer(let number) = row.value(at: 1) { other = number }
            result.append((id, other))
        }
        return result
    }
}
