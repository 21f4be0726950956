import Foundation
import TestHomeTraits
import Testing

@testable import Strata

@Suite("Full-text search") struct SearchTests {
    private static let texts: [(String, String?)] = [
        ("Swift concurrency", "Actors, tasks and the data race that is gone."),
        ("The race", "A swift horse won the race. A data sheet followed."),
        ("Öl auf Leinwand", "Un día de otoño; e-mail follows."),
        ("Nothing", nil),
        ("Swift", "Swift, swift, swift"),
    ]

    private func filled(_ setUp: StackSetUp = .rootOnly) async throws -> ContextStack {
        let stack = try await openSearchStack(setUp)
        try await stack.background { context in
            let binder = context.insert(Binder(label: "Technical"))
            for (index, text) in Self.texts.enumerated() {
                context.insert(Sheet(title: text.0, body: text.1, rating: index, binder: index < 2 ? binder : nil))
            }
            try context.commit()
        }
        return stack
    }

    @Test("A search finds words, phrases, prefixes and near words, and leaves out excluded words")
    func patterns() async throws {
        try await filled().background { context in
            func titles(_ pattern: SearchPattern) throws -> Set<String> {
                Set(try context.fetch(Sheet.search(pattern)).map(\.title))
            }
            let cases: [(SearchPattern, Set<String>)] = [
                ("swift", ["Swift concurrency", "The race", "Swift"]),
                ("SWIFT race", ["Swift concurrency", "The race"]),
                ("race, swift!", ["Swift concurrency", "The race"]),
                (.anyWord("actors horse"), ["Swift concurrency", "The race"]),
                (.phrase("data race"), ["Swift concurrency"]),
                (.phrase("race a data"), ["The race"]),
                (.prefixes("con ta"), ["Swift concurrency"]),
                (.words("con"), []),
                (.near("data race", within: 0), ["Swift concurrency"]),
                (.near("horse race", within: 1), []),
                (.near("horse race", within: 2), ["The race"]),
                (.words("race").excluding("horse"), ["Swift concurrency"]),
                (.words("horse").or("leinwand"), ["The race", "Öl auf Leinwand"]),
                (.words("swift").and(.anyWord("horse actors")), ["Swift concurrency", "The race"]),
                ("dia OTONO", ["Öl auf Leinwand"]),
                ("ol", ["Öl auf Leinwand"]),
                ("e-mail", ["Öl auf Leinwand"]),
                ("mail-e", ["Öl auf Leinwand"]),
                (.phrase("mail-e"), []),
                ("", []),
                ("  ?!  ", []),
                (.prefixes(""), []),
                (.phrase("-"), []),
                (.words("swift").and(""), []),
                (.words("horse").or(""), ["The race"]),
                (.words("horse").excluding(""), ["The race"]),
                (.words("").excluding("horse"), []),
                // Operators and punctuation in a text do not have a special meaning.
                ("horse OR nothing", []),
                ("\"horse", ["The race"]),
                ("title:swift", []),
                ("hor*", []),
                ("horse\0won", ["The race"]),
                ("(horse", ["The race"]),
            ]
            for (pattern, expected) in cases {
                let found = try titles(pattern)
                #expect(found == expected, "\(pattern)")
            }
            let negative = #expect(throws: StrataError.self) { _ = try titles(.near("a b", within: -1)) }
            #expect(negative?.code == .invalidQuery)
        }
    }

    @Test("The best match comes first by rare words, short texts and weights; explicit sorts take precedence")
    func ranking() async throws {
        try await filled().background { context in
            let query = Sheet.search("swift")
            let ranked = try context.fetch(query).map(\.title)
            #expect(ranked == ["Swift", "Swift concurrency", "The race"])
            let last = try context.last(query)?.title
            #expect(last == "The race")
            let lastTwo = try context.last(2, of: query.limit(3)).map(\.title)
            #expect(lastTwo == ["Swift concurrency", "The race"])
            let first = try context.first(query)?.title
            #expect(first == "Swift")
            let second = try context.fetch(query.limit(1).offset(1)).map(\.title)
            #expect(second == ["Swift concurrency"])
            let sorted = try context.fetch(query.sorted { $0.title.descending }).map(\.title)
            #expect(sorted == ["The race", "Swift concurrency", "Swift"])
            let matches = try context.matches(query)
            #expect(matches.map(\.object.title) == ranked)
            #expect(matches[0].score > matches[1].score && matches[1].score > matches[2].score)
            let scored = try context.matches(query.sorted { $0.title.descending })
            #expect(scored.map(\.score) == matches.map(\.score).reversed().map { $0 } || scored.count == 3)
            let scores = Dictionary(uniqueKeysWithValues: matches.map { ($0.object.title, $0.score) })
            #expect(scored.allSatisfy { scores[$0.object.title] == $0.score })
            let error = #expect(throws: StrataError.self) { _ = try context.matches(Sheet.good) }
            #expect(error?.code == .invalidQuery)
        }
    }

    @Test("The score is that of FTS5's bm25")
    func bm25() async throws {
        let folder = try ScratchFolder()
        let url = folder.file("pages.sqlite")
        try await folder.with(url, searchModels) { context in
            for text in Self.texts { context.insert(Sheet(title: text.0, body: text.1)) }
            try context.commit()
        }
        for pattern in ["swift", "race", "swift data"] {
            let scores = try await folder.with(url, searchModels) { context in
                try context.matches(Sheet.search(.words(pattern))).map { String(format: "%.9f", $0.score) }
            }
            // The columns of the table are in the order of their names: body, title.
            let sql = """
                SELECT printf('%.9f', -bm25(strata_search_Sheet_words, 1, 4)) FROM strata_search_Sheet_words \
                WHERE strata_search_Sheet_words MATCH '\(pattern)' ORDER BY bm25(strata_search_Sheet_words, 1, 4), rowid
                """
            let expected = try folder.rows(url, sql)
            #expect(!expected.isEmpty && scores == expected)
        }
    }

    @Test("A search combines with everything else in a query")
    func combinations() async throws {
        try await filled().background { context in
            let query = Sheet.search("swift")
            let counts = try (
                context.count(query), context.exists(query), context.exists(Sheet.search("absent")),
                context.count(query.limit(2)), context.count(Sheet.all.search("swift").good)
            )
            #expect(counts == (3, true, false, 2, 1))
            let total = try context.sum(query, \.rating)
            #expect(total == 5)
            let narrowed = try context.fetch(query.where { $0.rating < 2 }).map(\.title)
            #expect(narrowed == ["Swift concurrency", "The race"])
            let both = try context.fetch(query.search("race")).map(\.rating).sorted()
            #expect(both == [0, 1])
            let merged = try context.fetch(query.merging(Sheet.search("horse"))).map(\.rating)
            #expect(merged == [1])
            let either = try context.fetch(Sheet.search("leinwand").or(Sheet.good).sorted { $0.rating }).map(\.rating)
            #expect(either == [2, 3, 4])
            let closure = try context.fetch(Sheet.search("leinwand").or { $0.rating == 0 }).map(\.rating)
            #expect(closure == [0, 2])
            let column = try context.fetch(Sheet.where { $0.title.search("swift") }).map(\.rating)
            #expect(column == [0, 4])
            let none = try context.fetch(Sheet.where { !$0.body.search("swift") }).map(\.rating)
            #expect(none == [0, 2, 3])
            let path = try context.fetch(Sheet.where { $0.binder.label.search("technical") }).map(\.rating)
            #expect(path == [0, 1])
            let members = try context.fetch(Binder.where { $0.sheets.any { $0.body.search("horse") } }).count
            #expect(members == 1)
            let binder = try #require(try context.first(Binder.all))
            let ofShelf = try context.fetch(binder.sheets.query.search("swift")).map(\.rating)
            #expect(ofShelf == [0, 1])
            let groups = try context.groups(query.grouped { $0.binder }) { $0.count }
            #expect(groups.map(\.values) == [1, 2])
            let sliced = try context.groups(query.limit(1).grouped { $0.rating }) { $0.count }
            #expect(sliced.map(\.key) == [4])
            let sections = try context.sections(query) { $0.binder }
            #expect(sections.map(\.elements.count) == [1, 2])
            let rows = try context.rows(query).map(\.rating)
            #expect(rows == [4, 0, 1])
            let ids = try context.ids(query)
            #expect(ids == (try context.fetch(query)).map(\.id))
            var streamed: [Int] = []
            try context.forEachRow(query) { streamed.append($0.rating) }
            #expect(streamed == [4, 0, 1])
            #expect(query.description.contains("MATCH"))
        }
    }

    @Test("A text in a variable is searched for its words, in the same way as a literal")
    func texts() async throws {
        try await filled().background { context in
            for text in ["SWIFT race", "\"horse", "hor*", ""] {
                let found = try context.ids(Sheet.search(text))
                let expected = try context.ids(Sheet.search(.words(text)))
                #expect(found == expected, "\(text)")
                let again = try context.ids(Sheet.all.search(text))
                #expect(again == expected, "\(text)")
                let column = try context.ids(Sheet.where { $0.title.search(text) })
                let expectedOfColumn = try context.ids(Sheet.where { $0.title.search(.words(text)) })
                #expect(column == expectedOfColumn, "\(text)")
            }
            let path = "technical"
            let found = try context.count(Sheet.where { $0.binder.label.search(path) && !$0.body.search(path) })
            #expect(found == 2)
        }
    }

    @Test("A search over an attribute or expression that is not searchable is refused")
    func refusals() async throws {
        try await filled().background { context in
            for query in [
                Sheet.where { $0.title.lowercased().search("x") },
                Sheet.where { $0.binder.label.lowercased().search("x") },
            ] {
                let error = #expect(throws: StrataError.self) { _ = try context.fetch(query) }
                #expect(error?.code == .invalidQuery)
            }
            let error = #expect(throws: StrataError.self) {
                _ = try context.fetch(Jotting.where { $0.first.search("x") })
            }
            #expect(error?.description.contains("Jotting.first is not searchable") == true)
        }
    }

    @Test("A search finds word stems, with prefixes and derived texts, or any part of a text")
    func tokenizers() async throws {
        let stack = try await openSearchStack(.rootOnly)
        try await stack.background { context in
            let note = context.insert(Jotting(first: "Connected", last: "horses"))
            context.insert(Spare(code: "AB-1234-x"))
            for isSaved in [false, true] {
                if isSaved { try context.commit() }
                let found = try (
                    context.count(Jotting.search("connections horse")),
                    context.count(Jotting.search(.prefixes("co ho"))),
                    context.count(Jotting.search("conn")), context.count(Spare.search("b-12")),
                    context.count(Spare.search("1234-X")), context.count(Spare.search("12"))
                )
                #expect(found == (1, 1, 0, 1, 1, 0), "saved: \(isSaved)")
            }
            note.last = "dogs"
            let edited = try (context.count(Jotting.search("horse")), context.count(Jotting.search("dog")))
            #expect(edited == (0, 1))
        }
    }

    @Test("Excerpts show where a text matches, for stored, unsaved and deleted objects")
    func excerpts() async throws {
        try await filled().background { context in
            let match = try #require(try context.matches(Sheet.search("swift race")).first { $0.object.rating == 1 })
            let title = try #require(try match.highlights { $0.title })
            #expect(title.text == "The race" && title.highlighted("[", "]") == "The [race]")
            #expect(!title.isTruncatedAtStart && !title.isTruncatedAtEnd)
            let snippet = try #require(try match.snippet(words: 4) { $0.body })
            #expect(snippet.highlighted("[", "]").contains("[swift]"))
            #expect(
                !snippet.isTruncatedAtStart && snippet.isTruncatedAtEnd
                    && snippet.fragments.contains { $0.isMatch && $0.text == "swift" }
            )
            match.object.title = "Swifter races, no RACE 🐎 here"
            let edited = try #require(try match.highlights { $0.title })
            #expect(edited.highlighted("<b>", "</b>") == "Swifter races, no <b>RACE</b> 🐎 here")
            #expect(edited.matches.map { String(edited.text[$0]) } == ["RACE"])
            match.object.title = "Nothing of it"
            match.object.body = nil
            let without = try match.highlights { $0.title }
            #expect(without?.matches.isEmpty == true && without?.text == "Nothing of it")
            let gone = try match.highlights { $0.body }
            #expect(gone == nil)
            context.delete(match.object)
            let deleted = try match.highlights { $0.title }
            #expect(deleted == nil)
            let words = #expect(throws: StrataError.self) { _ = try match.snippet(words: 65) { $0.title } }
            #expect(words?.code == .invalidQuery)
        }
    }

    @Test("Overlapping matches form one range, and texts stay unchanged")
    func overlaps() async throws {
        let stack = try await openSearchStack(.rootOnly)
        try await stack.background { context in
            context.insert(Spare(code: "banana Mississippi é\u{301}a"))
            context.insert(Sheet(title: "alpha\0beta gamma".storable, body: "\u{FDFF} gamma bc\u{301}"))
            for isSaved in [false, true] {
                if isSaved { try context.commit() }
                let match = try #require(try context.matches(Spare.search(.words("ana").or("issi"))).first)
                let code = try #require(try match.highlights { $0.code })
                #expect(code.highlighted("[", "]") == "b[anana] M[ississi]ppi é\u{301}a")
                let sheet = try #require(try context.matches(Sheet.search("gamma")).first)
                let title = try #require(try sheet.highlights { $0.title })
                #expect(title.highlighted("[", "]") == "alpha\0beta [gamma]".storable)
                let body = try #require(try sheet.highlights { $0.body })
                #expect(body.text == "\u{FDFF} gamma bc\u{301}" && body.matches.count == 1)
            }
        }
    }

    @Test("A snippet shows as many of the phrases as possible, from the beginning of the text if that shows them")
    func windows() {
        let words = (0..<40).map { $0 % 10 == 0 ? "stop" : "word\($0)" }
        let text = "«" + words.joined(separator: " ") + "»"
        var ranges: [Range<Int>] = []
        for word in words {
            let start = (ranges.last?.upperBound ?? 1) + 1
            ranges.append((start)..<(start + word.utf8.count))
        }
        // The first character has two bytes.
        func excerpt(_ hits: [(Int, Int, Int)], _ limit: Int?) -> SearchExcerpt {
            SearchExcerpt(
                of: text,
                ranges,
                hits.map { SearchHit(phrase: $0.0, first: $0.1, count: $0.2) },
                limit: limit
            )
        }
        let whole = excerpt([(0, 1, 2)], nil)
        #expect(whole.text == text && whole.matches.map { String(text[$0]) } == ["word1 word2"])
        #expect(!whole.isTruncatedAtStart && !whole.isTruncatedAtEnd)
        #expect(excerpt([], 3).highlighted("[", "]") == "«stop word1 word2…")
        #expect(excerpt([(0, 1, 1), (0, 20, 1)], 4).highlighted("[", "]") == "«stop [word1] word2 word3…")
        #expect(
            excerpt([(0, 1, 1), (0, 21, 1), (1, 23, 1)], 5).highlighted("[", "]")
                == "…stop [word21] word22 [word23] word24…"
        )
        #expect(excerpt([(0, 39, 1)], 3).highlighted("[", "]") == "…word37 word38 [word39]»")
        #expect(excerpt([(0, 39, 2), (0, -1, 1)], 50).matches.isEmpty)
        #expect(SearchExcerpt(of: "", [], [], limit: 3).fragments.isEmpty)
    }

    @Test("Long chains of patterns are flattened, and deeply nested patterns are refused")
    func chains() async throws {
        try await filled().background { context in
            let any = (0..<500).reduce(SearchPattern.words("horse")) { $0.or(.words("w\($1)")) }
            let all = (0..<500).reduce(SearchPattern.words("horse")) { pattern, _ in pattern.and("race") }
            let without = (0..<500).reduce(SearchPattern.words("swift")) { $0.excluding(.words("w\($1)")) }
            let counts = try [any, all, without].map { try context.count(Sheet.search($0)) }
            #expect(counts == [1, 1, 3])
            var deep = SearchPattern.words("horse")
            for _ in 0..<15 { deep = SearchPattern.words("race").and(SearchPattern.words("x").or(deep)) }
            let error = #expect(throws: StrataError.self) { _ = try context.count(Sheet.search(deep)) }
            #expect(error?.code == .invalidQuery)
            let near = try context.count(Sheet.search(.near("horse race", within: .max)))
            #expect(near == 1)
            let typed = try ["swift ho", "swif hors", "", "horse wo"].map {
                try context.count(Sheet.search(.autocomplete($0)))
            }
            #expect(typed == [1, 0, 0, 1])
        }
    }

    @Test("Another spelling of the same characters is another text")
    func spellings() async throws {
        let stack = try await openSearchStack(.rootOnly)
        try await stack.background { context in
            let sheet = context.insert(Sheet(title: "\u{43C}\u{43E}\u{439}"))
            let decomposed = SearchPattern.words("\u{43C}\u{43E}\u{438}\u{306}")
            let before = try context.count(Sheet.search(decomposed))
            sheet.title = "\u{43C}\u{43E}\u{438}\u{306}"
            let unsaved = try context.count(Sheet.search(decomposed))
            try context.commit()
            let saved = try context.count(Sheet.search(decomposed))
            #expect(before == 0 && unsaved == 1 && saved == 1)
        }
    }

    @Test("If there is no room for the words of unsaved objects, later searches miss nothing")
    func noRoom() async throws {
        let stack = try await filled()
        try await stack.background { context in
            context.insert(Sheet(title: "first"))
            let connection = try context.currentSnapshot().reader.connection
            try connection.execute("PRAGMA temp.max_page_count = 4")
            let error = #expect(throws: StrataError.self) { _ = try context.count(Sheet.search("first")) }
            #expect(error?.code == .diskFull)
        }
        try await stack.background { context in
            let connection = try context.currentSnapshot().reader.connection
            try connection.execute("PRAGMA temp.max_page_count = 1000")
            context.insert(Sheet(title: "first"))
            let small = try context.count(Sheet.search("first"))
            #expect(small == 1)
            let pages = try connection.integer("PRAGMA temp.page_count") ?? 0
            try connection.execute("PRAGMA temp.max_page_count = \(pages + 2)")
            for index in 0..<2000 {
                context.insert(Sheet(title: "many \(index)", body: String(repeating: "x\(index) ", count: 20)))
            }
            let error = #expect(throws: StrataError.self) { _ = try context.count(Sheet.search("many")) }
            #expect(error?.code == .diskFull)
            let rest = try context.currentSnapshot().reader.connection
            try rest.execute("PRAGMA temp.max_page_count = 100000")
            let all = try context.count(Sheet.search("many"))
            let first = try context.count(Sheet.search("first"))
            #expect(all == 2000 && first == 1)
        }
        try await stack.close()
    }

    @Test("A search follows every kind of write: batches, upserts, deletes by rule, swapped names")
    func writers() async throws {
        let stack = try await filled()
        try await stack.background { context in
            try context.batchUpdate(Sheet.search("horse")) { [$0.title.set(to: "Saddle")] }
            let renamed = try (context.count(Sheet.search("saddle")), context.count(Sheet.search(.phrase("the race"))))
            #expect(renamed == (1, 1))
            try context.batchDelete(Sheet.search("swift").limit(1))
            let left = try context.fetch(Sheet.search("swift").sorted { $0.rating }).map(\.rating)
            #expect(left == [0, 1])
            let binder = try #require(try context.first(Binder.all))
            context.delete(binder)
            let hidden = try context.count(Sheet.search("swift"))
            #expect(hidden == 0)
            try context.commit()
            let cascaded = try context.count(Sheet.search("swift"))
            #expect(cascaded == 0)
        }
        try await stack.background { context in
            context.insert(Spare(code: "first-code"))
            context.insert(Spare(code: "other-code"))
            try context.commit()
            let parts = try context.fetch(Spare.sorted { $0.code })
            // The engine swaps unique values by way of temporary ones.
            (parts[0].code, parts[1].code) = (parts[1].code, parts[0].code)
            try context.commit()
            let found = try context.fetch(Spare.search("first-code")).map(\.id)
            #expect(found == [parts[1].id])
            let all = try context.count(Spare.search("code"))
            #expect(all == 2)
        }
    }

    @Test("Live results of a search follow edits, saved or not, in the order of their ranks")
    func live() async throws {
        let stack = try await filled()
        try stack.create(.private, named: .network)
        var live = try stack.live(Sheet.search("swift"), in: .named(.network)).makeAsyncIterator()
        #expect(try await live.next()?.map(\.rating) == [4, 0, 1])
        try await stack.on(.network) { context in
            let sheet = try #require(try context.first(Sheet.search("leinwand")))
            sheet.title = "Swift"
            sheet.body = nil
        }
        let edited = try #require(try await live.next())
        let order = try await stack.on(.network) { try $0.fetch(Sheet.search("swift")).map(\.rating) }
        #expect(edited.map(\.rating) == order && Set(order) == [4, 0, 1, 2])
        try await stack.on(.network) { try $0.commit() }
        try await stack.background { context in
            _ = try context.batchDelete(Sheet.search("horse"))
        }
        var rows = edited
        while rows.count > 3 { rows = try #require(try await live.next()) }
        #expect(Set(rows.map(\.rating)) == [4, 0, 2])
        try await stack.close()
    }

    @Test("Schemas that cannot be searched are refused when the stack is opened")
    func schemas() async throws {
        for (model, text) in [
            (Wrong.Number.self, "holds no text"), (Wrong.Rank.self, "by this name"), (Wrong.Weight.self, "weight"),
            (Wrong.Nothing.self, "no searchable attribute"), (Wrong.Prefix.self, "1 to 999"),
        ] as [(any Model.Type, String)] {
            let error = await #expect(throws: StrataError.self) {
                _ = try await ContextStack.open(.inMemory, models: [model])
            }
            #expect(
                error?.code == .invalidSchema && error?.description.contains(text) == true,
                "\(model): \(error.debugDescription)"
            )
        }
    }

    enum Wrong {
        @Model final class Number { @Attribute(.searchable) var number: Int }
        @Model final class Rank { @Attribute(.searchable) var rank: String }
        @Model final class Weight { @Attribute(.searchable(weight: -1)) var text: String }
        @Model(.search(.words)) final class Nothing { var text: String }
        @Model(.search(.words, prefixes: [0])) final class Prefix { @Attribute(.searchable) var text: String }
    }
}
