import Foundation
import TestHomeTraits
import Testing

@testable import Strata

@Suite("Indexes of rows that have a value") struct PartialIndexTests {
    enum Full {
        @Model(.unique("room", "badge"), .index("room", "size"), table: "Guest") final class Guest {
            var room: String
            var badge: String?
            var size: Int?
            var note: String?
        }
    }
    enum Sparse {
        @Model(
            .unique("room", "badge", whereNotNil: "badge", onConflict: .update),
            .index("room", "size", whereNotNil: "note"),
            table: "Guest"
        ) final class Guest {
            var room: String
            var badge: String?
            var size: Int?
            var note: String?
        }
    }
    enum Renamed {
        @Model(.unique("room", "sign", whereNotNil: "sign"), table: "Guest") final class Guest {
            var room: String
            @Attribute(originalName: "badge") var sign: String?
            var size: Int?
        }
    }
    enum Wrong {
        @Model(.index("name", whereNotNil: "name")) final class NeverNil { var name: String = "" }
        @Model(.unique("name", whereNotNil: "note")) final class SomeOnly {
            var name: String = ""
            var note: String?
        }
    }

    private static let indexes =
        "SELECT sql FROM sqlite_schema WHERE type = 'index' AND tbl_name = 'Guest' ORDER BY name"

    @Test(
        "A migration adds such indexes, renames and drops them with their columns, and keeps unchanged ones",
        .aboutTheFile("migrates a store")
    )
    func migration() async throws {
        let folder = try ScratchFolder()
        let url = folder.file("s.sqlite")
        try await folder.with(url, [Full.Guest.self]) { context in
            for number in 0..<20 {
                context.insert(Full.Guest(room: "a", badge: number < 2 ? "\(number)" : nil, size: number, note: nil))
            }
            try context.commit()
        }
        for _ in 0..<2 {
            let count = try await folder.with(url, [Sparse.Guest.self]) { try $0.count(Sparse.Guest.all) }
            #expect(count == 20)
            #expect(
                try folder.rows(url, Self.indexes) == [
                    #"CREATE UNIQUE INDEX "Guest_room_badge_with_badge_unique" ON "Guest" ("room", "badge") WHERE "badge" IS NOT NULL"#,
                    #"CREATE INDEX "Guest_room_size_with_note_index" ON "Guest" ("room", "size") WHERE "note" IS NOT NULL"#,
                ]
            )
        }
        let migration = Migration().dropping("Guest.note")
        let sizes = try await folder.with(url, [Renamed.Guest.self], migration) { context in
            try context.fetch(Renamed.Guest.where { $0.sign == "1" }).map(\.size)
        }
        #expect(sizes == [1])
        #expect(
            try folder.rows(url, Self.indexes) == [
                #"CREATE UNIQUE INDEX "Guest_room_sign_with_sign_unique" ON "Guest" ("room", "sign") WHERE "sign" IS NOT NULL"#
            ]
        )
    }

    @Test("The store's description of such indexes parses back")
    func description() async throws {
        let stack = try await ContextStack.open(.inMemory, models: [Sparse.Guest.self], stack: .rootOnly)
        let description = SchemaDescription(stack.core.engine.schema.entities.map(\.info))
        #expect(description.description.contains("unique (room, badge) present badge\n"))
        #expect(description.description.contains("index (room, size) present note\n"))
        #expect(try SchemaDescription(parsing: description.description) == description)
        try await stack.close()
    }

    @Test("Saves, commits and batches keep values as unique as with an index of all rows")
    func unique() async throws {
        let stack = try await ContextStack.open(.inMemory, models: [Sparse.Guest.self], stack: .rootOnly)
        try await stack.background { context in
            for number in 0..<5 { context.insert(Sparse.Guest(room: "a", badge: nil, size: number, note: nil)) }
            context.insert(Sparse.Guest(room: "a", badge: "x", size: 5, note: nil))
            try context.commit()
            // This object updates the existing one, which has the same unique values.
            context.insert(Sparse.Guest(room: "a", badge: "x", size: 6, note: nil))
            context.insert(Sparse.Guest(room: "b", badge: "x", size: 7, note: nil))
            try context.commit()
            #expect(try context.column(Sparse.Guest.all.sorted { $0.size.ascending }, \.size) == [0, 1, 2, 3, 4, 6, 7])
            let other = try #require(try context.first(Sparse.Guest.where { $0.size == 0 }))
            other.badge = "x"
            let error = #expect(throws: StrataError.self) { try context.commit() }
            #expect(error?.code == .notUnique)
            context.rollback()
        }
        try await stack.background { context in
            _ = try context.batchUpsert(
                [
                    Sparse.Guest(room: "a", badge: "x", size: 60, note: nil).snapshot,
                    Sparse.Guest(room: "a", badge: nil, size: 8, note: nil).snapshot,
                ],
                by: "room",
                "badge"
            )
        }
        let sizes = try await stack.background { context in
            try context.column(Sparse.Guest.all.sorted { $0.size.ascending }, \.size)
        }
        #expect(sizes == [0, 1, 2, 3, 4, 7, 8, 60])
        try await stack.close()
    }

    @Test("Queries for one value, and queries for any value, use such an index")
    func plans() async throws {
        let stack = try await ContextStack.open(.inMemory, models: [Sparse.Guest.self], stack: .rootOnly)
        let plans = try await stack.background { context in
            let schema = context.store.schema
            let sources = SQLSources.tables(resolver: schema.resolver, identity: context.store.identity)
            let connection = try context.currentSnapshot().reader.connection
            return try [
                Sparse.Guest.where { $0.room == "a" && $0.badge == "x" },
                Sparse.Guest.where { $0.room == "a" && $0.badge.in(["x", "y"]) },
                Sparse.Guest.where { $0.room == "a" && $0.note != nil && $0.size > 3 },
                Sparse.Guest.where { $0.room == "a" && $0.size > 3 },
            ]
            .map { query in
                let compiled = try query.compile(.objects, using: sources)
                var plan: [String] = []
                try connection.statement("EXPLAIN QUERY PLAN " + compiled.sql).run(compiled.bindings) {
                    plan.append($0.string(at: 3))
                }
                return plan.joined(separator: "; ")
            }
        }
        for plan in plans.prefix(2) {
            #expect(plan.contains("Guest_room_badge_with_badge_unique (room=? AND badge=?)"))
        }
        #expect(plans[2].contains("Guest_room_size_with_note_index (room=? AND size>?)"))
        #expect(plans[3].hasPrefix("SCAN"), "\(plans[3])")
        try await stack.close()
    }

    @Test(
        "An index that would cover all rows, or leave some of them not unique, is an error at open",
        arguments: [0, 1]
    )
    func wrong(_ index: Int) async throws {
        let model: any Model.Type = [Wrong.NeverNil.self, Wrong.SomeOnly.self][index]
        let error = await #expect(throws: StrataError.self) {
            try await ContextStack.open(.inMemory, models: [model], stack: .rootOnly)
        }
        #expect(error?.code == .invalidSchema)
        #expect(error?.message.contains("whereNotNil") == true)
    }
}
