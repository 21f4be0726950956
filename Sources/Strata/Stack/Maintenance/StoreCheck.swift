import Foundation

/// Verifies one snapshot of a store.
///
/// The checks do not trust the indexes that enforce a rule, because a damaged index is a reason to check. They report
/// at most ``limit`` findings of each kind for each table or rule.
struct StoreCheck {
    let connection: Connection
    let schema: Schema
    /// The number of the newest commit in the snapshot.
    let newest: Int64
    let limit: Int
    private(set) var findings: [StoreFinding] = []

    init(_ connection: Connection, _ schema: Schema, newest: Int64, limit: Int) {
        self.connection = connection
        self.schema = schema
        self.newest = newest
        self.limit = limit
    }

    /// Runs all checks.
    mutating func run() throws {
        try checkFile()
        for entity in schema.entities {
            try surviving { try $0.checkReferences(to: entity.info) }
            try surviving { try $0.checkUniqueValues(of: entity.info) }
            try surviving { try $0.checkExternalBytes(of: entity.info) }
            try surviving { try $0.checkCommits(of: entity.info) }
        }
        try surviving { try $0.checkHistory() }
        for (entity, hook) in schema.commitHooks {
            let info = schema.entities[entity].info
            for rule in hook.consistencyRules { try surviving { try $0.check(rule, of: info) } }
        }
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

    /// A relationship with the rule `noAction` may keep references to deleted objects.
    private mutating func checkReferences(to info: EntityInfo) throws {
        for reference in info.incoming where reference.deleteRule != .noAction {
            let from = schema.entities[reference.entity].info
            let name = from.columns[reference.column].name
            let column = name.quotedIdentifier
            let sql = """
                SELECT "id", \(column) FROM \(from.table.quotedIdentifier) AS r WHERE \(column) IS NOT NULL \
                AND NOT EXISTS (SELECT 1 FROM \(info.table.quotedIdentifier) AS d WHERE d."id" = r.\(column)) LIMIT ?
                """
            for (id, destination) in try pairs(sql) {
                report(
                    .missingReference,
                    from.name,
                    id,
                    "\(name) leads to \(info.name) \(destination), which does not exist."
                )
            }
        }
    }

    private mutating func checkUniqueValues(of info: EntityInfo) throws {
        for index in info.uniqueIndexes {
            let names = index.columns.map { info.columns[$0].name }
            let list = names.map(\.quotedIdentifier).joined(separator: ", ")
            let present = (index.columns + (index.present.map { [$0] } ?? [])).map {
                "\(info.columns[$0].name.quotedIdentifier) IS NOT NULL"
            }
            let sql = """
                SELECT min("id"), count(*) FROM \(info.table.quotedIdentifier) NOT INDEXED \
                WHERE \(present.joined(separator: " AND ")) GROUP BY \(list) HAVING count(*) > 1 LIMIT ?
                """
            for (id, count) in try pairs(sql) {
                let what = names.joined(separator: ", ")
                report(.duplicateValue, info.name, id, "\(count) rows have the same value of \(what).")
            }
        }
    }

    private mutating func checkExternalBytes(of info: EntityInfo) throws {
        for (index, column) in info.columns.enumerated() where info.externals.contains(index) {
            let name = column.name.quotedIdentifier
            let sql = """
                SELECT "id", \(name) FROM \(info.table.quotedIdentifier) AS r WHERE \(name) IS NOT NULL \
                AND NOT EXISTS (SELECT 1 FROM "strata_data" AS d WHERE d."id" = r.\(name)) LIMIT ?
                """
            for (id, number) in try pairs(sql) {
                report(.missingBytes, info.name, id, "The bytes of \(column.name) (number \(number)) do not exist.")
            }
        }
    }

    // MARK: History

    /// A row records the commit that wrote it last. A later commit than the newest one shows that commits were lost.
    private mutating func checkCommits(of info: EntityInfo) throws {
        let sql = """
            SELECT "id", "_version" FROM \(info.table.quotedIdentifier) WHERE "_version" > \(newest) LIMIT ?
            """
        for (id, commit) in try pairs(sql) {
            report(
                .damagedHistory,
                info.name,
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

    private mutating func check(_ rule: ConsistencyRule, of info: EntityInfo) throws {
        for id in try connection.numbers("\(rule.sql) LIMIT ?", [.integer(Int64(limit))]) {
            report(.inconsistentQueue, info.name, id, rule.message)
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
