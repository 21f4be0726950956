import Foundation
import Testing

@testable import Strata

@Suite("Groups and sections")
struct GroupTests {
    private func filled() async throws -> ContextStack {
        let stack = try await openStack(.rootOnly)
        try await stack.background { context in
            let ursula = context.insert(Author(name: "Ursula", fee: 2))
            let octavia = context.insert(Author(name: "Octavia", fee: 3))
            for (title, views, length, author) in [
                ("A", 1, 10, ursula), ("B", 2, nil, ursula), ("C", 3, 30, octavia), ("D", 4, 40, octavia),
                ("E", 5, nil, octavia), ("F", 6, 60, nil),
            ] as [(String, Int, Int?, Author?)] {
                context.insert(
                    Article(title: title, views: views, length: length, published: views % 2 == 0, author: author)
                )
            }
            try context.commit()
        }
        return stack
    }

    @Test("A query groups by one key, with counts and totals, in the order of the key, nil first")
    func oneKey() async throws {
        try await filled().background { context in
            let groups = try context.groups(Article.grouped { $0.author.name }) {
                ($0.count, $0.sum(\.views), $0.average(\.length), $0.minimum(\.title), $0.maximum { $0.views * 2 })
            }
            #expect(groups.map(\.key) == [nil, "Octavia", "Ursula"])
            #expect(groups.map(\.values.0) == [1, 3, 2])
            #expect(groups.map(\.values.1) == [6, 12, 3])
            #expect(groups.map(\.values.2) == [60, 35, 10])
            #expect(groups.map(\.values.3) == ["F", "C", "A"])
            #expect(groups.map(\.values.4) == [12, 10, 4])
        }
    }

    @Test("Two and three keys are tuples, and a query can sort by each of them")
    func severalKeys() async throws {
        try await filled().background { context in
            let query = Article.all.grouped { ($0.published, $0.author.name) }
                .sorted { [$0.key.1.descending, $0.key.0.ascending] }
            var lines: [String] = []
            for (key, count) in try context.groups(query, \.count) { lines.append("\(key.1 ?? "-") \(key.0) \(count)") }
            #expect(lines == ["Ursula false 1", "Ursula true 1", "Octavia false 2", "Octavia true 1", "- true 1"])
            let three = try context.groups(
                Article.grouped { ($0.published, $0.author.name, $0.views) }.limit(1)
            ) { $0.count }
            #expect(three.map(\.key.2) == [3])
        }
    }

    @Test("Groups by a to-one relationship have ids as keys")
    func relationshipKey() async throws {
        try await filled().background { context in
            let groups = try context.groups(Article.grouped { $0.author }) { $0.count }
            let authors = try groups.map { try $0.key.flatMap { try context.find($0) }?.name }
            #expect(authors == [nil, "Ursula", "Octavia"])
            let ursula = try #require(try context.first(Author.named.where { $0.name == "Ursula" }))
            let own = try context.groups(Article.grouped { $0.author }.having { $0.key == ursula.id }) { $0.count }
            #expect(own.map(\.values) == [2])
        }
    }

    @Test("Groups can be filtered with having, sorted by their totals, limited and offset")
    func having() async throws {
        try await filled().background { context in
            let query = Article.grouped { $0.author.name }
            func keys<Columns>(_ query: GroupedQuery<Article, String?, Columns>) throws -> [String?] {
                try context.groups(query) { $0.count }.map(\.key)
            }
            let found75 = try keys(query.having { $0.count > 1 })
            #expect(found75 == ["Octavia", "Ursula"])
            let found76 = try keys(query.having { $0.count > 1 && $0.sum(\.views) < 10 })
            #expect(found76 == ["Ursula"])
            let found77 = try keys(query.having { $0.count > 1 }.having { $0.key.hasPrefix("O") })
            #expect(found77 == ["Octavia"])
            let found78 = try keys(query.having { !($0.average(\.length) > 20) })
            #expect(found78 == ["Ursula"])
            let found79 = try keys(query.sorted { $0.count.descending })
            #expect(found79 == ["Octavia", "Ursula", nil])
            let found80 = try keys(query.sorted { $0.sum(\.views) })
            #expect(found80 == ["Ursula", nil, "Octavia"])
            let found81 = try keys(query.sorted { $0.key.descending }.limit(1))
            #expect(found81 == ["Ursula"])
            let found82 = try keys(query.limit(1).offset(1))
            #expect(found82 == ["Octavia"])
        }
    }

    @Test("A group counts the objects that meet a condition, and the distinct values")
    func counts() async throws {
        try await filled().background { context in
            let groups = try context.groups(Article.grouped { $0.published }) {
                ($0.count(where: { $0.views > 2 }), $0.count { $0.author }, $0.count(distinct: \.author.name))
            }
            #expect(groups.map(\.key) == [false, true])
            #expect(groups.map(\.values.0) == [2, 2])
            #expect(groups.map(\.values.1) == [2, 2])
            #expect(groups.map(\.values.2) == [2, 2])
        }
    }

    @Test("Groups see unsaved changes, and the grouped objects respect conditions, limit, offset and distinct")
    func pending() async throws {
        try await filled().background { context in
            context.insert(Article(title: "G", views: 100, published: true))
            try #require(try context.first(Article.where { $0.title == "A" })).views = 50
            context.delete(try #require(try context.first(Article.where { $0.title == "C" })))
            func sums(_ query: Query<Article>) throws -> [Int] {
                try context.groups(query.grouped { $0.published }) { $0.sum(\.views) }.map(\.values)
            }
            #expect(try sums(.init()) == [55, 112])
            #expect(try sums(Article.where { $0.views < 60 }) == [55, 12])
            #expect(try sums(Article.sorted { $0.views.descending }.limit(3)) == [50, 106])
            #expect(try sums(Article.sorted { $0.views.descending }.limit(2).offset(1)) == [50, 6])
            #expect(try sums(Article.where { $0.views == 1_000 }) == [])
            context.insert(Article(title: "H", views: 100, published: true))
            #expect(try sums(Article.all.distinct()) == [55, 112])
        }
    }

    @Test("A sum that is too large, and a negative limit, are errors of the query")
    func refused() async throws {
        try await filled().background { context in
            let error = #expect(throws: StrataError.self) {
                try context.groups(Article.grouped { $0.published }.limit(-1)) { $0.count }
            }
            #expect(error?.code == .invalidQuery)
            for title in ["X", "Y"] { context.insert(Article(title: title, views: .max, author: nil)) }
            let overflow = #expect(throws: StrataError.self) {
                try context.groups(Article.grouped { $0.author }) { $0.sum(\.views) }
            }
            #expect(overflow?.code == .invalidQuery)
            let small = #expect(throws: StrataError.self) {
                try context.groups(Article.grouped { Column<Article, Int8>.sql("\($0.views)") }) { $0.count }
            }
            #expect(small?.code == .undecodable)
        }
    }

    // MARK: Sections

    @Test("Sections are in the order of their key, which takes precedence over the sorts")
    func sections() async throws {
        try await filled().background { context in
            func check(_ sections: [QuerySection<String?, Article>], _ expected: String) {
                let found = sections.map { "\($0.key ?? "-"):" + $0.elements.map(\.title).joined() }
                #expect(found.joined(separator: " ") == expected)
            }
            let query = Article.sorted { $0.views.descending }
            check(try context.sections(query) { $0.author.name }, "-:F Octavia:EDC Ursula:BA")
            check(try context.sections(Article.all, by: \.author.name), "-:F Octavia:CDE Ursula:AB")
            let down = Article.sorted { [$0.author.name.descending.nilsLast, $0.title.descending] }
            check(try context.sections(down, by: \.author.name), "Ursula:BA Octavia:EDC -:F")
            check(try context.sections(query.limit(3), by: \.author.name), "-:F Octavia:ED")
            let found142 = try context.sections(Article.where { $0.views > 10 }, by: \.author.name).isEmpty
            #expect(found142)
        }
    }

    @Test("Sections see unsaved changes and return the context's own objects; sections of rows are values")
    func pendingSections() async throws {
        try await filled().background { context in
            let fresh = context.insert(Article(title: "G", views: 7, published: true))
            try #require(try context.first(Article.where { $0.title == "A" })).published = true
            let sections = try context.sections(Article.all, by: \.published)
            #expect(sections.map(\.key) == [false, true])
            #expect(sections.map { $0.elements.map(\.title).joined() } == ["CE", "ABDFG"])
            #expect(sections[1].elements.last === fresh)
            let rows = try context.rowSections(Article.all, by: \.author)
            #expect(rows.map(\.elements.count) == [2, 2, 3])
        }
    }
}
