import Foundation
import HTTPTypes
import Hummingbird
import Strata
import Testing

@testable import PressKit

@Suite("Articles, authors and comments") struct ArticleTests {
    @Test("An article is added, read, edited and deleted", .timeLimit(.minutes(1)))
    func lifeOfArticle() async throws {
        try await PressFixture.run { _, client in
            let author = try await client.addAuthor()
            let added = try await client.addArticle("Rivers", by: author)
            #expect(added.status == .created)
            let address = try #require(added.headers[.location])
            #expect(address == "/articles/\(added.text("id") ?? "")")
            #expect(added.text("publishedAt") != nil)

            let read = try await client.send(.get, address)
            #expect(read.status == .ok)
            #expect(read.eTag == added.eTag)
            #expect(read.text("body") == "About Rivers.")
            let known = try await client.send(.get, address, headers: [.ifNoneMatch: "W/\(read.eTag), \"9\""])
            #expect(known.status == .notModified)
            #expect(known.body.isEmpty)

            let draft = PressClient.article("Lakes", by: author)
            let edited = try await client.send(.put, address, draft, headers: [.ifMatch: read.eTag])
            #expect(edited.status == .ok)
            #expect(edited.text("title") == "Lakes")
            #expect(edited.text("publishedAt") == added.text("publishedAt"))
            #expect(edited.eTag != read.eTag)
            #expect(try await client.send(.get, address, headers: [.ifNoneMatch: read.eTag]).status == .ok)

            #expect(
                try await client.send(.delete, address, headers: [.ifMatch: read.eTag]).status == .preconditionFailed
            )
            #expect(try await client.send(.delete, address, headers: [.ifMatch: edited.eTag]).status == .noContent)
            #expect(try await client.send(.get, address).status == .notFound)
        }
    }

    @Test("Of two editors who have read the same version, one gets 412", .timeLimit(.minutes(1)))
    func twoEditors() async throws {
        try await PressFixture.run { fixture, client in
            let author = try await client.addAuthor()
            let added = try await client.addArticle("Rivers", by: author)
            let address = try #require(added.headers[.location])
            let statuses = try await withThrowingTaskGroup(of: Int.self) { group in
                for number in 1...8 {
                    group.addTask {
                        let draft = PressClient.article("Rivers \(number)", by: author)
                        return try await client.send(.put, address, draft, headers: [.ifMatch: added.eTag]).status.code
                    }
                }
                return try await group.reduce(into: []) { $0.append($1) }
            }
            #expect(statuses.sorted() == [200] + Array(repeating: 412, count: 7))
            let version = try await fixture.press.stack.background { context in
                try context.column(Article.all, \.version)
            }
            #expect(version == [2])
        }
    }

    @Test("An edit without If-Match gets 428", .timeLimit(.minutes(1)))
    func missingCondition() async throws {
        try await PressFixture.run { _, client in
            let author = try await client.addAuthor()
            let address = try #require(try await client.addArticle("Rivers", by: author).headers[.location])
            let draft = PressClient.article("Lakes", by: author)
            let answer = try await client.send(.put, address, draft)
            #expect(answer.status == .preconditionRequired)
            #expect(answer.headers[.contentType] == "application/problem+json")
            #expect(try await client.send(.delete, address).status == .preconditionRequired)
            #expect(try await client.send(.put, address, draft, headers: [.ifMatch: "*"]).status == .ok)
        }
    }

    @Test("A published article does not become a draft again", .timeLimit(.minutes(1)))
    func unpublishing() async throws {
        try await PressFixture.run { _, client in
            let author = try await client.addAuthor()
            let added = try await client.addArticle("Rivers", by: author)
            let address = try #require(added.headers[.location])
            let draft = PressClient.article("Lakes", by: author, isPublished: false)
            let answer = try await client.send(.put, address, draft, headers: [.ifMatch: added.eTag])
            #expect(answer.status == .conflict)
            #expect(try await client.send(.get, address).text("title") == "Rivers")
        }
    }

    @Test("Pages of a list have each article once while others are added", .timeLimit(.minutes(1)))
    func pages() async throws {
        try await PressFixture.run { _, client in
            let author = try await client.addAuthor()
            for number in 1...10 { _ = try await client.addArticle("Old \(number)", by: author) }
            var titles: [String] = []
            var next: String? = "/articles?size=3"
            while let address = next {
                let page = try await client.send(.get, address)
                #expect(page.status == .ok)
                #expect(page.items.allSatisfy { $0["body"] == nil })
                titles += page.items.compactMap { $0["title"] as? String }
                next = page.text("next")
                _ = try await client.addArticle("New \(titles.count)", by: author)
            }
            #expect(titles.count == 10)
            #expect(Set(titles) == Set((1...10).map { "Old \($0)" }))
        }
    }

    @Test("Drafts are not listed and not found by searches", .timeLimit(.minutes(1)))
    func drafts() async throws {
        try await PressFixture.run { _, client in
            let author = try await client.addAuthor()
            _ = try await client.addArticle("Published rivers", by: author)
            _ = try await client.addArticle("Secret rivers", by: author, isPublished: false)
            #expect(try await client.send(.get, "/articles").items.count == 1)
            let found = try await client.send(.get, "/search?q=river")
            #expect(found.items.compactMap { $0["title"] as? String } == ["Published rivers"])
            let snippet = try #require(found.items.first?["snippet"] as? [[String: Any]])
            let matches = snippet.filter { $0["isMatch"] as? Bool == true }
            #expect(matches.compactMap { $0["text"] as? String } == ["rivers"])
        }
    }

    @Test("Comments belong to an article, and go with it", .timeLimit(.minutes(1)))
    func comments() async throws {
        try await PressFixture.run { fixture, client in
            let author = try await client.addAuthor()
            let article = try await client.addArticle("Rivers", by: author)
            let address = try #require(article.headers[.location])
            for number in 1...3 {
                let json = #"{"name": "Bob", "text": "Comment \#(number)"}"#
                #expect(try await client.send(.post, address + "/comments", json).status == .created)
            }
            let page = try await client.send(.get, address + "/comments?size=2")
            #expect(page.items.compactMap { $0["text"] as? String } == ["Comment 1", "Comment 2"])
            let rest = try await client.send(.get, try #require(page.text("next")))
            #expect(rest.items.count == 1)
            #expect(rest.text("next") == nil)

            let id = try #require(rest.items[0]["id"] as? String)
            let comment = try await client.send(.get, "/comments/\(id)")
            let json = #"{"name": "Bob", "text": "Better"}"#
            let edited = try await client.send(.put, "/comments/\(id)", json, headers: [.ifMatch: comment.eTag])
            #expect(edited.text("text") == "Better")

            #expect(try await client.send(.delete, address, headers: [.ifMatch: article.eTag]).status == .noContent)
            #expect(try await client.send(.get, address + "/comments").status == .notFound)
            let left = try await fixture.press.stack.background { context in try context.count(Comment.all) }
            #expect(left == 0)
        }
    }

    @Test("An author with articles cannot be deleted", .timeLimit(.minutes(1)))
    func authors() async throws {
        try await PressFixture.run { _, client in
            let (first, second) = (try await client.addAuthor(), try await client.addAuthor("bob@example.com"))
            _ = try await client.addArticle("Rivers", by: first)
            #expect(try await client.send(.delete, "/authors/\(first)", headers: [.ifMatch: "*"]).status == .conflict)
            let author = try await client.send(.get, "/authors/\(second)")
            let json = #"{"name": "Bob", "email": "ada@example.com"}"#
            let taken = try await client.send(.put, "/authors/\(second)", json, headers: [.ifMatch: author.eTag])
            #expect(taken.status == .conflict)
            let deleted = try await client.send(.delete, "/authors/\(second)", headers: [.ifMatch: author.eTag])
            #expect(deleted.status == .noContent)
            #expect(try await client.send(.get, "/authors").items.count == 1)
        }
    }
}
