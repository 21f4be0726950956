import Foundation
import Testing

@testable import Strata

@Suite("Prefetching")
struct PrefetchTests {
    private func filled() async throws -> ContextStack {
        let stack = try await openStack(.rootOnly)
        try await stack.background { context in
            for name in ["Ursula", "Octavia", "Nobody"] {
                let author = context.insert(Author(name: name))
                for number in 0..<(name == "Nobody" ? 0 : 3) {
                    let article = context.insert(Article(title: "\(name) \(number)", body: name, author: author))
                    context.insert(Citation(journal: "J\(number)", article: article))
                }
                let writer = context.insert(Writer(name: name))
                for number in 0..<2 {
                    let spouse = context.insert(Spouse(name: "\(name) \(number)"))
                    writer.spouses.insert(spouse)
                }
                try writer.spouses.move(try #require(try writer.spouses.last), before: try writer.spouses.first)
                let contract = context.insert(Contract(title: name))
                contract.seal = Seal(color: name)
            }
            try context.commit()
        }
        return stack
    }

    /// Counts the statements that a context runs.
    private struct Counter {
        let connection: Connection
        var last: Int

        init(_ context: ObjectContext) throws {
            connection = try context.currentConnection()
            last = connection.statementCount
        }

        /// The number of statements since the last call.
        mutating func take() -> Int {
            defer { last = connection.statementCount }
            return connection.statementCount - last
        }
    }

    @Test("Prefetching a to-one relationship takes one query, and reading it takes none")
    func toOne() async throws {
        try await filled().background { context in
            var counter = try Counter(context)
            let articles = try context.fetch(Article.including { $0.author })
            #expect(counter.take() == 2)
            let names = articles.map { $0.author?.name }
            #expect(counter.take() == 0)
            #expect(names == ["Ursula", "Ursula", "Ursula", "Octavia", "Octavia", "Octavia"])
            // All of the related objects are known.
            _ = try context.fetch(Article.including { $0.author })
            #expect(counter.take() == 1)
        }
    }

    @Test("Prefetching a to-many relationship takes one query, and fetch, count, isEmpty, first and last take none")
    func toMany() async throws {
        try await filled().background { context in
            var counter = try Counter(context)
            let authors = try context.fetch(Author.including { $0.articles })
            #expect(counter.take() == 2)
            let members = try authors.map { try $0.articles.fetch() }
            let counts = try authors.map { try $0.articles.count }
            let empty = try authors.map { try $0.articles.isEmpty }
            let first = try authors.map { try $0.articles.first?.title }
            let last = try authors.map { try $0.articles.last?.title }
            #expect(members.map(\.count) == [3, 3, 0])
            #expect(members[0].allSatisfy { $0.author === authors[0] })
            #expect(counts == [3, 3, 0])
            #expect(empty == [false, false, true])
            #expect(first == ["Ursula 0", "Octavia 0", nil])
            #expect(last == ["Ursula 2", "Octavia 2", nil])
            #expect(counter.take() == 0)
            // Another order or another condition needs another query.
            let sorted = try authors[0].articles.sorted { $0.title.descending }.fetch()
            let some = try authors[0].articles.where { $0.title == "Ursula 1" }.count
            #expect(sorted.first?.title == "Ursula 2")
            #expect(some == 1)
            #expect(counter.take() == 2)
        }
    }

    @Test("Prefetching supports ordered many-to-many from both sides, and one-to-one from the side without a column")
    func otherKinds() async throws {
        try await filled().background { context in
            var counter = try Counter(context)
            let writers = try context.fetch(Writer.including { $0.spouses })
            let spouses = try context.fetch(Spouse.including { $0.writers })
            let contracts = try context.fetch(Contract.including { $0.seal })
            let seals = try context.fetch(Seal.including { $0.contract.seal })
            _ = counter.take()
            #expect(try writers[0].spouses.fetch().map(\.name) == ["Ursula 1", "Ursula 0"])
            #expect(try writers[1].spouses.first?.name == "Octavia 1")
            for spouse in spouses {
                let names = try spouse.writers.fetch().map(\.name)
                #expect(names == [String(spouse.name.dropLast(2))])
            }
            #expect(contracts.map { $0.seal?.color } == ["Ursula", "Octavia", "Nobody"])
            #expect(seals.map { $0.contract?.seal?.color } == ["Ursula", "Octavia", "Nobody"])
            #expect(counter.take() == 0)
        }
    }

    @Test("Prefetching several and nested relationships takes one query for each")
    func nested() async throws {
        try await filled().background { context in
            var counter = try Counter(context)
            let authors = try context.fetch(
                Author.including { $0.articles.including { $0.citations } }.including { $0.articles }
            )
            #expect(counter.take() == 3)
            _ = counter.take()
            for author in authors {
                for article in try author.articles.fetch() {
                    #expect(try article.citations.count == 1)
                    #expect(article.author === author)
                }
            }
            #expect(counter.take() == 0)
        }
        try await filled().background { context in
            var counter = try Counter(context)
            let query = Citation.including { $0.article.author.articles }.including { $0.article }
            let citations = try context.fetch(query.limit(4))
            #expect(counter.take() == 4)
            let counts = try citations.map { try $0.article?.author?.articles.count }
            #expect(counts == [3, 3, 3, 3])
            #expect(counter.take() == 0)
        }
    }

    @Test("Edits that cannot change who is a member keep prefetched members; other edits cause a new read")
    func edits() async throws {
        try await filled().background { context in
            var counter = try Counter(context)
            let authors = try context.fetch(Author.including { $0.articles })
            _ = counter.take()
            for author in authors { for article in try author.articles.fetch() { article.views += 1 } }
            #expect(counter.take() == 0)
            func titles(_ author: Author) throws -> [String] { try author.articles.fetch().map(\.title) }
            let moved = try authors[0].articles.fetch()[0]
            moved.author = authors[2]
            #expect(try titles(authors[0]) == ["Ursula 1", "Ursula 2"])
            #expect(try titles(authors[2]) == ["Ursula 0"])

            _ = try context.fetch(Author.including { $0.articles })
            context.insert(Article(title: "new", author: authors[1]))
            #expect(try titles(authors[1]).last == "new")

            _ = try context.fetch(Author.including { $0.articles })
            context.delete(moved)
            #expect(try titles(authors[2]).isEmpty)
            #expect(try authors[2].articles.isEmpty)

            _ = try context.fetch(Author.including { $0.articles })
            context.rollback()
            #expect(try titles(authors[0]).count == 3)
        }
    }

    @Test("Members that are added, removed or moved in a many-to-many relationship are read again")
    func editedMembers() async throws {
        try await filled().background { context in
            func names(_ writer: Writer) throws -> [String] { try writer.spouses.fetch().map(\.name) }
            let writers = try context.fetch(Writer.including { $0.spouses })
            let other = try #require(try writers[1].spouses.first)
            writers[0].spouses.insert(other)
            #expect(try names(writers[0]) == ["Ursula 1", "Ursula 0", "Octavia 1"])
            _ = try context.fetch(Writer.including { $0.spouses })
            try writers[0].spouses.move(other, before: try writers[0].spouses.first)
            #expect(try names(writers[0]) == ["Octavia 1", "Ursula 1", "Ursula 0"])
            _ = try context.fetch(Writer.including { $0.spouses })
            writers[0].spouses.remove(other)
            #expect(try names(writers[0]) == ["Ursula 1", "Ursula 0"])
            _ = try context.fetch(Writer.including { $0.spouses })
            context.delete(try #require(try writers[0].spouses.first))
            #expect(try names(writers[0]) == ["Ursula 0"])
        }
    }

    @Test("Prefetched relationships show other contexts' commits, and nothing is kept beyond the block")
    func otherViews() async throws {
        let stack = try await filled()
        let other = try stack.create(.private, named: .other)
        try await stack.background { context in
            let authors = try context.fetch(Author.including { $0.articles })
            try await other.perform { other in
                let author = try #require(try other.first(Author.where { $0.name == "Nobody" }))
                other.insert(Article(title: "new", author: author))
                try other.commit()
            }
            #expect(try authors[2].articles.fetch().map(\.title) == ["new"])
        }
        try await stack.on(.root) { context in
            _ = try context.fetch(Author.including { $0.articles.including { $0.author } })
        }
        try await stack.on(.root) { context in
            #expect(context.reading.snapshot?.prefetched.isEmpty ?? true)
            #expect(context.live.identity.count == 0)
        }
    }

    @Test("Scopes, first and last, sections and cursors prefetch too")
    func otherResults() async throws {
        try await filled().background { context in
            var counter = try Counter(context)
            let first = try #require(try context.first(Author.all.merging(Author.including { $0.articles })))
            _ = counter.take()
            let count = try first.articles.count
            #expect(count == 3)
            #expect(counter.take() == 0)
            let sections = try context.sections(Author.including { $0.articles }, by: \.name)
            _ = counter.take()
            let members = try sections[1].elements[0].articles.count
            #expect(members == 3)
            #expect(counter.take() == 0)
            _ = counter.take()
            try context.forEach(Author.including { $0.articles.including { $0.citations } }) { author in
                for article in try author.articles.fetch() { #expect(try article.citations.count == 1) }
            }
            #expect(counter.take() == 2)
        }
    }

    @Test("A cursor prefetches in portions, and leaves out objects deleted meanwhile")
    func portions() async throws {
        let stack = try await openStack(.rootOnly)
        try await stack.background { context in
            for number in 0..<600 {
                let author = context.insert(Author(name: "\(number)"))
                context.insert(Article(title: "\(number)", author: author))
            }
            try context.commit()
        }
        try await stack.background { context in
            var counter = try Counter(context)
            var count = 0
            try context.forEach(Author.including { $0.articles }) { author in
                count += 1
                let title = try author.articles.first?.title
                #expect(title == author.name)
            }
            #expect(count == 600)
            #expect(counter.take() == 3)
            count = 0
            try context.forEach(Author.including { $0.articles }) { author in
                count += 1
                if count == 1 {
                    for other in try context.fetch(Author.where { $0.name.length < 3 }) { context.delete(other) }
                }
            }
            #expect(count == 501)
        }
    }
}
