import Foundation
import Testing

@testable import Strata

@Suite("Predicates")
struct PredicateTests {
    let store: TestStore

    init() throws {
        store = try TestStore()
        let none: String? = nil
        try store.insert(
            Article.self,
            ["slug": "one", "title": "one", "views": 1, "length": 1, "subtitle": none, "kind": Kind.essay]
        )
        try store.insert(
            Article.self,
            [
                "slug": "two", "title": "Two", "views": 2, "subtitle": "Two",
                "publishedAt": Date(timeIntervalSinceReferenceDate: 9),
            ]
        )
        try store.insert(
            Article.self,
            ["slug": "three", "title": "three", "views": 3, "length": 3, "subtitle": "other", "kind": Kind.poem]
        )
    }

    private func numbers(_ condition: (Article.Columns) -> Condition<Article>) throws -> [Int64] {
        try store.numbers(Article.where(condition))
    }

    @Test("Equality works as in Swift: nil equals nil, and nil is not equal to a value")
    func equality() throws {
        #expect(try numbers { $0.length == 1 } == [1])
        #expect(try numbers { $0.length != 1 } == [2, 3])
        #expect(try numbers { $0.length == nil } == [2])
        #expect(try numbers { $0.length != nil } == [1, 3])
        let absent: Int? = nil
        #expect(try numbers { $0.length == absent } == [2])
        #expect(try numbers { $0.views == absent } == [])
        #expect(try numbers { $0.views != absent } == [1, 2, 3])
        #expect(try numbers { $0.kind == .essay } == [1])
        #expect(try numbers { $0.kind != .essay } == [2, 3])
    }

    @Test("A comparison with nil is false, and its negation is true")
    func negation() throws {
        #expect(try numbers { $0.length > 1 } == [3])
        #expect(try numbers { !($0.length > 1) } == [1, 2])
        #expect(try numbers { !($0.length > 1 || $0.length < 3) } == [2])
        #expect(try numbers { !($0.length.in([1, 3])) } == [2])
        #expect(try numbers { !$0.subtitle.contains("o") } == [1])
        #expect(try numbers { !(!($0.length > 1)) } == [3])
        #expect(try numbers { !($0.views > 1) } == [1])
    }

    @Test("Conditions on ranges and lists select the members")
    func ranges() throws {
        #expect(try numbers { $0.views.between(2...3) } == [2, 3])
        #expect(try numbers { $0.views.between(1..<2) } == [1])
        #expect(try numbers { $0.views.in(2...1_000_000_000_000) } == [2, 3], "not enumerated")
        #expect(try numbers { $0.views.in([1, 3]) } == [1, 3])
        #expect(try numbers { $0.length.in([1, nil]) } == [1, 2])
        #expect(try numbers { !$0.length.in([1, nil]) } == [3])
        #expect(try numbers { $0.length.in([]) } == [])
        #expect(try numbers { !$0.length.in([]) } == [1, 2, 3])
        #expect(try numbers { $0.kind.in([.essay, .poem]) } == [1, 3])
        #expect(try numbers { $0.publishedAt < Date(timeIntervalSinceReferenceDate: 10) } == [2])
    }

    @Test("Conditions compare columns with columns, and use arithmetic and text functions")
    func columns() throws {
        #expect(try numbers { $0.views == $0.length } == [1, 3])
        #expect(try numbers { $0.views != $0.length } == [2])
        #expect(try numbers { $0.title == $0.subtitle } == [2])
        #expect(try numbers { $0.title == $0.slug } == [1, 3])
        #expect(try numbers { $0.views < $0.length } == [])
        #expect(try numbers { $0.views + $0.length > 2 } == [3])
        #expect(try numbers { ($0.views - 1) * 2 == 4 } == [3])
        #expect(try numbers { $0.title.lowercased() == "two" } == [2])
        #expect(try numbers { $0.title.length == 5 } == [3])
        #expect(try numbers { $0.subtitle.uppercased() == "TWO" } == [2])
    }

    @Test("A list may have any size and type", arguments: [1, 2, 3, 16, 17, 5000, 20_000])
    func lists(_ count: Int) throws {
        #expect(try numbers { $0.views.in((3..<(3 + count)).map { $0 }) } == [3])
        let texts = ["three"] + (1..<count).map { "text \($0) \" \\ \n ü" }
        #expect(try numbers { $0.title.in(texts) } == [3])
        #expect(try numbers { $0.slug.in(texts + ["nul\0"]) } == [3])
        let dates = [9.0] + (1..<count).map { 0.1 * Double($0) + 10 }
        #expect(try numbers { $0.publishedAt.in(dates.map { Date(timeIntervalSinceReferenceDate: $0) }) } == [2])
    }

    @Test("300 list sizes produce only six SQL texts")
    func listTexts() throws {
        let sources = store.sources
        let texts = try (1...300).map { count in
            try Article.where { $0.views.in(Array(0..<count)) }.compile(.ids, using: sources).sql
        }
        #expect(Set(texts).count == 6)
    }

    @Test("List values are read back exactly, including NULs, blobs and floating-point numbers")
    func listText() throws {
        let values: [StoredValue] = [
            .text("a\0b"), .text(""), .blob(Data()), .blob(Data([0, 255, 16])), .real(0.1 + 0.2), .real(-.infinity),
            .integer(.min),
        ]
        for value in values {
            let read = try store.rows("SELECT strata_value(?)", [.text(ListText.encode(value))]) { $0.value(at: 0) }
            #expect(read == [value])
        }
    }

    @Test("A condition may have 20,000 terms", arguments: [false, true])
    func manyTerms(_ isNegated: Bool) throws {
        let condition = (1...20_000).reduce(Condition<Article>(false)) { $0 || Article.columns.views == -$1 }
        // SQLite's own limit is at least 32,766 parameters.
        let found = try numbers { isNegated ? !condition : condition || $0.views == 2 }
        #expect(found == (isNegated ? [1, 2, 3] : [2]))
    }
}

@Suite("Predicates on texts")
struct TextPredicateTests {
    let store: TestStore
    let titles = ["Äpfel", "apfel", "APFELMUS", "nul\0inside", "100%", "a_b", "é", "e\u{301}", ""]

    init() throws {
        store = try TestStore()
        for title in titles { try store.insert(Article.self, ["slug": "s", "title": title, "views": 0]) }
    }

    private func found(_ condition: (Article.Columns) -> Condition<Article>) throws -> [Int] {
        try store.numbers(Article.where(condition)).map { Int($0) - 1 }
    }

    @Test("`contains`, `hasPrefix` and `hasSuffix` compare exact bytes, including NULs")
    func exact() throws {
        #expect(try found { $0.title.contains("pfel") } == [0, 1])
        #expect(try found { $0.title.contains("\0in") } == [3])
        #expect(try found { $0.title.contains("") } == Array(titles.indices))
        #expect(try found { $0.title.hasPrefix("nul\0") } == [3])
        #expect(try found { $0.title.hasPrefix("") } == Array(titles.indices))
        #expect(try found { $0.title.hasPrefix("e") } == [7])
        #expect(try found { $0.title.hasSuffix("fel") } == [0, 1])
        #expect(try found { $0.title.hasSuffix("inside") } == [3])
        #expect(try found { $0.title == "nul\0inside" } == [3])
        #expect(try found { $0.title == "é" } == [6])
    }

    @Test("Text comparisons can ignore case and diacritics")
    func options() throws {
        #expect(try found { $0.title.contains("PFEL", .caseInsensitive) } == [0, 1, 2])
        #expect(try found { $0.title.hasPrefix("apf", .caseInsensitive) } == [1, 2])
        #expect(try found { $0.title.hasPrefix("apf", [.caseInsensitive, .diacriticInsensitive]) } == [0, 1, 2])
        #expect(try found { $0.title.equals("apfel", [.caseInsensitive, .diacriticInsensitive]) } == [0, 1])
        #expect(try found { $0.title.equals("ÄPFEL", .caseInsensitive) } == [0])
        #expect(try found { $0.title.equals("E", [.caseInsensitive, .diacriticInsensitive]) } == [6, 7])
        #expect(try found { $0.title.equals("É", .caseInsensitive) } == [6, 7], "one normal form")
        #expect(try found { $0.title.hasSuffix("MUS", .caseInsensitive) } == [2])
        #expect(try found { $0.title.equals("apfel", []) } == [1])
    }

    @Test("`like` supports wildcards, escapes and the case option")
    func like() throws {
        #expect(try found { $0.title.like("%fel") } == [0, 1])
        #expect(try found { $0.title.like("_pfel") } == [0, 1])
        #expect(try found { $0.title.like("%FEL%", .caseInsensitive) } == [0, 1, 2])
        #expect(try found { $0.title.like("100\\%") } == [4])
        #expect(try found { $0.title.like("a\\_b") } == [5])
        #expect(try found { $0.title.like("%") } == Array(titles.indices))
        #expect(try found { $0.title.like("") } == [8])
    }

    @Test("Regular expressions match parts of a text")
    func regex() throws {
        #expect(try found { $0.title.matches("^[aÄ]pf") } == [0, 1])
        #expect(try found { $0.title.matches("(?i)MUS$") } == [2])
        #expect(try found { $0.title.matches("\\d+%") } == [4])
    }

    @Test("`hasPrefix` uses the index")
    func index() throws {
        #expect(try store.plan(Article.where { $0.title.hasPrefix("ap") }).contains("USING INDEX article_title"))
        #expect(try store.plan(Article.where { $0.title == "ap" }).contains("USING INDEX article_title"))
        #expect(try store.plan(Article.where { $0.title.in(["ap", "x"]) }).contains("USING INDEX article_title"))
        let many = (0..<500).map { "title \($0)" }
        #expect(try store.plan(Article.where { $0.title.in(many) }).contains("USING INDEX article_title"))
    }

    @Test(
        "The range of a prefix ends at the first text after all texts with that prefix",
        arguments: [
            ("foo", "fop"), ("a\u{10FFFF}", "b"), ("\u{D7FF}", "\u{E000}"), ("\u{7F}", "\u{80}"), ("\u{10FFFF}", nil),
            ("", nil),
        ] as [(String, String?)]
    )
    func ends(_ prefix: String, _ end: String?) { #expect(TextFolding.end(ofPrefix: prefix) == end) }

    @Test("`like` on texts with many repeats is not exponential")
    func likeIsFast() {
        let text = String(repeating: "a", count: 2000)
        #expect(!LikePattern.matches(String(repeating: "%a", count: 100) + "b", text))
    }
}

@Suite("Queries that cannot be answered")
struct InvalidQueryTests {
    enum Unencodable: AttributeValue, Codable {
        case one
        var storedValue: StoredValue { get throws { throw StrataError(.validation, "no") } }
    }

    @Test(
        "An invalid query throws an error and does not trap",
        arguments: [
            Article.all.limit(-1), Article.all.offset(-3), Article.where { $0.title.matches("(") },
            Article.where { $0.author.fee > Double.nan },
            Article.where { $0.author == Author(_$row: .init(id: .unassigned, values: [])) },
            Article.where { $0.price == Decimal.nan }, Article.where { $0.author.fee.in([1, .nan]) },
            Article.where { !$0.id.in([ObjectID.unassigned]) },
        ]
    )
    func invalid(_ query: Query<Article>) throws {
        let error = #expect(throws: StrataError.self) { try query.compile(.objects, using: try TestStore().sources) }
        #expect(error?.code == .invalidQuery)
    }

    @Test("Predicates and calculations throw only if they are nested too deeply", arguments: [20, 5000])
    func deep(_ depth: Int) throws {
        var condition = Article.columns.views == 0
        var number = Article.columns.views + 1
        for level in 0..<depth {
            condition =
                level % 2 == 0 ? condition && Article.columns.views == 0 : condition || Article.columns.views == 0
            number = number * 1
        }
        let store = try TestStore()
        var right = Article.columns.views == 0
        for level in 0..<depth {
            right = level % 2 == 0 ? Article.columns.views == 0 && right : Article.columns.views == 1 || right
        }
        for term in [condition, !condition, right, !right, number == 1] {
            let query = Article.where { _ in term }
            if depth < 25 {
                _ = try store.count(query)
            } else {
                let error = #expect(throws: StrataError.self) { try query.compile(.ids, using: store.sources) }
                #expect(error?.code == .invalidQuery)
            }
        }
    }

    @Test("A value that cannot be encoded is invalid")
    func unencodable() {
        if case .invalid = ValueNode(Unencodable.one) {} else { Issue.record("accepted") }
    }

    @Test("Ids of another store and a negative number of first objects throw errors")
    func others() throws {
        let sources = try TestStore().sources
        let foreign = ObjectID<Article>(rawValue: 3, fingerprint: 8)
        let error = #expect(throws: StrataError.self) {
            try Article.where { $0.id == foreign }.compile(.ids, using: sources)
        }
        #expect(error?.code == .idOfOtherStore)
        #expect(throws: StrataError.self) { try Article.all.compile(.first(-1), using: sources) }
    }
}
