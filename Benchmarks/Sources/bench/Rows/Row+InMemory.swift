import CBench
import Foundation
import GRDBSQLite

/// The ten properties as a class and nothing more.
final class BareEntry {
    let values: EntryValues

    init(_ values: EntryValues) { self.values = values }
}

extension Row {
    /// Objects that are registered, by id. The target is absolute, so the reference is the limit itself.
    static func findInMemory(_ sizes: Sizes) -> Row {
        let count = sizes.registered * sizes.lookupPasses
        return Row(
            work: .findInMemory,
            name: "fetch by id from memory (reference: 60 ns)",
            unit: .nanoseconds,
            target: 1,
            operations: count
        ) { round in
            var sample = try dictionaryLookups(round)
            sample.cost = 60e-9 * Double(count)
            return sample
        }
    }

    /// The same against a plain dictionary from ids to objects.
    static func findInMemoryByDictionary(_ sizes: Sizes) -> Row {
        Row(
            work: .findInMemoryByDictionary,
            name: "fetch by id from memory (reference: Dictionary)",
            unit: .nanoseconds,
            target: nil,
            operations: sizes.registered * sizes.lookupPasses
        ) { round in try dictionaryLookups(round) }
    }

    private static func dictionaryLookups(_ round: Round) throws -> Sample {
        let entries = round.values.entries.prefix(round.sizes.registered)
        let objects = Dictionary(uniqueKeysWithValues: entries.map { ($0.id, BareEntry($0)) })
        let ids = round.registeredLookups.map { Int64($0) + 1 }
        var check = Checksum()
        let watch = Stopwatch()
        for _ in 0..<round.sizes.lookupPasses {
            for id in ids {
                guard let object = objects[id] else { throw BenchError("id \(id) is not in the dictionary") }
                check.add(number: object.values.serial)
            }
        }
        return Sample(cost: watch.seconds, check: check)
    }

    /// What an object takes in memory when it was fetched, its share of the array and of the identity map included.
    ///
    /// Equal: the values, an array of all objects. Not counted: SQLite's page cache, which is warm before the first
    /// measurement, and what SQLite allocates otherwise.
    static func memory(_ sizes: Sizes) -> Row {
        Row(
            work: .memory,
            name: "a live object in memory, of \(sizes.fetched)",
            unit: .bytes,
            target: 1.3,
            operations: sizes.fetched
        ) { round in
            let database = try EntryTable.makeAndReopen(round, count: round.sizes.fetched)
            let statement = try database.prepare(EntryTable.select)
            while try statement.step() {}
            let before = Heap.bytes
            var objects: [BareEntry] = []
            objects.reserveCapacity(round.sizes.fetched)
            while try statement.step() { objects.append(BareEntry(EntryValues(statement))) }
            let after = Heap.bytes
            return Sample(cost: Double(after - before), check: Checksum(objects.lazy.map(\.values)))
        }
    }
}

extension Round {
    /// Serials of registered objects in random order.
    var registeredLookups: [Int] {
        (0..<sizes.registered).map { values.lookups[$0 % values.lookups.count] % sizes.registered }
    }
}

/// The heap of the process without SQLite's part, as far as SQLite counts it.
enum Heap {
    static var bytes: Int { Int(bench_heap_bytes()) - Int(sqlite3_memory_used()) }
}
