import Foundation
import TestHomeTraits
import Testing

@testable import Strata

@Suite("Cursors")
struct StreamingTests {
    private func filled(_ count: Int, _ setUp: StackSetUp = .rootOnly) async throws -> ContextStack {
        let stack = try await openStack(setUp)
        try await stack.background { context in
            for number in 0..<count { context.insert(Article(title: "T\(number)", views: number)) }
            try context.commit()
        }
        return stack
    }

    @Test("A cursor returns the context's own objects in the order of the query, pending ones included")
    func objects() async throws {
        try await filled(5).background { context in
            let fresh = context.insert(Article(title: "new", views: 9))
            context.delete(try #require(try context.first(Article.where { $0.views == 1 })))
            let held = try #require(try context.first(Article.where { $0.views == 2 }))
            held.title = "edited"
            var titles: [String] = []
            try context.forEach(Article.sorted { $0.views.descending }) { article in
                titles.append(article.title)
                if article.title == "new" { #expect(article === fresh) }
                if article.title == "edited" { #expect(article === held) }
            }
            #expect(titles == ["new", "T4", "T3", "edited", "T0"])
            var rows: [String] = []
            try context.forEachRow(Article.sorted { $0.views }) { rows.append($0.title) }
            #expect(rows == titles.reversed())
        }
    }

    @Test("Unedited objects that the program does not hold leave the context along the way")
    func boundedObjects() async throws {
        try await filled(20_000).background { context in
            var most = 0
            var count = 0
            var held: [Article] = []
            try context.forEach(Article.all) { article in
                count += 1
                if count % 1_000 == 0 { held.append(article) }
                if count % 2_000 == 0 { article.title = "edited" }
                most = max(most, context.live.identity.count)
            }
            #expect(count == 20_000)
            #expect(most < 2_100)
            #expect(try context.count(Article.where { $0.title == "edited" }) == 10)
            #expect(held.filter { $0.title == "edited" }.count == 10)
            #expect(try held.allSatisfy { try context.find($0.id) === $0 })
        }
    }

    @Test("Every object can be edited in the loop, with saves and queries in it, and each edit is committed")
    func edits() async throws {
        let stack = try await filled(3_000)
        try await stack.background { context in
            var count = 0
            try context.forEach(Article.all) { article in
                article.views += 1
                count += 1
                if count % 700 == 0 { try context.commit() }
                if count % 500 == 0 { #expect(try context.count(Article.where { $0.title == article.title }) == 1) }
            }
            try context.commit()
        }
        try await stack.background { context in
            let found71 = try context.sum(Article.all, \.views)
            #expect(found71 == (0..<3_000).reduce(0, +) + 3_000)
        }
    }

    @Test(
        "A cursor chooses its objects at the start: later inserts and matches do not come, and deleted objects are left out"
    )
    func settled() async throws {
        let stack = try await filled(6)
        try await stack.background { context in
            var seen: [String] = []
            var isFirst = true
            try context.forEach(Article.where { $0.views < 5 }.sorted { $0.views }) { article in
                seen.append("\(article.title) \(article.views)")
                guard isFirst else { return }
                isFirst = false
                context.insert(Article(title: "new", views: 0))
                let others = try context.fetch(Article.where { $0.views > 0 }.sorted { $0.views })
                others[0].views = 100
                context.delete(others[1])
                others[4].views = 3
                try context.save()
                context.delete(others[3])
            }
            #expect(seen == ["T0 0", "T1 100", "T3 3"])
        }
    }

    @Test("Objects show other contexts' commits once the context does; rows stay unchanged")
    func othersCommit() async throws {
        let stack = try await filled(4)
        let other = try stack.create(.private, named: .other)
        try await stack.background { context in
            let cursor = try context.cursor(Article.all)
            let rows = try context.rowCursor(Article.all)
            #expect(try cursor.next()?.views == 0)
            #expect(try rows.next()?.views == 0)
            try await other.perform { other in
                for article in try other.fetch(Article.where { $0.views > 0 }) { article.views += 10 }
                other.delete(try #require(try other.first(Article.where { $0.title == "T3" })))
                try other.commit()
            }
            // A context that waits for another block sees the changes of that block.
            let objects = try (0..<3).map { _ in try cursor.next() }
            #expect(objects.map { $0?.views } == [11, 12, nil])
            let values = try (0..<4).map { _ in try rows.next() }
            #expect(values.map { $0?.views } == [1, 2, 3, nil])
        }
    }

    @Test("An object that was edited, published and released shows its edit when the cursor reaches it")
    func editedAhead() async throws {
        try await filled(5_000).background { context in
            var last = ""
            var count = 0
            try context.forEach(Article.all) { article in
                count += 1
                if count == 1 {
                    try #require(try context.first(Article.where { $0.views == 4_999 })).title = "edited"
                    #expect(try context.exists(Article.where { $0.title == "edited" }))
                }
                last = article.title
            }
            #expect(last == "edited")
        }
    }

    @Test("Cursors can be nested, over the same query too")
    func nested() async throws {
        try await filled(30).background { context in
            var pairs = 0
            try context.forEach(Article.all) { outer in
                try context.forEach(Article.all) { inner in if inner.views < outer.views { pairs += 1 } }
            }
            #expect(pairs == 30 * 29 / 2)
        }
    }

    @Test("A cursor returns its reader at the end, at a close, at an error, and when it is released")
    func readers() async throws {
        struct Stop: Error {}
        let stack = try await filled(10)
        let before = try openDescriptors()
        try await stack.background { context in
            _ = try context.count(Article.self)
            for _ in 0..<200 {
                #expect(throws: Stop.self) { try context.forEach(Article.all) { _ in throw Stop() } }
                _ = try context.cursor(Article.all).next()
                let cursor = try context.rowCursor(Article.all)
                cursor.close()
                #expect(try cursor.next() == nil)
                #expect(throws: StrataError.self) { try context.cursor(Article.all.limit(-1)) }
            }
            let before = try context.currentConnection().statementCount
            try context.forEach(Article.all) { _ in }
            #expect(try context.currentConnection().statementCount == before)
        }
        #expect(try openDescriptors() < before + 40)
    }

    @Test("A cursor of a context that has ended throws")
    func ended() async throws {
        let stack = try await filled(3, .standard)
        let named = try stack.create(.private, named: .other)
        try await named.perform { context in
            let cursor = try context.cursor(Article.all)
            _ = try cursor.next()
            context.state[KeptCursor.self] = cursor
        }
        try await named.perform { context in
            let cursor = try #require(context.state[KeptCursor.self])
            #expect(try cursor.next()?.title == "T1")
            context.end()
            let error = #expect(throws: StrataError.self) { try cursor.next() }
            #expect(error?.code == .contextInvalidated)
        }
    }

    private enum KeptCursor: ContextStateKey { typealias Value = ObjectCursor<Article> }

    @Test(
        "Reading a million rows, and as many objects, needs less than 30 MB",
        .aboutTheFile("changes rows of the file from outside")
    )
    func memory() async throws {
        let folder = try ScratchFolder()
        let file = folder.file("s.sqlite")
        try await ContextStack.open(.sqlite(file), models: allModels, stack: .rootOnly).close()
        try folder.sql(
            file,
            """
            WITH RECURSIVE n(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < 1000000)
            INSERT INTO Article (id, title, body, views, published, _version)
            SELECT n, 'title', printf('%0100d', n), n, 0, 0 FROM n
            """
        )
        let stack = try await ContextStack.open(.sqlite(file), models: allModels, stack: .rootOnly)
        let peak = try await stack.background { context in
            try context.forEachRow(Article.where { $0.views < 1_000 }) { _ in }
            let start = Memory.residentBytes
            var most = 0
            var count = 0
            try context.forEachRow(Article.all) { _ in
                count += 1
                if count % 10_000 == 0 { most = max(most, Memory.residentBytes - start) }
            }
            try context.forEach(Article.sorted { $0.views.descending }) { article in
                count += 1
                if count % 10_000 == 0 { most = max(most, Memory.residentBytes - start) }
            }
            #expect(count == 2_000_000)
            return most
        }
        #expect(peak < 30_000_000 * Memory.room)
    }
}
