import Foundation
import GRDB
import TestHomeTraits
import Testing

@testable import Strata

@Suite("Steps of a migration", .aboutTheFile("migrates stores")) struct MigrationStepTests {
    enum First {
        @Model final class Person { var name: String }
    }
    enum Next {
        @Model final class Person {
            var first: String = ""
            var last: String = ""
            @Relationship(inverse: \Team.people) var teams: Many<Team>
        }
        @Model final class Team {
            @Attribute(.unique) var name: String
            var people: Many<Person>
        }
        static let models: [any Model.Type] = [Person.self, Team.self]
    }

    private func make(_ folder: ScratchFolder) async throws -> URL {
        let url = folder.file("people.sqlite")
        try await folder.with(url, [First.Person.self]) { context in
            for name in ["Ada Lovelace", "Alan Turing", "Plato"] { context.insert(First.Person(name: name)) }
            try context.commit()
        }
        return url
    }

    static func migration(_ journal: Journal) -> Migration {
        Migration()
            .dropping("Person.name")
            .step(
                "split names",
                before: { database in
                    journal.add("before 1")
                    #expect(try database.has("Person", "name") && !database.has("Team"))
                    try database.execute("CREATE TEMP TABLE names AS SELECT id, name FROM Person")
                },
                after: { database in
                    journal.add("after 1")
                    try database.forEach("SELECT id, name FROM names") { row in
                        let parts = try row.get("name", as: String.self)!.split(separator: " ").map(String.init)
                        let last: String? = parts.count > 1 ? parts[1] : nil
                        try database.execute(
                            "UPDATE Person SET first = ?, last = coalesce(?, '-') WHERE id = ?",
                            parts[0],
                            last,
                            try row.get("id", as: Int64.self)
                        )
                    }
                    try database.execute("DROP TABLE names")
                }
            )
            .step("nothing", before: { _ in journal.add("before 2") }, after: nil)
            .step("a team of all") { database in
                journal.add("after 3")
                let people = try database.rows("SELECT id FROM Person ORDER BY id")
                let ids = try database.newIDs(people.count + 1)
                let values = [people[0]["id"], people[0]["no"]]
                #expect(values[0] != .null && values[1] == .null)
                try database.execute("INSERT INTO Team (id, name) VALUES (?, ?)", ids.lowerBound, "all")
                for (id, person) in zip(ids.dropFirst(), people) {
                    try database.execute(
                        "INSERT INTO Person_teams (id, \"left\", \"right\") VALUES (?, ?, ?)",
                        id,
                        try person.get("id", as: Int64.self),
                        ids.lowerBound
                    )
                }
            }
    }

    @Test("Steps run once, in their order, before and after the tables are changed")
    func steps() async throws {
        let folder = try ScratchFolder()
        let url = try await make(folder)
        let journal = Journal()
        let migration = Self.migration(journal)
        let before = try folder.image()
        let plan = try await migration.plan(for: .sqlite(url), models: Next.models)
        #expect(try folder.image() == before)
        #expect(plan.steps == ["split names", "nothing", "a team of all"] && plan.needsBackup)
        #expect(plan.rewritten == ["Person"])
        for _ in 0..<2 {
            let people = try await folder.with(url, Next.models, migration) { context in
                let team = try context.first(Next.Team.all)!
                let found = try team.people.sorted { $0.first }.fetch().map { "\($0.first) \($0.last)" }
                return found
            }
            #expect(people == ["Ada Lovelace", "Alan Turing", "Plato -"])
        }
        #expect(journal.all == ["before 1", "before 2", "after 1", "after 3"])
        #expect(
            try folder.rows(url, "SELECT position, name FROM strata_steps ORDER BY position") == [
                "1|split names", "2|nothing", "3|a team of all",
            ]
        )

        // A new store does not need the steps. One further step runs alone.
        let other = folder.file("other.sqlite")
        try await folder.with(other, Next.models, migration) { _ in }
        #expect(journal.all.count == 4)
        let more = migration.step("more") { _ in journal.add("after 4") }
        for place in [url, other] { try await folder.with(place, Next.models, more) { _ in } }
        #expect(journal.all.dropFirst(4) == ["after 4", "after 4"])
        // No other object gets an id that a step took.
        try await folder.with(url, Next.models, more) { context in
            let team = context.insert(Next.Team(name: "new"))
            try context.commit()
            #expect(team.id.rawValue > 65_536)
        }

        // Without the last step, or with a smaller version, the program is older than the store.
        try await folder.expectRefusal(url, Next.models, migration, .newerStore, "'more'")
        try await folder.with(url, Next.models, Self.versioned(more, 3)) { _ in }
        try await folder.expectRefusal(url, Next.models, Self.versioned(more, 2), .newerStore, "version 3", "have 2")
    }

    private static func versioned(_ migration: Migration, _ version: Int) -> Migration {
        migration.steps.reduce(Migration(version: version)) { $0.step($1.name, before: $1.before, after: $1.after) }
    }

    struct Trouble: Error {}

    /// SQLite itself ends the transaction because of the constraint's conflict clause. The step continues as if nothing
    /// had happened.
    private static let endTransaction: @Sendable (MigrationDatabase) throws -> Void = { database in
        let first = try database.rows("SELECT min(id) AS id FROM Person")[0].get("id", as: Int64.self)
        #expect(throws: StrataError.self) {
            try database.execute("INSERT OR ROLLBACK INTO Person (id, name) VALUES (?, 'x')", first)
        }
        try database.execute("UPDATE Person SET name = 'committed'")
    }

    @Test("A step that throws, changes tables or touches the transaction leaves the store unchanged")
    func failures() async throws {
        let folder = try ScratchFolder()
        let url = try await make(folder)
        let base = Migration().backup(.none).dropping("Person.name")
        let cases: [(Migration, String)] = [
            (base.step("a", before: { try $0.execute("ALTER TABLE Person ADD COLUMN x") }, after: nil), "'Person'"),
            (base.step("a") { try $0.execute("CREATE INDEX i ON Person (last)") }, "'i'"),
            (base.step("a") { try $0.execute("DROP TABLE strata_lineage") }, "'strata_lineage'"),
            (base.step("a") { try $0.execute(" -- end\n /* x */ COMMIT") }, "one statement"),
            (base.step("a") { try $0.execute(";;COMMIT") }, "one statement"),
            (base.step("a") { try $0.execute(" \u{B}; \u{FEFF} -- x\n;RELEASE a") }, "one statement"),
            (base.step("a") { try $0.execute("\u{FEFF}END") }, "one statement"),
            (base.step("a") { try $0.execute("DELETE FROM Person; DELETE FROM Team") }, "one statement"),
            (base.step("a", before: Self.endTransaction, after: nil), "ended the transaction"),
            (base.step("a") { try $0.execute("UPDATE Person SET first = ? || ?", "x") }, "2 question marks"),
            (base.step("a") { _ = try $0.rows("SELECT 1", 2) }, "0 question marks"),
            (base.step("a") { _ = try $0.newIDs(-1) }, "-1 ids"),
            (base.step("a") { _ = try $0.newIDs(.max) }, "\(Int.max) ids"),
            (base.step("a") { _ = try $0.newIDs(1 << 48) }, "\(1 << 48) ids"),
            (base.step("a") { try $0.execute("CREATE TEMP TABLE person (x)") }, "temporary 'person'"),
            (
                base.step("a", before: { try $0.execute("CREATE TEMP VIEW Team AS SELECT 1") }, after: nil),
                "temporary 'Team'"
            ),
            (base.step("a") { try $0.execute("CREATE TEMP TABLE strata_store (x)") }, "temporary 'strata_store'"),
            (base.step("a") { try $0.execute("") }, "one statement"),
            (base.step("a") { _ in }.step("a") { _ in }, "two steps"),
            (base.step("a") { _ = try $0.rows("SELECT 'x' AS n")[0].get("n", as: Int.self) }, "is not of type Int"),
            (
                base.step("a") { try $0.execute("SELECT no FROM Person") },
                "(SELECT no FROM Person): SQLite says: no such column"
            ),
        ]
        for (migration, text) in cases {
            let before = try folder.image()
            let error = await folder.error(url, Next.models, migration) as? StrataError
            #expect(error?.message.contains(text) == true, "\(text): \(String(describing: error))")
            #expect(text == "two steps" || error?.message.contains("step 'a'") == true, "\(String(describing: error))")
            #expect(try folder.image() == before, "\(text)")
        }
        let own = await folder.error(url, Next.models, base.step("a") { _ in throw Trouble() })
        #expect(own is Trouble)
        try await folder.with(url, [First.Person.self]) { context in
            let count = try context.count(First.Person.all)
            #expect(count == 3)
        }
    }

    @Test("The error of a statement in the loop over another one names only the inner statement")
    func nestedStatements() async throws {
        let folder = try ScratchFolder()
        let url = try await make(folder)
        let migration = Migration().backup(.none).step("loop") { database in
            try database.forEach("SELECT id FROM Person") { _ in
                try database.execute("INSERT INTO Person (id, name) VALUES (1, NULL)")
            }
        }
        let error = await folder.error(url, [First.Person.self], migration) as? StrataError
        let text = try #require(error?.message)
        #expect(text.hasPrefix("The step 'loop' has failed: A statement was refused (INSERT INTO Person"), "\(text)")
        #expect(!text.contains("SELECT id"), "\(text)")
    }

    @Test("New stores, and stores that have run a step, accept it as retired; other stores are refused")
    func retired() async throws {
        let folder = try ScratchFolder()
        let models: [any Model.Type] = [First.Person.self]
        let (old, seen, new) = (try await make(folder), folder.file("seen.sqlite"), folder.file("new.sqlite"))
        let journal = Journal()
        let listing = Migration().step("one") { _ in journal.add("one") }.step("two") { _ in journal.add("two") }
        try FileManager.default.copyItem(at: old, to: seen)
        try await folder.with(seen, models, listing) { _ in }
        #expect(journal.all == ["one", "two"])

        let retiring = Migration().retired("one").step("two") { _ in journal.add("again") }
        for _ in 0..<2 {
            for url in [seen, new] { try await folder.with(url, models, retiring) { _ in } }
        }
        // Older and newer programs open these stores too.
        for migration in [listing, Migration().retired("one", "two")] {
            for url in [seen, new] { try await folder.with(url, models, migration) { _ in } }
        }
        #expect(journal.all == ["one", "two"])
        try await folder.expectRefusal(old, models, retiring, .schemaMismatch, "'one' have not run on the store")
        try await folder.expectRefusal(seen, models, Migration(), .newerStore, "'one', 'two'")
        let plan = try await retiring.plan(for: .sqlite(old), models: models)
        #expect(plan.refusals.count == 1 && plan.steps == ["two"])
        let lines = plan.description.split(separator: "\n")
        #expect(lines.count == 4 && lines[0].hasPrefix("refused: The steps 'one' have not run"), "\(plan)")
        #expect(lines[1].hasPrefix("nothing is changed") && lines[2] == "run step 'two'", "\(plan)")
        try await folder.expectRefusal(old, models, retiring.step("one", after: nil), .invalidSchema, "two steps")
    }

    @Test("A migration is a commit of unknown changes: earlier tokens expire, and later ones are valid")
    func tokens() async throws {
        let folder = try ScratchFolder()
        let url = try await make(folder)
        let models: [any Model.Type] = [First.Person.self]
        let token = try await token(url, models)
        #expect(try await self.token(url, models) == token)
        let migration = Migration().step("one") { try $0.execute("UPDATE Person SET name = 'x'") }
        let stack = try await ContextStack.open(.sqlite(url), models: models, stack: .rootOnly, migration: migration)
        let error = await #expect(throws: StrataError.self) { _ = try await stack.history(since: token) }
        #expect(error?.code == .expiredToken && error?.message.contains("a migration has changed the store") == true)
        let next = stack.historyToken
        #expect(next > token)
        try await stack.background { context in
            context.insert(First.Person(name: "Grace"))
            try context.commit()
        }
        let missed = try await stack.history(since: next)
        #expect(missed.count == 1)
        try await stack.close()
    }

    private func token(_ url: URL, _ models: [any Model.Type]) async throws -> HistoryToken {
        let stack = try await ContextStack.open(.sqlite(url), models: models, stack: .rootOnly)
        let token = stack.historyToken
        try await stack.close()
        return token
    }

    @Test("Temporary tables are gone after the migration, except those that a pool had before")
    func temporary() async throws {
        let folder = try ScratchFolder()
        let url = folder.file("own.sqlite")
        let pool = try DatabasePool(path: url.path)
        try await pool.writeWithoutTransaction { try $0.execute(sql: "CREATE TEMP TABLE mine (x)") }
        let migration = Migration().step("a") { database in
            try database.execute("CREATE TEMP TABLE kept (id INTEGER PRIMARY KEY, x UNIQUE)")
            try database.execute("CREATE TEMP VIEW seen AS SELECT id FROM kept")
            try database.execute("CREATE TEMP TRIGGER t AFTER INSERT ON kept BEGIN SELECT 1; END")
        }
        for migration in [Migration(), migration] {
            let stack = try await ContextStack.open(
                .pool(pool),
                models: [First.Person.self],
                stack: .rootOnly,
                migration: migration
            )
            try await stack.close()
        }
        let names = try await pool.writeWithoutTransaction {
            try String.fetchAll($0, sql: "SELECT name FROM sqlite_temp_schema")
        }
        #expect(names == ["mine"])
        try pool.close()
    }

    @Test("A step can take all ids that are left")
    func ids() async throws {
        let folder = try ScratchFolder()
        let url = try await make(folder)
        // The rest is left for the objects of the store.
        let room: Int64 = (1 << 48) - (1 << 32)
        let migration = Migration().step("a") { database in
            let first = try database.newIDs(0).lowerBound
            let all = try database.newIDs(Int(room - first))
            #expect(all == first..<room)
        }
        for _ in 0..<2 { try await folder.with(url, [First.Person.self], migration) { _ in } }
    }
}
