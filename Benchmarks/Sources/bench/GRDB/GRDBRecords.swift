import Foundation
import GRDB

/// GRDB's records as their documentation uses them, over the same table as the C library's side.
///
/// Records lie ready before the stopwatch runs, as the C library's structs do.
enum GRDBRecords<Entry: BenchRecord> {
    static func participant(_ name: String) -> Participant {
        Participant(
            name: name,
            isPeer: true,
            sides: [
                .insert: insert, .fetch: fetch, .findInStore: find, .update: update, .delete: delete,
                .commitNormal: { try commits($0, .normal) }, .commitFull: { try commits($0, .full) },
            ]
        )
    }

    private static func open(_ round: Round, _ synchronous: Synchronous = .normal) throws -> DatabasePool {
        var configuration = Configuration()
        configuration.prepareDatabase { try $0.execute(sql: "PRAGMA cache_size=-64000") }
        let pool = try DatabasePool(path: round.file.path, configuration: configuration)
        try pool.writeWithoutTransaction { database in
            try database.execute(sql: "PRAGMA synchronous=\(synchronous.rawValue)")
            let level = try Int.fetchOne(database, sql: "PRAGMA synchronous")
            let cache = try Int.fetchOne(database, sql: "PRAGMA cache_size")
            guard level == (synchronous == .full ? 2 : 1), cache == -64000 else {
                throw BenchError("GRDB's pragmas are not those of the C library")
            }
        }
        return pool
    }

    private static func records(_ entries: some Sequence<EntryValues>) -> [Entry] { entries.map(Entry.init) }

    private static func insert(_ round: Round) throws -> Sample {
        do { _ = try EntryTable.make(round, count: 0) }
        let pool = try open(round)
        let entries = records(round.values.entries.prefix(round.sizes.inserted))
        let watch = Stopwatch()
        try pool.write { database in
            for entry in entries { try entry.insert(database) }
        }
        return Sample(cost: watch.seconds, check: try EntryTable.check(round))
    }

    private static func fetch(_ round: Round) throws -> Sample {
        do { _ = try EntryTable.make(round, count: round.sizes.fetched) }
        let pool = try open(round)
        let watch = Stopwatch()
        let entries = try pool.read { try Entry.fetchAll($0) }
        return Sample(cost: watch.seconds, check: Checksum(entries.lazy.map(\.values)))
    }

    private static func find(_ round: Round) throws -> Sample {
        do { _ = try EntryTable.make(round, count: round.sizes.stored) }
        let pool = try open(round)
        let ids = round.values.lookups.map { round.values.entries[$0].id }
        let watch = Stopwatch()
        let entries = try pool.read { database in
            try ids.compactMap { try Entry.fetchOne(database, key: $0) }
        }
        return Sample(cost: watch.seconds, check: Checksum(entries.lazy.map(\.values)))
    }

    private static func update(_ round: Round) throws -> Sample {
        do { _ = try EntryTable.make(round, count: round.sizes.stored) }
        let pool = try open(round)
        let chosen = round.values.chosen(round.sizes)
        var entries = records(chosen.map { round.values.entries[$0] })
        let watch = Stopwatch()
        try pool.write { database in
            for index in entries.indices {
                let next = round.values.entries[chosen[index] + 1]
                entries[index].values.quantity += 1
                entries[index].values.price += 0.5
                entries[index].values.title = next.title
                try entries[index].update(database)
            }
        }
        return Sample(cost: watch.seconds, check: try EntryTable.check(round))
    }

    private static func delete(_ round: Round) throws -> Sample {
        do { _ = try EntryTable.make(round, count: round.sizes.stored) }
        let pool = try open(round)
        let entries = records(round.values.chosen(round.sizes).map { round.values.entries[$0] })
        let watch = Stopwatch()
        let count = try pool.write { database in
            try entries.count { try $0.delete(database) }
        }
        let seconds = watch.seconds
        guard count == entries.count else { throw BenchError("\(count) rows were deleted") }
        return Sample(cost: seconds, check: try EntryTable.check(round))
    }

    private static func commits(_ round: Round, _ synchronous: Synchronous) throws -> Sample {
        do { _ = try EntryTable.make(round, count: 0, synchronous) }
        let pool = try open(round, synchronous)
        let entries = records(round.values.entries.prefix(round.sizes.commits))
        let watch = Stopwatch()
        for entry in entries {
            try pool.write { try entry.insert($0) }
        }
        return Sample(cost: watch.seconds, check: try EntryTable.check(round))
    }
}
