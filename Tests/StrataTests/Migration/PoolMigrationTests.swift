import Foundation
import GRDB
import Synchronization
import TestHomeTraits
import Testing

@testable import Strata

@Suite("Migrations in a user's own DatabasePool", .aboutTheFile("migrates a user's own database"))
struct PoolMigrationTests {
    private func open(_ pool: DatabasePool, _ models: [any Model.Type], _ migration: Migration) async throws
        -> ContextStack
    {
        try await ContextStack.open(.pool(pool), models: models, stack: .rootOnly, migration: migration)
    }

    @Test("The user's tables, views, foreign keys and version stay unchanged, and observers hear of the migration")
    func beside() async throws {
        let folder = try ScratchFolder()
        let pool = try DatabasePool(path: folder.file("own.sqlite").path)
        try await pool.write {
            try $0.execute(sql: "PRAGMA user_version = 17; CREATE TABLE strange (_version INTEGER)")
        }
        let first = try await open(pool, Library1.models, Migration())
        try await first.background { try Library1.fill($0) }
        let before = try await first.background { try LibraryContent(first: $0) }
        try await first.close()
        let own = """
            CREATE TABLE loan (article INTEGER REFERENCES "Article" ("id") ON DELETE CASCADE, \
            author INTEGER REFERENCES "Author" ("id") ON DELETE CASCADE, days INTEGER);
            INSERT INTO loan SELECT "id", "author", 7 FROM "Article";
            CREATE VIEW slugs AS SELECT "slug" FROM "Article"
            """
        try await pool.write { try $0.execute(sql: own) }
        let entries =
            "SELECT name, replace(sql, 'people', 'Author') FROM sqlite_schema WHERE tbl_name IN ('loan', 'slugs', 'strange')"
        let (rows, schema) = try pool.read { db in
            (try Row.fetchAll(db, sql: "SELECT * FROM loan"), try Row.fetchAll(db, sql: entries))
        }
        let heard = Mutex(0)
        let observation = DatabaseRegionObservation(tracking: Table("Article"))
        let cancellable = observation.start(in: pool, onError: { _ in }, onChange: { _ in heard.withLock { $0 += 1 } })

        let second = try await open(pool, Library2.models, Library2.migration)
        let after = try await second.background { try LibraryContent(second: $0) }
        #expect(after == before)
        cancellable.cancel()
        #expect(heard.withLock { $0 } == 1)
        let (rowsAfter, schemaAfter) = try pool.read { db in
            (try Row.fetchAll(db, sql: "SELECT * FROM loan"), try Row.fetchAll(db, sql: entries))
        }
        #expect(rowsAfter == rows && schemaAfter == schema)
        let values = try await pool.write { db in
            try db.execute(sql: "DELETE FROM people WHERE id = (SELECT min(author) FROM loan)")
            return [
                try Int.fetchOne(db, sql: "PRAGMA user_version"), try Int.fetchOne(db, sql: "PRAGMA foreign_keys"),
                try Int.fetchOne(db, sql: "SELECT count(*) FROM loan"),
                try Int.fetchOne(db, sql: "SELECT count(*) FROM slugs"),
                try Int.fetchOne(db, sql: "PRAGMA legacy_alter_table"),
            ]
        }
        #expect(values == [17, 1, 8, 12, 0])
        try await second.close()
        try pool.close()
        #expect(try folder.image().keys.contains("own.sqlite.before-migration-1"))
    }

    enum Small {
        @Model final class Tag {
            var label: String
        }
    }

    @Test(
        "The engine does not drop a table that the user's foreign keys reference, and a new table takes no user's name"
    )
    func refused() async throws {
        let folder = try ScratchFolder()
        let pool = try DatabasePool(path: folder.file("own.sqlite").path)
        let first = try await open(
            pool,
            [
                Small.Tag.self, Library2.Review.self, Library2.Article.self, Library2.Person.self, Library2.Label.self,
                Library2.Portrait.self,
            ],
            Migration()
        )
        try await first.close()
        try await pool.write {
            try $0.execute(sql: "CREATE TABLE own (review INTEGER REFERENCES \"Review\" (\"id\"))")
        }
        let migration = Migration().dropping("Review", "Article", "Person", "Label", "Portrait")
        let error = await #expect(throws: StrataError.self) {
            try await open(pool, [Small.Tag.self], migration).close()
        }
        #expect(error?.message.contains("foreign keys of own") == true, "\(String(describing: error))")
        try await pool.write { try $0.execute(sql: "DROP TABLE own") }
        try await open(pool, [Small.Tag.self], migration).close()

        try await pool.write { try $0.execute(sql: "CREATE TABLE review (x)") }
        let taken = await #expect(throws: StrataError.self) {
            try await open(pool, [Small.Tag.self] + Library2.models, migration).close()
        }
        #expect(taken?.message.contains("'Review'") == true, "\(String(describing: taken))")
        let tables = try await pool.read {
            try String.fetchAll(
                $0,
                sql: "SELECT name FROM sqlite_schema WHERE name NOT LIKE 'strata%' AND name NOT LIKE 'sqlite%'"
            )
        }
        #expect(tables.sorted() == ["Tag", "review"])
        try pool.close()
    }

    @Test("A step that leaves a user's row with a dangling foreign key is refused")
    func foreignKeys() async throws {
        let folder = try ScratchFolder()
        let pool = try DatabasePool(path: folder.file("own.sqlite").path)
        let first = try await open(pool, [Small.Tag.self], Migration())
        try await first.background { context in
            for label in ["kept", "gone"] { context.insert(Small.Tag(label: label)) }
            try context.commit()
        }
        try await first.close()
        try await pool.write {
            try $0.execute(sql: "CREATE TABLE note (tag INTEGER REFERENCES \"Tag\" (\"id\"))")
            try $0.execute(sql: "INSERT INTO note SELECT \"id\" FROM \"Tag\"")
        }
        // The migration ignores references that were dangling before.
        try await pool.writeWithoutTransaction {
            try $0.execute(sql: "PRAGMA foreign_keys = OFF; INSERT INTO note VALUES (77); PRAGMA foreign_keys = ON")
        }
        let migration = Migration().backup(.none).step("a") { try $0.execute("DELETE FROM Tag WHERE label = 'gone'") }
        let error = await #expect(throws: StrataError.self) {
            try await open(pool, [Small.Tag.self], migration).close()
        }
        #expect(error?.code == .missingReference)
        #expect(error?.message.contains("note (row 2) to Tag") == true, "\(String(describing: error))")
        let state = try await pool.read { db in
            [
                try Int.fetchOne(db, sql: "SELECT count(*) FROM \"Tag\""),
                try Int.fetchOne(db, sql: "PRAGMA foreign_keys"),
            ]
        }
        #expect(state == [2, 1])
        let whole = Migration().step("a") { database in
            try database.execute("DELETE FROM note WHERE tag IN (SELECT id FROM Tag WHERE label = 'gone')")
            try database.execute("DELETE FROM Tag WHERE label = 'gone'")
        }
        try await open(pool, [Small.Tag.self], whole).close()
        try pool.close()
    }
}
