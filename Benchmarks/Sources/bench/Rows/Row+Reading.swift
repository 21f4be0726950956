import Foundation

extension Row {
    /// A table of which every object is fetched, for the first time since the file was opened.
    ///
    /// Equal: rows in a file that has just been opened, all ten columns decoded, one array of everything at the end.
    static func fetch(_ sizes: Sizes) -> Row {
        Row(
            work: .fetch,
            name: "fetch \(sizes.fetched) into tracked objects",
            unit: .milliseconds,
            target: 1.4
        ) { round in
            let database = try EntryTable.makeAndReopen(round, count: round.sizes.fetched)
            let watch = Stopwatch()
            let entries = try EntryTable.fetch(database, count: round.sizes.fetched)
            return Sample(cost: watch.seconds, check: Checksum(entries))
        }
    }

    /// The fetch once more, while everything of the first one is still held.
    ///
    /// Equal: the rows that come back. The C library has nothing to recognise a row by and decodes them again.
    static func fetchAgain(_ sizes: Sizes) -> Row {
        Row(
            work: .fetchAgain,
            name: "fetch the same \(sizes.fetched) again, all registered",
            unit: .milliseconds,
            target: 0.8
        ) { round in
            let database = try EntryTable.makeAndReopen(round, count: round.sizes.fetched)
            let held = try EntryTable.fetch(database, count: round.sizes.fetched)
            let watch = Stopwatch()
            let entries = try EntryTable.fetch(database, count: round.sizes.fetched)
            return withExtendedLifetime(held) { Sample(cost: watch.seconds, check: Checksum(entries)) }
        }
    }

    /// Single rows by id, at random, from a file that has just been opened.
    ///
    /// Equal: the ids and their order; one read transaction here, one block there.
    static func findInStore(_ sizes: Sizes) -> Row {
        Row(
            work: .findInStore,
            name: "fetch \(sizes.chosen) by id from the store",
            unit: .milliseconds,
            target: 1.5
        ) { round in
            let database = try EntryTable.makeAndReopen(round, count: round.sizes.stored)
            let ids = round.values.lookups.map { round.values.entries[$0].id }
            let watch = Stopwatch()
            let entries = try database.transaction("BEGIN") { try EntryTable.fetch(ids, database) }
            return Sample(cost: watch.seconds, check: Checksum(entries))
        }
    }
}
