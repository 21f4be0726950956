import Foundation

extension Row {
    /// Queries over a store, a thousand unsaved changes above it and another thousand above these.
    ///
    /// Each query filters by quantity, sorts by price, and is asked for its rows, their count and the sum of a column.
    /// Equal: the rows that answer, in their order, and the SQL. The C library's changes were flushed to the table and
    /// committed before the stopwatch runs, so this row shows what the layers cost a reader. No index serves the
    /// filter on either side.
    static func pending(_ sizes: Sizes) -> Row {
        Row(
            work: .pending,
            name: "\(sizes.pendingQueries) queries over 1000 pending changes in each of two layers",
            unit: .milliseconds,
            target: 1.5
        ) { round in
            let plan = PendingPlan(round.sizes)
            let database = try EntryTable.make(round, count: round.sizes.pendingStored)
            try flush(plan.lower, database, round)
            try flush(plan.upper, database, round)
            var answers: [EntryValues] = []
            var check = Checksum()
            let filter = " WHERE quantity>=? AND quantity<?"
            let watch = Stopwatch()
            let list = try database.prepare(EntryTable.select + filter + " ORDER BY price, serial")
            let count = try database.prepare("SELECT count(*) FROM entry" + filter)
            let sum = try database.prepare("SELECT sum(flags) FROM entry" + filter)
            try database.execute("BEGIN")
            for bound in plan.bounds {
                list.bind(bound, at: 1)
                list.bind(bound + plan.width, at: 2)
                while try list.step() { answers.append(EntryValues(list)) }
                check.add(number: try answer(of: count, bound, bound + plan.width))
                check.add(number: try answer(of: sum, bound, bound + plan.width))
            }
            try database.execute("COMMIT")
            let seconds = watch.seconds
            check.addInOrder(answers)
            return Sample(cost: seconds, check: check)
        }
    }

    private static func flush(_ layer: PendingPlan.Layer, _ database: Database, _ round: Round) throws {
        try database.transaction {
            let update = try database.prepare("UPDATE entry SET quantity=? WHERE id=?")
            for serial in layer.updated {
                update.bind(PendingPlan.quantity(of: serial), at: 1)
                update.bind(round.values.entries[serial].id, at: 2)
                try update.run()
            }
            let delete = try database.prepare(EntryTable.delete)
            for serial in layer.deleted {
                delete.bind(round.values.entries[serial].id, at: 1)
                try delete.run()
            }
            let insert = try database.prepare(EntryTable.insert)
            for serial in layer.inserted { try round.values.entries[serial].insert(by: insert) }
        }
    }

    private static func answer(of statement: borrowing Statement, _ low: Int, _ high: Int) throws -> Int {
        statement.bind(low, at: 1)
        statement.bind(high, at: 2)
        guard try statement.step() else { throw BenchError("an aggregate gave no row") }
        defer { statement.reset() }
        return statement.integer(0)
    }
}

extension Checksum {
    /// Adds entries so that their order counts.
    mutating func addInOrder(_ entries: some Sequence<EntryValues>) {
        for (place, entry) in entries.enumerated() { add(entry.hash, at: place) }
    }

    mutating func add(_ row: RowHash, at place: Int) {
        var hash = row
        hash.add(place)
        add(hash)
    }
}
