import Foundation

extension Row {
    /// Objects inserted in a child of main, and committed through main and root to the store.
    ///
    /// Equal: the values, which lie ready as structs on both sides, and one transaction. Making the objects and
    /// handing them down is the subject's extra work, and is timed.
    static func insert(_ sizes: Sizes) -> Row {
        Row(
            work: .insert,
            name: "insert and commit \(sizes.inserted) through three levels",
            unit: .milliseconds,
            target: 1.5
        ) { round in
            let database = try EntryTable.make(round, count: 0)
            let entries = round.values.entries.prefix(round.sizes.inserted)
            let watch = Stopwatch()
            try EntryTable.fill(database, entries)
            return Sample(cost: watch.seconds, check: try EntryTable.check(round))
        }
    }

    /// Every fifth row changed in three of its columns: an integer, a double and a text.
    ///
    /// Equal: rows or objects are in memory before the stopwatch runs; the new values are set and written by key, in
    /// one transaction. The C library has read the rows on the connection that writes, which has the pages at hand then;
    /// contexts read on connections of their own. `apart` lets the reference do that too, without a target.
    static func update(_ sizes: Sizes, apart: Bool) -> Row {
        Row(
            work: apart ? .updateApart : .update,
            name: "update \(sizes.chosen) and commit" + (apart ? " (reference reads apart as well)" : ""),
            unit: .milliseconds,
            target: apart ? nil : 1.3
        ) { round in
            let database = try EntryTable.makeAndReopen(round, count: round.sizes.stored)
            let serials = round.values.chosen(round.sizes)
            let reader = apart ? try Database(round.file) : database
            var entries = try EntryTable.fetch(serials.map { round.values.entries[$0].id }, reader)
            let watch = Stopwatch()
            try database.transaction {
                let statement = try database.prepare(EntryTable.update)
                for index in entries.indices {
                    let next = round.values.entries[entries[index].serial + 1]
                    entries[index].quantity += 1
                    entries[index].price += 0.5
                    entries[index].title = next.title
                    try entries[index].update(by: statement)
                }
            }
            return Sample(cost: watch.seconds, check: try EntryTable.check(round))
        }
    }

    /// Every fifth row deleted.
    ///
    /// Equal: objects are in memory before the stopwatch runs, the C library knows their ids; one transaction.
    static func delete(_ sizes: Sizes) -> Row {
        Row(
            work: .delete,
            name: "delete \(sizes.chosen) and commit",
            unit: .milliseconds,
            target: 1.3
        ) { round in
            let database = try EntryTable.makeAndReopen(round, count: round.sizes.stored)
            let serials = round.values.chosen(round.sizes)
            let entries = try EntryTable.fetch(serials.map { round.values.entries[$0].id }, database)
            let watch = Stopwatch()
            try database.transaction {
                let statement = try database.prepare(EntryTable.delete)
                for entry in entries {
                    statement.bind(entry.id, at: 1)
                    try statement.run()
                }
            }
            return Sample(cost: watch.seconds, check: try EntryTable.check(round))
        }
    }

    /// One object deleted and committed, whose delete rules delete rows on two levels.
    ///
    /// The reference is Strata's batch delete of the same rows, which tracks no objects.
    static func cascade(_ sizes: Sizes) -> Row {
        Row(
            work: .cascade,
            name: "delete with \(sizes.cascaded) and \(sizes.cascaded) below, and commit (reference: batch)",
            unit: .milliseconds,
            target: 3
        ) { try await StrataSides.cascade($0, isBatch: true) }
    }

    /// One object per commit, all from one block and so without hops, which have rows of their own.
    ///
    /// Equal: as many transactions, each of one inserted row, at the same synchronous level. Strata also writes the
    /// number of each commit, by which readers and other processes tell what they see: a second page for each
    /// transaction. `numbering` lets the reference do that too, without a target.
    static func commits(_ sizes: Sizes, _ synchronous: Synchronous, numbering: Bool = false) -> Row {
        let name = "one object per commit, \(sizes.commits) times, \(synchronous.rawValue)"
        return Row(
            work: numbering ? .commitNumbered : synchronous == .full ? .commitFull : .commitNormal,
            name: name + (numbering ? " (reference numbers them as well)" : ""),
            unit: .milliseconds,
            target: numbering ? nil : 1.3
        ) { round in
            let database = try EntryTable.make(round, count: 0, synchronous)
            try database.execute("CREATE TABLE number (id INTEGER PRIMARY KEY, value INTEGER NOT NULL)")
            try database.execute("INSERT INTO number VALUES (1, 0)")
            let entries = round.values.entries.prefix(round.sizes.commits)
            let watch = Stopwatch()
            let begin = try database.prepare("BEGIN IMMEDIATE")
            let insert = try database.prepare(EntryTable.insert)
            let number = try database.prepare("UPDATE number SET value = value + 1 WHERE id = 1")
            let commit = try database.prepare("COMMIT")
            for entry in entries {
                try begin.run()
                try entry.insert(by: insert)
                if numbering { try number.run() }
                try commit.run()
            }
            return Sample(cost: watch.seconds, check: try EntryTable.check(round))
        }
    }

    /// One object per commit at FULL, by 32 contexts at the same time.
    ///
    /// Equal: the rows, and a commit for each of them. The reference is one context of Strata. Commits of several contexts
    /// share the wait for the disk.
    static func commitsTogether(_ sizes: Sizes) -> Row {
        Row(
            work: .commitTogether,
            name: "one object per commit, \(sizes.commits) times, FULL, by 32 contexts (reference: one)",
            unit: .milliseconds,
            target: 1.0 / 6
        ) { try await StrataSides.commits($0, contexts: 1) }
    }

    /// The loop of a service: each object read, changed in three of its columns and committed, in a block of its own.
    ///
    /// Equal: the reference reads on one connection, in a transaction, and writes on another one, in a transaction for each row, at
    /// the same synchronous level. SQLite runs automatic checkpoints for it. Strata's hops to a block and back are timed as well.
    ///
    /// - Parameter byWrite: whether each block is one of `write`, which checks what it has read when it is committed.
    static func edits(_ sizes: Sizes, _ synchronous: Synchronous, byWrite: Bool = false) -> Row {
        Row(
            work: byWrite ? .editByWrite : synchronous == .full ? .editFull : .editNormal,
            name: "read, change and commit one object\(byWrite ? " by write" : ""), \(sizes.edits) times, "
                + synchronous.rawValue,
            unit: .milliseconds,
            target: nil
        ) { round in
            do { _ = try EntryTable.make(round, count: round.sizes.stored) }
            let writer = try Database(round.file, synchronous)
            let reader = try Database(round.file, synchronous)
            let ids = round.values.entries.prefix(round.sizes.edits).map(\.id)
            let watch = Stopwatch()
            let beginReading = try reader.prepare("BEGIN")
            let endReading = try reader.prepare("COMMIT")
            let select = try reader.prepare(EntryTable.select + " WHERE id=?")
            let begin = try writer.prepare("BEGIN IMMEDIATE")
            let commit = try writer.prepare("COMMIT")
            let update = try writer.prepare(EntryTable.update)
            for id in ids {
                try beginReading.run()
                select.bind(id, at: 1)
                guard try select.step() else { throw BenchError("a row is missing") }
                var entry = EntryValues(select)
                select.reset()
                try endReading.run()
                entry.quantity += 1
                entry.price += 0.5
                entry.title = round.values.entries[entry.serial + 1].title
                try begin.run()
                try entry.update(by: update)
                try commit.run()
            }
            return Sample(cost: watch.seconds, check: try EntryTable.check(round))
        }
    }
}
