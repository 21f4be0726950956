import Foundation
import Strata

extension HomePromise {
    private struct Interruption: Error {}

    private static var item: HomeTable { SampleStore.description.tables[0] }

    /// The description after a migration, with another name of the models.
    private static func description(_ tables: [HomeTable], generation: Int64) -> HomeDescription {
        HomeDescription(
            format: 1,
            version: 2,
            schema: "the schema after the migration",
            steps: ["first", "second", "third"],
            tables: tables,
            generation: generation,
            earlier: ["the key of the sample"]
        )
    }

    /// A migration after a position, with changes of rows.
    private static func migration(
        _ node: HomeNode,
        after position: HomePosition,
        _ description: HomeDescription,
        replacing tables: [String] = [],
        _ changes: HomeChanges = HomeChanges(bytes: Data())
    ) -> HomeMigration {
        let transaction = HomeTransaction(
            previous: position,
            position: HomePosition(number: position.number + 1, id: UUID()),
            node: node.id,
            time: HomeNode.time,
            changes: changes,
            generation: description.generation
        )
        return HomeMigration(
            transaction: transaction,
            description: description,
            replacedTables: Set(tables.map { UTF8Text($0) })
        )
    }

    /// The rows of the table of items, in the order of their ids.
    private static func items(_ node: HomeNode) throws -> [[StoredValue]] {
        var found: [[StoredValue]] = []
        _ = try node.home.copy { table, rows in
            if table == item.name { found += rows }
        }
        return found.sorted { "\($0[0])" < "\($1[0])" }
    }

    static func checkMigration(_ nodes: [HomeNode]) throws {
        for node in nodes { try node.open() }
        let store = try SampleStore()
        let unusual = SampleStore.description.tables[1]
        let other = [StoredValue.integer(1)] + SampleStore.unusualColumns.map { StoredValue.text("\($0)") }
        let first = try nodes[0].publish(
            store.changes {
                for id in Int64(1)...3 {
                    try store.insert([.integer(id), .integer(id), .real(0.5), .text("a"), .blob(Data([1]))])
                }
                try store.insert(other, into: unusual.name)
            }
        )
        // The table of items loses a column, and gets one of another type. A table is new. The other one stays.
        let replaced = HomeTable(
            name: item.name,
            columns: [item.columns[0], HomeTable.Column(name: "number", type: .text, isOptional: false)]
        )
        let new = HomeTable(name: "New", columns: [item.columns[0], item.columns[3]])
        let description = Self.description([new, unusual, replaced], generation: 1)
        let changes = try store.changes { try store.update(1, [("group", .text("changed"))], in: unusual.name) }
        func migrate(_ node: HomeNode, fails: Bool) throws -> Bool {
            try node.home.migrate(within: 30) { state in
                try expect("the position under the lock", is: state.position, first.position)
                try expect("the description under the lock", is: state.description, SampleStore.description)
                return migration(node, after: state.position, description, replacing: [item.name, new.name], changes)
            } _: { insert in
                try insert(item.name, [[.integer(1), .text("one")], [.integer(2), .text("two")]])
                if fails { throw Interruption() }
                try insert(new.name, [[.integer(9), .text("nine")]])
            }
        }
        do {
            _ = try migrate(nodes[0], fails: true)
            throw HomeFailure(description: "A migration ends although its rows have failed.")
        } catch is Interruption {}
        try expect("the position after a failure", is: try nodes[1].home.newest(), first.position)
        try expect("the description after a failure", is: try nodes[1].open().description, SampleStore.description)
        try expect("the items after a failure", is: try items(nodes[1]).count, 3)

        try expect(try migrate(nodes[0], fails: false), "The home is not migrated.")
        try expect(.schemaMismatch, from: "a copy with the earlier tables") { _ = try nodes[2].home.copy { _, _ in } }
        let state = try nodes[2].open()
        try expect("the description", is: state.description, description)
        try expect("the number of the position", is: state.position.number, first.position.number + 1)
        var rows: [String: [[StoredValue]]] = [:]
        let position = try nodes[2].home.copy { rows[$0, default: []] += $1 }
        try expect("the position of the copy", is: position, state.position)
        try expect("the replaced rows", is: rows[item.name]?.map { $0[1] }.count, 2)
        try expect("the new rows", is: rows[new.name], [[.integer(9), .text("nine")]])
        var changed = other
        changed[1] = .text("changed")
        try expect("the rows that stay", is: rows[unusual.name], [changed])
        let transactions = try nodes[1].home.transactions(after: first.position, limit: 10).transactions
        try expect("the migration in the feed", is: transactions.map(\.generation), [1])
        try expect("the generation of other transactions", is: first.generation, nil)
        try expect(try nodes[1].home.outcome(of: state.position.id), "The migration is not among the transactions.")
    }

    static func checkAddition(_ nodes: [HomeNode]) throws {
        for node in nodes { try node.open() }
        let store = try SampleStore()
        let first = try nodes[0].publish(
            store.changes {
                for id in Int64(1)...3 { try store.insert([.integer(id), .integer(id), .null, .text("a"), .null]) }
            }
        )
        func added(_ name: String, _ type: ColumnType, _ value: StoredValue?) -> HomeTable.Column {
            let isUnsigned = type == .integer && value.flatMap { UInt64(storedValue: $0) } != nil
            return HomeTable.Column(
                name: name,
                type: type,
                isOptional: value == nil,
                isUnsigned: isUnsigned,
                defaultValue: value
            )
        }
        let values: [StoredValue?] = [
            .integer(-7), .real(-1e12), .text("it's \\ \"here\""), .blob(Data([0, 255])), nil, UInt64.max.storedValue,
            .integer(12),
        ]
        let types: [ColumnType] = [.integer, .real, .text, .blob, .integer, .integer, .integer]
        let columns = zip(types, values).enumerated().map { added("added \($0)", $1.0, $1.1) }
        let extended = HomeTable(name: item.name, columns: item.columns + columns)
        let new = HomeTable(name: "New", columns: [item.columns[0]])
        let others = SampleStore.description.tables.dropFirst()
        let description = Self.description([extended] + others + [new], generation: 0)
        let isMigrated = try nodes[0].home.migrate(within: 30) { state in
            migration(nodes[0], after: state.position, description)
        } _: { _ in
        }
        try expect(isMigrated, "The home is not migrated.")
        _ = try nodes[0].open()
        let defaults = values.map { $0 ?? .null }
        try expect(
            "the values of earlier rows",
            is: try items(nodes[0]).map { Array($0.dropFirst(5)) },
            [defaults, defaults, defaults]
        )

        // A node that knows the columns changes one of them.
        let extendedStore = try SampleStore([extended, new])
        _ = try extendedStore.changes {
            let row: [StoredValue] = [.integer(1), .integer(1), .null, .text("a"), .null]
            try extendedStore.insert(row + defaults)
        }
        try nodes[0].publish(
            extendedStore.changes {
                try extendedStore.update(1, [("added 0", .integer(5))])
                try extendedStore.insert([.integer(7)], into: new.name)
            }
        )
        // One that does not know them changes, inserts and deletes rows.
        try nodes[1].publish(
            store.changes {
                try store.update(1, [("name", .text("b"))])
                try store.insert([.integer(4), .null, .real(2), .null, .null])
                try store.delete(2)
            }
        )
        var changed: [StoredValue] = [.integer(1), .integer(1), .null, .text("b"), .null] + defaults
        changed[5] = .integer(5)
        let expected: [[StoredValue]] = [
            changed, [.integer(3), .integer(3), .null, .text("a"), .null] + defaults,
            [.integer(4), .null, .real(2), .null, .null] + defaults,
        ]
        try nodes[2].open()
        try expect("the items", is: try items(nodes[2]), expected)

        // A node with the earlier models may also connect after the migration.
        try nodes[2].publish(
            store.changes {
                try store.update(3, [("name", .text("c"))])
                try store.insert([.integer(5), .null, .real(3), .null, .null])
                try store.delete(4)
            }
        )
        let later: [[StoredValue]] = [
            changed, [.integer(3), .integer(3), .null, .text("c"), .null] + defaults,
            [.integer(5), .null, .real(3), .null, .null] + defaults,
        ]
        try expect("the items after another node", is: try items(nodes[0]), later)
        let feed = try nodes[1].home.transactions(after: first.position, limit: 10).transactions
        try expect("the generations of the feed", is: feed.map(\.generation), [0, nil, nil, nil])
    }

    static func checkLockOfMigration(_ nodes: [HomeNode]) throws {
        try nodes[0].open()
        for node in nodes.dropFirst() { try node.open(busyTimeout: 0.1) }
        let first = try nodes[0].publish(try SampleStore.insertion(1))
        let next = nodes[1].transaction(after: first.position, try SampleStore.insertion(2))
        let isMigrated = try nodes[0].home.migrate(within: 30) { state in
            try expect(.busy, from: "the lock during a migration") {
                _ = try nodes[1].home.lock(after: state.position, limit: 1)
            }
            try expect(try !nodes[1].home.publishIfNewest(next), "A transaction is stored during a migration.")
            try expect("the newest position", is: try nodes[2].home.newest(), first.position)
            _ = try nodes[0].home.reserveIDs(1)
            let later = try nodes[0].home.transactions(after: first.position, limit: 1).transactions
            try expect("the transactions", is: later.count, 0)
            return nil
        } _: { _ in
            throw HomeFailure(description: "Rows are asked for without a migration.")
        }
        try expect(!isMigrated, "The home was migrated without a plan.")
        try expect(try nodes[1].home.publishIfNewest(next), "The lock is not free.")
        // While a node has the lock, a migration waits for it.
        _ = try nodes[1].home.lock(after: next.position, limit: 1)
        try expect(.busy, from: "a migration while another node has the lock") {
            _ = try nodes[0].home.migrate(within: 0.1) { _ in
                nil
            } _: { _ in
            }
        }
        nodes[1].home.unlock()
        try nodes[2].lockAndUnlock()
    }
}
