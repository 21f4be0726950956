import Foundation
import Testing

@testable import Strata

@Suite("Results of queries")
struct QueryResultTests {
    let store: TestStore

    init() throws {
        store = try TestStore()
        for name in ["eecummings", "Eliot", "dante"] { try store.insert(Author.self, ["name": name]) }
    }

    @Test("Texts sort by their bytes, so capitals come first")
    func binaryOrder() throws {
        #expect(try store.texts(Author.sorted { $0.name.ascending }, \.name) == ["Eliot", "dante", "eecummings"])
        #expect(
            try store.texts(Author.sorted { $0.name.ascending(.caseInsensitive) }, \.name) == [
                "dante", "eecummings", "Eliot",
            ]
        )
    }

    @Test("`limit` and `offset` select a slice of the sorted objects")
    func slices() throws {
        let sorted = Author.sorted { $0.name.ascending }
        #expect(try store.texts(sorted.limit(1), \.name) == ["Eliot"])
        #expect(try store.texts(sorted.offset(1), \.name) == ["dante", "eecummings"])
        #expect(try store.texts(sorted.offset(1).limit(1), \.name) == ["dante"])
        #expect(try store.count(sorted.limit(2)) == 2)
        #expect(try store.count(sorted.offset(2).limit(5)) == 1)
        #expect(try store.count(sorted.limit(0)) == 0)
    }

    @Test("A query compiles to the expected SQL and returns the expected rows")
    func shown() throws {
        try store.run("UPDATE Author SET fee = 2.5 WHERE name = 'Eliot'")
        #expect(
            try store.show(Author.where { !($0.fee > 3) && $0.name != "dante" }.sorted { $0.fee.descending }.limit(2))
                == """
                SELECT t0."id", t0."name", t0."fee" FROM "Author" AS t0 \
                WHERE (t0."fee" > ?1) IS NOT TRUE AND t0."name" <> ?2 ORDER BY t0."fee" DESC, t0."id" LIMIT ?3
                2 | 'Eliot' | 2.5
                1 | 'eecummings' | NULL
                """
        )
        #expect(
            try store.show(Author.where { $0.articles.isEmpty && $0.name.in(["dante", "x", "y"]) }) == """
                SELECT t0."id", t0."name", t0."fee" FROM "Author" AS t0 \
                WHERE NOT EXISTS (SELECT 1 FROM "Article" AS t1 WHERE t1."author" = t0."id") \
                AND t0."name" IN (?1, ?2, ?3, ?4) ORDER BY t0."id"
                3 | 'dante' | NULL
                """
        )
    }

    @Test("`where` selects the matching objects")
    func filter() throws { #expect(try store.texts(Author.where { $0.name == "dante" }, \.name) == ["dante"]) }

    @Test("`first` and `last` return one or two objects, in the order of the query")
    func ends() throws {
        let query = Author.sorted { $0.name.ascending }
        func names(_ shape: ResultShape, _ query: Query<Author>) throws -> [StoredValue] {
            try store.rows(query, shape).map { $0["name"] }
        }
        #expect(try names(.first(1), query) == [.text("Eliot")])
        #expect(try names(.first(2), query) == [.text("Eliot"), .text("dante")])
        #expect(try names(.last(1), query) == [.text("eecummings")])
        #expect(try names(.last(2), query) == [.text("dante"), .text("eecummings")])
        #expect(try names(.last(2), Author.all) == [.text("Eliot"), .text("dante")], "without a sort, of creation")
    }

    @Test("Without a sort, objects come in the order of their ids, which also breaks ties")
    func order() throws {
        try store.insert(Author.self, ["name": "early"], number: 900)
        try store.insert(Author.self, ["name": "between"], number: 800)
        #expect(try store.texts(Author.all, \.name) == ["eecummings", "Eliot", "dante", "between", "early"])
        try store.run("UPDATE Author SET fee = 1")
        #expect(try store.numbers(Author.sorted { $0.fee.descending }) == [1, 2, 3, 800, 900], "ties by id")
    }

    @Test("`last` of an empty result is empty")
    func nothing() throws { #expect(try store.rows(Article.all, .last(1)).isEmpty) }

    @Test("`first`, `last` and `exists` respect `limit` and `offset`")
    func endsOfSlices() throws {
        for name in ["a", "b", "c", "d"] { try store.insert(Author.self, ["name": name]) }
        let query = Author.where { $0.name.length == 1 }.sorted { $0.name.ascending }
        func names(_ shape: ResultShape, _ query: Query<Author>) throws -> [StoredValue] {
            try store.rows(query, shape).map { $0["name"] }
        }
        #expect(try names(.last(1), query.limit(2)) == [.text("b")])
        #expect(try names(.last(2), query.limit(3)) == [.text("b"), .text("c")])
        #expect(try names(.last(1), query.offset(1)) == [.text("d")])
        #expect(try names(.first(1), query.offset(3)) == [.text("d")])
        #expect(try names(.first(5), query.limit(2)) == [.text("a"), .text("b")])
        #expect(try store.integer(query.offset(4), .exists) == 0)
        #expect(try store.integer(query.offset(3), .exists) == 1)
        #expect(try store.integer(query.limit(0), .exists) == 0)
    }

    @Test("`last` returns all objects if it asks for more than there are")
    func lastOfMany() throws { #expect(try store.rows(Author.all, .last(10)).map(\.id.rawValue) == [1, 2, 3]) }

    @Test("A `where` after a `limit` filters before the limit applies")
    func whereAfterLimit() throws {
        #expect(try store.texts(Author.all.limit(1).where { $0.name == "dante" }, \.name) == ["dante"])
    }

    @Test("`nil` comes first ascending and last descending, unless the sort says otherwise")
    func nils() throws {
        try store.run("UPDATE Author SET fee = id WHERE id > 1")
        #expect(try store.numbers(Author.sorted { $0.fee.ascending }) == [1, 2, 3])
        #expect(try store.numbers(Author.sorted { $0.fee.ascending.nilsLast }) == [2, 3, 1])
        #expect(try store.numbers(Author.sorted { $0.fee.descending }) == [3, 2, 1])
        #expect(try store.numbers(Author.sorted { $0.fee.descending.nilsFirst }) == [1, 3, 2])
        #expect(try store.rows(Author.sorted { $0.fee.ascending.nilsLast }, .last(1)).map(\.id.rawValue) == [1])
        #expect(
            try store.rows(Author.sorted { $0.fee.ascending.nilsLast }.limit(2), .last(1)).map(\.id.rawValue) == [3]
        )
    }

    @Test("Distinct values keep the order of their first occurrence, and the limit counts distinct values")
    func distinct() throws {
        try store.run("DELETE FROM Author")
        for name in ["b", "a", "b", "c", "a"] { try store.insert(Author.self, ["name": name]) }
        #expect(try store.texts(Author.all.distinct(), \.name) == ["b", "a", "c"])
        #expect(try store.texts(Author.sorted { $0.name.descending }.distinct().limit(2), \.name) == ["c", "b"])
    }
}

@Suite("Aggregates")
struct AggregateTests {
    let store: TestStore

    init() throws {
        store = try TestStore()
        try store.insert(Author.self, ["name": "foo", "fee": 1.0])
        try store.insert(Author.self, ["name": "foo", "fee": 2.0])
        try store.insert(Author.self, ["name": "bar", "fee": 3.0])
        for length in 1...4 {
            try store.insert(Article.self, ["slug": "s", "title": "t", "views": 0, "length": length])
        }
    }

    @Test("Aggregates compute the sum, average, minimum and maximum")
    func doubles() throws {
        #expect(try store.aggregate(.sum, Author.all, \.fee) == .real(6))
        #expect(try store.aggregate(.average, Author.all, \.fee) == .real(2))
        #expect(try store.aggregate(.minimum, Author.all, \.fee) == .real(1))
        #expect(try store.aggregate(.maximum, Author.all, \.fee) == .real(3))
    }

    @Test("The sum of integers is an integer")
    func integers() throws { #expect(try store.aggregate(.sum, Article.all, \.length) == .integer(10)) }

    @Test("A sum respects conditions, limits and distinct, and is null for no rows")
    func narrowed() throws {
        #expect(try store.aggregate(.sum, Author.where { $0.name == "foo" }, \.fee) == .real(3))
        #expect(try store.aggregate(.sum, Author.sorted { $0.fee.descending }.limit(2), \.fee) == .real(5))
        #expect(try store.aggregate(.sum, Author.where { $0.name == "nobody" }, \.fee) == .null)
        try store.insert(Author.self, ["name": "again", "fee": 3.0])
        #expect(try store.aggregate(.sum, Author.all, \.fee) == .real(9))
        #expect(try store.aggregate(.sum, Author.all.distinct(), \.fee) == .real(6))
    }

    @Test("Decimal values are summed exactly and compared as numbers")
    func decimals() throws {
        try store.run("DELETE FROM Article")
        for price in ["0.1", "0.2", "10", "9.5", "-3"] {
            try store.insert(Article.self, ["slug": "s", "title": "t", "views": 0, "price": Decimal(string: price)!])
        }
        #expect(try store.aggregate(.sum, Article.all, \.price) == .text("16.8"))
        #expect(try store.aggregate(.average, Article.all, \.price) == .text("3.36"))
        #expect(try store.aggregate(.minimum, Article.all, \.price) == .text("-3"))
        #expect(try store.aggregate(.maximum, Article.all, \.price) == .text("10"))
        #expect(
            try store.values(Article.sorted { $0.price.ascending }, \.price)
                == ["-3", "0.1", "0.2", "9.5", "10"].map { .text($0) }
        )
        #expect(try store.count(Article.where { $0.price > 9 }) == 2)
        #expect(try store.count(Article.where { $0.price == Decimal(string: "10.0")! }) == 1)
        #expect(try store.count(Article.where { $0.price.in([10, 9.5]) }) == 2)
        #expect(try store.count(Article.where { $0.price.in((5..<50).map { Decimal($0) }) }) == 1)
        #expect(try store.values(Article.where { $0.price > 9 }.distinct(), \.price) == [.text("10"), .text("9.5")])
    }

    @Test("UInt64 values beyond Int64.max sort, compare and add up")
    func unsigned() throws {
        try store.run("DELETE FROM Article")
        for size in [UInt64.max - 1, 5, UInt64(Int64.max), UInt64(Int64.max) + 1] {
            try store.insert(Article.self, ["slug": "s", "title": "t", "views": 0, "size": size])
        }
        func sizes(_ query: Query<Article>) throws -> [UInt64?] {
            try store.values(query, \.size).map { UInt64(storedValue: $0) }
        }
        #expect(try sizes(Article.sorted { $0.size.ascending }) == [5, 1 << 63 - 1, 1 << 63, .max - 1])
        #expect(
            try sizes(Article.where { $0.size > UInt64(Int64.max) }.sorted { $0.size.ascending }) == [
                1 << 63, .max - 1,
            ]
        )
        #expect(try store.count(Article.where { $0.size.in((0..<40).map { UInt64.max - $0 }) }) == 1)
        let small = Article.where { $0.size.in([5, UInt64(Int64.max)]) }
        #expect(UInt64(storedValue: try store.aggregate(.sum, small, \.size)) == 1 << 63 + 4)
        #expect(throws: StrataError.self) { try store.aggregate(.sum, Article.all, \.size) }
    }
}
