import Foundation
import Hummingbird
import HummingbirdTesting
import Strata
import Testing

@testable import StrataConsole

@Suite("Pages of commits", .timeLimit(.minutes(1))) struct CommitPageTests {
    private static let commitLink = "commit?sequence="

    @Test("Commits are listed with author and counts, and one commit with its objects and columns")
    func commits() async throws {
        let shop = try ShopFixture()
        try await shop.make(["a", "b", "c"])
        try await shop.run(models: Shop.models) { client, stack in
            try await stack.background { context in
                let books = try context.fetch(Shop.Book.sorted { $0.id.ascending })
                books[0].title = "A"
                books[1].title = "B"
                books[1].pages = 9
                context.delete(books[2])
                context.insert(Shop.Shelf(name: "<shelf>"))
                try context.commit()
            }
            let list = try await client.get("/commits")
            #expect(list.status == .ok)
            #expect(list.text.contains(#"id="commits" data-live"#))
            #expect(list.text.contains("<td>Book +3</td>") && list.text.contains("<td>Book ~2 -1, Shelf +1</td>"))
            #expect(list.text.contains("editor"))
            #expect(list.numbers(after: Self.commitLink) == [2, 1])
            let commit = try await client.get("/commit?sequence=2")
            #expect(commit.status == .ok)
            #expect(commit.text.contains("<td>pages, title</td>") || commit.text.contains("<td>title, pages</td>"))
            #expect(commit.text.contains("<td>title</td>"))
            for kind in ["inserted", "updated", "deleted"] { #expect(commit.text.contains(">\(kind)</span>")) }
            // The deleted book is not a link.
            #expect(commit.numbers(after: "object?table=Book&amp;id=").count == 2)
            #expect(commit.link("Earlier") == "/commit?sequence=1" && commit.link("Later") == nil)
        }
    }

    @Test("Older commits follow without gaps, while commits arrive")
    func paging() async throws {
        let shop = try ShopFixture()
        let stack = try await shop.open()
        for number in 1...60 { try await ShopFixture.add(["\(number)"], to: stack) }
        try await stack.close()
        try await shop.run(models: Shop.models) { client, stack in
            let first = try await client.get("/commits")
            let (newer, older): ([Int64], [Int64]) = ((11...60).reversed(), (1...10).reversed())
            #expect(first.numbers(after: Self.commitLink) == newer)
            let next = try #require(first.link("Older"))
            try await ShopFixture.add(["new"], to: stack)
            let second = try await client.get(next)
            #expect(second.numbers(after: Self.commitLink) == older)
            #expect(second.link("Older") == nil && second.link("Newest") == "/commits")
            let newest = try await client.get("/commits")
            #expect(newest.numbers(after: Self.commitLink).first == 61)
        }
    }

    @Test("The objects of a large commit are paged, each once")
    func largeCommit() async throws {
        let shop = try ShopFixture()
        try await shop.make((1...250).map { "\($0)" })
        try await shop.run { client, _ in
            var ids: [Int64] = []
            for page in 1...3 {
                let answer = try await client.get("/commit?sequence=1&page=\(page)")
                ids += answer.numbers(after: "object?table=Book&amp;id=")
            }
            #expect(ids.count == 250 && Set(ids).count == 250)
            let end = try await client.get("/commit?sequence=1&page=4")
            #expect(end.text.contains("no further objects"))
        }
    }

    @Test("Unknown commits are not found, and broken numbers are refused")
    func unknown() async throws {
        let shop = try ShopFixture()
        try await shop.make(["a"])
        try await shop.run { client, _ async throws in
            #expect(try await client.get("/commit?sequence=2").status == .notFound)
            #expect(try await client.get("/commit?sequence=9223372036854775807").status == .notFound)
            #expect(try await client.get("/commit").status == .badRequest)
            #expect(try await client.get("/commit?sequence=-1").status == .badRequest)
            #expect(try await client.get("/commits?before=x").status == .badRequest)
            #expect(try await client.get("/commits?before=1").text.contains("no earlier commits"))
        }
    }

    @Test("Damaged, missing and very large records of commits are shown as such")
    func damaged() async throws {
        let shop = try ShopFixture()
        let stack = try await shop.open()
        for number in 1...4 { try await ShopFixture.add(["\(number)"], to: stack) }
        try await stack.close()
        try ForeignChanges.run(
            shop.url,
            "UPDATE strata_history SET changes = x'ff' WHERE sequence = 1",
            "UPDATE strata_history SET changes = zeroblob(200000) WHERE sequence = 2",
            "UPDATE strata_history SET changes = NULL WHERE sequence = 3"
        )
        try await shop.run { client, _ in
            let list = try await client.get("/commits")
            #expect(list.numbers(after: Self.commitLink) == [4, 3, 2, 1])
            #expect(list.text.contains("the record of the changes is damaged"))
            #expect(list.text.contains("195.3 KiB of changes") && list.text.contains("unknown: a migration"))
            for sequence in 1...3 {
                let commit = try await client.get("/commit?sequence=\(sequence)")
                #expect(commit.status == .ok)
                #expect(commit.text.contains("The changes are not shown"))
            }
        }
    }
}
