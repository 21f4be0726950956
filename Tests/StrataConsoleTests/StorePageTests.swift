import Foundation
import Hummingbird
import HummingbirdTesting
import Strata
import StrataCloud
import StrataInspection
import StrataPipeline
import Testing

@testable import StrataConsole

@Suite("Pages of a store's objects", .timeLimit(.minutes(1))) struct StorePageTests {
    private func row(_ id: Int64) -> String { "/object?table=Book&id=\(id)" }

    @Test("The page of the store shows models with counts, sizes, history and schema")
    func store() async throws {
        let shop = try ShopFixture()
        try await shop.make(["a", "b", "c"])
        try await shop.run { client, _ in
            let page = try await client.get("/store")
            #expect(page.status == .ok)
            #expect(page.link("Book") == "/table?table=Book")
            #expect(page.text.contains(#"<td class="number">3</td>"#))
            #expect(page.text.contains("model Book\n") && page.text.contains("shop.sqlite"))
            #expect(page.text.contains("commits 1 to 1") && page.text.contains("editor"))
            #expect(page.text.contains("Other processes"))
        }
    }

    @Test("Rows of a table are paged by id, while objects come and go")
    func paging() async throws {
        let shop = try ShopFixture()
        try await shop.make((1...60).map { "Book \($0)" })
        try await shop.run(models: Shop.models) { client, stack in
            let first = try await client.get("/table?table=Book")
            let shown = first.numbers(after: "object?table=Book&amp;id=")
            #expect(shown.count == TablePage.pageSize)
            #expect(first.link("First") == nil)
            let next = try #require(first.link("Next"))
            try await stack.background { context in
                let books = try context.fetch(Shop.Book.sorted { $0.id.ascending })
                context.delete(books[0])
                context.delete(books[55])
                context.insert(Shop.Book(title: "new"))
                try context.commit()
            }
            let second = try await client.get(next)
            let rest = second.numbers(after: "object?table=Book&amp;id=")
            #expect(rest.count == 10)
            #expect(Set(shown).isDisjoint(with: rest))
            #expect(second.link("First") == "/table?table=Book" && second.link("Next") == nil)
        }
    }

    @Test("Markup, a megabyte, blobs, broken UTF-8 and values of other types are shown")
    func hostile() async throws {
        let shop = try ShopFixture()
        let long = String(repeating: "x", count: 1_000_000)
        try await shop.make(["<script>alert(1)</script>", long, "broken", "typed", ""])
        try ForeignChanges.run(
            shop.url,
            #"UPDATE "Book" SET "title" = CAST(x'61ff62' AS TEXT) WHERE "title" = 'broken'"#,
            #"UPDATE "Book" SET "pages" = '<b>' WHERE "title" = 'typed'"#,
            #"UPDATE "Book" SET "cover" = zeroblob(300000) WHERE "title" = ''"#
        )
        try await shop.run { client, _ in
            let page = try await client.get("/table?table=Book")
            #expect(page.status == .ok)
            #expect(page.body.readableBytes < 100_000)
            let text = page.text
            #expect(text.contains("&lt;script&gt;alert(1)&lt;/script&gt;") && !text.contains("<script>alert"))
            #expect(text.contains("cut, 1000000 bytes") && text.contains("not UTF-8"))
            #expect(text.contains("&lt;b&gt;") && text.contains("cut, 300000 bytes") && text.contains("empty text"))
            for id in page.numbers(after: "object?table=Book&amp;id=") {
                let object = try await client.get(row(id))
                #expect(object.status == .ok)
                #expect(object.body.readableBytes < 100_000)
                #expect(object.text.contains("<td>title</td>") && !object.text.contains("<script>alert"))
            }
        }
    }

    @Test("References are links, unless their object is missing")
    func references() async throws {
        let shop = try ShopFixture()
        let stack = try await shop.open()
        try await stack.background { context in
            let shelf = context.insert(Shop.Shelf(name: "fiction"))
            context.insert(Shop.Book(title: "there", shelf: shelf))
            context.insert(Shop.Book(title: "lost", shelf: shelf))
            try context.commit()
        }
        try await stack.close()
        try ForeignChanges.run(shop.url, #"UPDATE "Book" SET "shelf" = 4711 WHERE "title" = 'lost'"#)
        try await shop.run { client, _ in
            let ids = try await client.get("/table?table=Book").numbers(after: "object?table=Book&amp;id=")
            #expect(ids.count == 2)
            let (first, last) = (try #require(ids.first), try #require(ids.last))
            let there = try await client.get(row(first))
            let shelf = try #require(there.numbers(after: "object?table=Shelf&amp;id=").first)
            let target = try await client.get("/object?table=Shelf&id=\(shelf)")
            #expect(target.text.contains("fiction"))
            let lost = try await client.get(row(last))
            #expect(lost.text.contains("missing in Shelf"))
            #expect(lost.numbers(after: "object?table=Shelf&amp;id=").isEmpty)
            let missing = try await client.get("/object?table=Shelf&id=4711")
            #expect(missing.status == .notFound)
        }
    }

    @Test(
        "Unknown tables, tables of SQLite and of Strata, and unknown rows are not found",
        arguments: [
            "/table?table=Nothing", "/table?table=book", "/table?table=sqlite_schema", "/table?table=SQLITE_master",
            "/table?table=strata_history", "/table?table=Book%22%20WHERE%201", "/table?table=", "/table?table=%00",
            "/object?table=strata_store&id=1", "/object?table=Book&id=999", "/object?table=Book&id=9223372036854775807",
        ]
    )
    func unknown(_ path: String) async throws {
        let shop = try ShopFixture()
        try await shop.make(["a"])
        try await shop.run { client, _ async throws in
            #expect(try await client.get(path).status == .notFound)
        }
    }

    @Test("Missing and broken values of the query are refused")
    func queries() async throws {
        let shop = try ShopFixture()
        try await shop.make(["a"])
        try await shop.run { client, _ async throws in
            for path in ["/table", "/table?table=Book&after=x", "/object?table=Book", "/object?table=Book&id=0"] {
                #expect(try await client.get(path).status == .badRequest)
            }
        }
    }

    @Test("Every statement looks rows up by a key or an index")
    func plans() async throws {
        let shop = try ShopFixture()
        let stack = try await shop.open(models: Shop.models + CloudAccount.models)
        let record = try await stack.storeRecord()
        let book = try #require(StoredTable(named: "Book", in: record))
        let columns = book.columns[...]
        let statements: [SQL] = [
            book.select(columns, after: 7, length: 10, limit: 5), book.select(columns, id: 7, length: 10),
            book.selectExistence(of: 7), RecordedCommit.select(before: 7, limit: 5, largest: 10),
            RecordedCommit.select(7, largest: 10), AccountSQL.accounts(after: 7, limit: 5),
            AccountSQL.operationCount(of: "cloud.alice", .pending), AccountSQL.conflictCount(of: "alice"),
            AccountSQL.conflicts(of: "alice", after: 7, limit: 5),
        ]
        try await stack.background { context in
            for sql in statements {
                let plan = try context.rows("EXPLAIN QUERY PLAN \(sql)").map { try $0.value(String.self, "detail") }
                #expect(plan.contains { $0.hasPrefix("SEARCH") }, "\(plan)")
                #expect(!plan.contains { $0.hasPrefix("SCAN") && !$0.contains("subquery") }, "\(plan)")
                #expect(!plan.contains { $0.contains("TEMP B-TREE") }, "\(plan)")
            }
        }
        try await stack.close()
    }
}
