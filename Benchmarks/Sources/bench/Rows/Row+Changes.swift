import Foundation

extension Row {
    /// One statement over half of the rows.
    ///
    /// Equal: the same rows get the same values. Strata also finds the ids of the rows first, checks the types of the
    /// new values, writes the version of each row, and tells others what has changed.
    static func batchUpdate(_ sizes: Sizes) -> Row {
        Row(
            work: .batchUpdate,
            name: "batch update of \(sizes.stored / 2) rows",
            unit: .milliseconds,
            target: nil
        ) { round in
            let database = try EntryTable.makeAndReopen(round, count: round.sizes.stored)
            let watch = Stopwatch()
            try database.transaction {
                let statement = try database.prepare(
                    "UPDATE entry SET quantity = quantity + 1, price = price + 0.5 WHERE serial < ?"
                )
                statement.bind(Int64(round.sizes.stored / 2), at: 1)
                try statement.run()
            }
            return Sample(cost: watch.seconds, check: try EntryTable.check(round))
        }
    }

    /// Every insert within a savepoint of its own, all of them in one transaction.
    static func savepoints(_ sizes: Sizes) -> Row {
        Row(
            work: .savepoints,
            name: "insert \(sizes.chosen) objects, each in a savepoint, and commit",
            unit: .milliseconds,
            target: nil
        ) { round in
            let database = try EntryTable.make(round, count: 0)
            let entries = round.values.entries.prefix(round.sizes.chosen)
            let watch = Stopwatch()
            try database.transaction {
                let begin = try database.prepare("SAVEPOINT one")
                let insert = try database.prepare(EntryTable.insert)
                let release = try database.prepare("RELEASE one")
                for entry in entries {
                    try begin.run()
                    try entry.insert(by: insert)
                    try release.run()
                }
            }
            return Sample(cost: watch.seconds, check: try EntryTable.check(round))
        }
    }

    /// Edits that are on disk are taken back, and that is committed. The C library knows the old values and writes them by key.
    static func undo(_ sizes: Sizes) -> Row {
        Row(
            work: .undo,
            name: "undo \(sizes.chosen) edits and commit",
            unit: .milliseconds,
            target: nil
        ) { round in
            let database = try EntryTable.makeAndReopen(round, count: round.sizes.stored)
            let serials = round.values.chosen(round.sizes)
            let entries = try EntryTable.fetch(serials.map { round.values.entries[$0].id }, database)
            try database.execute("UPDATE entry SET quantity = quantity + 1")
            try database.execute(
                "UPDATE entry SET quantity = quantity - 1 WHERE serial NOT IN (\(serials.map(String.init).joined(separator: ",")))"
            )
            let watch = Stopwatch()
            try database.transaction {
                let statement = try database.prepare(EntryTable.update)
                for entry in entries { try entry.update(by: statement) }
            }
            return Sample(cost: watch.seconds, check: try EntryTable.check(round))
        }
    }

    /// A list of 10,000 rows is shown, one of them is changed and committed, and the new list is there, again and again.
    ///
    /// Equal: a commit and a fetch of the whole list into structs for each change. Strata also finds what has become of the list.
    static func live(_ sizes: Sizes) -> Row {
        Row(
            work: .live,
            name: "live list of \(sizes.shown) rows, one changed",
            unit: .milliseconds,
            target: nil,
            operations: sizes.liveChanges
        ) { round in
            let database = try EntryTable.makeAndReopen(round, count: round.sizes.shown)
            let reader = try Database(round.file)
            let watch = Stopwatch()
            let update = try database.prepare("UPDATE entry SET quantity = quantity + 1 WHERE id = ?")
            for index in 0..<round.sizes.liveChanges {
                try database.transaction {
                    update.bind(round.values.entries[index].id, at: 1)
                    try update.run()
                }
                guard try EntryTable.fetch(reader, count: round.sizes.shown).count == round.sizes.shown else {
                    throw BenchError("rows are missing")
                }
            }
            return Sample(cost: watch.seconds, check: try EntryTable.check(round))
        }
    }

    /// The sum of a column of 10,000 rows is shown, one of them is changed and committed, and the new sum is there, again
    /// and again.
    ///
    /// Equal: a commit and one statement for the sum, for each change. Strata also finds that the sum must be read again.
    static func liveSum(_ sizes: Sizes) -> Row {
        Row(
            work: .liveSum,
            name: "live sum of \(sizes.shown) rows, one changed",
            unit: .milliseconds,
            target: nil,
            operations: sizes.liveChanges
        ) { round in
            let database = try EntryTable.makeAndReopen(round, count: round.sizes.shown)
            let reader = try Database(round.file)
            let sum = try reader.prepare("SELECT sum(quantity) FROM entry")
            guard try sum.step() else { throw BenchError("the sum is missing") }
            var last = sum.integer(0)
            sum.reset()
            let watch = Stopwatch()
            let update = try database.prepare("UPDATE entry SET quantity = quantity + 1 WHERE id = ?")
            for index in 0..<round.sizes.liveChanges {
                try database.transaction {
                    update.bind(round.values.entries[index].id, at: 1)
                    try update.run()
                }
                guard try sum.step(), sum.integer(0) == last + 1 else { throw BenchError("the sum is wrong") }
                sum.reset()
                last += 1
            }
            return Sample(cost: watch.seconds, check: try EntryTable.check(round))
        }
    }

    /// Commits that write their entry in the history, beside those of a store that keeps none.
    static func history(_ sizes: Sizes) -> Row {
        Row(
            work: .history,
            name: "one object per commit, \(sizes.commits) times, history on beside off",
            unit: .milliseconds,
            target: nil
        ) { round in try await StrataSides.commits(round, .normal, history: .off) }
    }
}
