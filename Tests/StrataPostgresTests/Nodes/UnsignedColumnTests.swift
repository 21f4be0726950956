import FleetFixture
import Foundation
import Strata
import Testing

@testable import StrataPostgres

/// A meter in three versions.
private enum Meters {
    enum Level: UInt64, AttributeValue {
        case low = 1
        case high = 0xFFFF_FFFF_FFFF_FFFF
    }

    enum Rank: Int, AttributeValue {
        case first = 1
    }

    enum First {
        @Model final class Meter {
            var total: UInt64 = 0
            var peak: UInt?
            var level: Level = Level.low
            var rank: Rank = Rank.first
            var small: UInt32 = 0
        }
    }

    /// With another attribute, which older programs can do without.
    enum Second {
        @Model final class Meter {
            var total: UInt64 = 0
            var peak: UInt?
            var level: Level = Level.low
            var rank: Rank = Rank.first
            var small: UInt32 = 0
            var limit: UInt64 = 18_000_000_000_000_000_000
        }
    }

    /// With another type of an attribute, which older programs cannot read.
    enum Third {
        @Model final class Meter {
            var total: UInt64 = 0
            var peak: UInt?
            var level: Level = Level.low
            var rank: Rank = Rank.first
            var small: UInt64 = 0
            var limit: UInt64 = 18_000_000_000_000_000_000
        }
    }
}

@Suite("Unsigned integers over PostgreSQL", .timeLimit(.minutes(3))) struct UnsignedColumnTests {
    private let nodes: PostgresNodes

    init() throws { nodes = try PostgresNodes(models: [Meters.First.Meter.self]) }

    private func insertMeter(in stack: ContextStack) async throws {
        try await stack.write { context in
            let meter = context.insert(Meters.First.Meter())
            (meter.total, meter.peak, meter.level, meter.small) = (.max, .max - 1, .high, .max)
        }
    }

    private func query(_ sql: String) throws -> PostgresRows {
        let connection = try PostgresConnection.open(
            ConnectionSettings(nodes.address.connection),
            preparesStatements: false,
            until: Deadline(seconds: 30)
        )
        return try connection.run([PostgresStatement(sql: sql)], until: Deadline(seconds: 30))[0]
    }

    /// The types of the columns of `Meter`.
    private func types() throws -> [String] {
        let rows = try query(
            """
            SELECT column_name || ' ' || data_type FROM information_schema.columns
            WHERE table_schema = '\(nodes.address.store)' AND table_name = 'Meter' ORDER BY ordinal_position
            """
        )
        return try (0..<rows.count).map { try rows.text(row: $0, column: 0) }
    }

    @Test("Values beyond Int64.max arrive on other nodes and in a new copy, and are numbers for other programs")
    func values() async throws {
        let left = try await nodes.open("left")
        let right = try await nodes.open("right")
        try await insertMeter(in: left)
        try await right.catchUp()
        let late = try await nodes.open("late")
        for stack in [right, late] {
            let meter = try await stack.background { try #require(try $0.first(Meters.First.Meter.all)).snapshot }
            #expect(meter.total == .max && meter.peak == .max - 1 && meter.level == .high && meter.small == .max)
        }
        try await right.write { context in
            let meter = try #require(try context.first(Meters.First.Meter.where { $0.total > UInt64(Int64.max) }))
            (meter.total, meter.peak) = (5, nil)
        }
        let table = "\"\(nodes.address.store)\".\"Meter\""
        let text = try query("SELECT total || ' ' || level || ' ' || (peak IS NULL) FROM \(table)")
        #expect(try text.text(row: 0, column: 0) == "5 18446744073709551615 true")
        #expect(
            try types() == [
                "id bigint", "total numeric", "peak numeric", "level numeric", "rank bigint", "small bigint",
                "_version bigint",
            ]
        )
        try await nodes.end()
    }

    @Test("A home with such columns in the type bigint keeps them, until a migration writes the table anew")
    func earlierHome() async throws {
        let old = try await nodes.open("old")
        // As earlier versions have created the store.
        let store = nodes.address.store
        _ = try query(
            """
            ALTER TABLE "\(store)"."Meter" ALTER total TYPE bigint, ALTER peak TYPE bigint, ALTER level TYPE bigint
            """
        )
        _ = try query(
            """
            UPDATE "\(store)".strata_home SET tables = replace(tables::text, '"isUnsigned":true,', '')::json
            """
        )
        try await old.close()
        let first = try await nodes.open("old")
        try await first.write { context in context.insert(Meters.First.Meter()).total = 7 }
        let refused = await #expect(throws: StrataError.self) { try await insertMeter(in: first) }
        #expect(refused?.code == .validation)
        // Both versions of the program commit.
        let second = try await nodes.open("second", models: [Meters.Second.Meter.self])
        try await second.write { context in
            let meter = try #require(try context.first(Meters.Second.Meter.all))
            #expect(meter.total == 7 && meter.limit == 18_000_000_000_000_000_000)
            meter.limit = .max
        }
        try await first.catchUp()
        try await first.write { context in _ = context.insert(Meters.First.Meter()) }
        #expect(
            try types() == [
                "id bigint", "total bigint", "peak bigint", "level bigint", "rank bigint", "small bigint",
                "_version bigint", "limit numeric",
            ]
        )
        let third = try await nodes.open("third", models: [Meters.Third.Meter.self])
        try await third.write { context in
            let meters = try context.fetch(Meters.Third.Meter.sorted { $0.total.descending })
            #expect(meters.map(\.limit) == [.max, 18_000_000_000_000_000_000])
            (meters[0].total, meters[0].small) = (.max, .max)
        }
        #expect(try types().filter { $0.hasSuffix("numeric") }.count == 5)
        for stack in [first, second] { try await stack.close() }
        for name in ["old", "second"] { _ = try await nodes.open(name, models: [Meters.Third.Meter.self]) }
        try await nodes.end()
    }
}
