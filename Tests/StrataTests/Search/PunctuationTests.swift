import Foundation
import Testing

@testable import Strata

@Suite("Searches for words that are joined by punctuation")
struct PunctuationTests {
    static let cases: [(pattern: SearchPattern, titles: [String])] = [
        ("john smith", ["Smith, John"]),
        ("john,smith", ["Smith, John"]),
        ("john/smith", ["Smith, John"]),
        ("John, Smith", ["Smith, John"]),
        ("smith-1970", ["Smith, John"]),
        ("dark-wine", ["red wine"]),
        ("wine,dark", ["red wine"]),
        ("name:smith", []),
        ("smith:john-1970", ["Smith, John"]),
        ("don't", ["I don't"]),
        ("naïve/cafe\u{301}", ["Naive Café"]),
        (.anyWord("absent/wine"), ["red wine"]),
        (.autocomplete("john-smi"), ["Smith, John"]),
        (.autocomplete("joh-smith"), []),
        (.autocomplete("dark,wi -"), ["red wine"]),
        (.prefixes("joh/smi"), ["Smith, John"]),
        (.near("john/smith", within: 0), ["Smith, John"]),
        (.near("john/born", within: 3), []),
        (.phrase("john,smith"), []),
        (.phrase("smith/john"), ["Smith, John"]),
        (SearchPattern.words("wine").excluding("dark-colour"), []),
        (SearchPattern.words("smith").excluding("dark-colour"), ["Smith, John"]),
        ("-", []),
        (.words("wine").and("-"), []),
    ]

    @Test("Searches find all of the words in any order, in saved and unsaved objects")
    func anyOrder() async throws {
        let stack = try await openSearchStack(.rootOnly)
        try await stack.background { context in
            let texts = [
                ("Smith, John", "born in 1970"), ("red wine", "dark red colour"), ("I don't", ""), ("Naive Café", ""),
            ]
            let sheets = texts.map { context.insert(Sheet(title: $0.0, body: $0.1)) }
            for state in ["unsaved", "saved", "changed"] {
                if state == "saved" { try context.commit() }
                if state == "changed" { for sheet in sheets { sheet.rating += 1 } }
                for (pattern, titles) in Self.cases {
                    let found = try context.fetch(Sheet.search(pattern)).map(\.title)
                    #expect(found == titles, "\(state): \(pattern)")
                }
                let column = try context.fetch(Sheet.where { $0.title.search("john,smith") }).map(\.title)
                #expect(column == ["Smith, John"])
                let match = try #require(try context.matches(Sheet.search("john,smith")).first)
                let title = try #require(try match.highlights { $0.title })
                #expect(title.highlighted("[", "]") == "[Smith], [John]")
            }
        }
        try await stack.close()
    }

    @Test("Stems are words too, and parts of texts are separated by spaces")
    func stemsAndParts() async throws {
        let stack = try await openSearchStack(.rootOnly)
        try await stack.background { context in
            context.insert(Jotting(first: "Connected", last: "horses"))
            context.insert(Spare(code: "AB-1234-x"))
            for isSaved in [false, true] {
                if isSaved { try context.commit() }
                #expect(try context.count(Jotting.search("horse-connections")) == 1)
                #expect(try context.count(Spare.search("AB-12")) == 1)
                #expect(try context.count(Spare.search("34-x b-12")) == 1)
                #expect(try context.count(Spare.search("12-AB")) == 0)
            }
        }
        try await stack.close()
    }
}
