import Foundation
import StoreModels
import Testing

@testable import Strata

struct Postcard: Codable, Equatable, AttributeValue {
    var text: String
    var names: [String] = []
}

struct Slug: RawRepresentable, Hashable, AttributeValue {
    var rawValue: String
}

/// A type that knows its stored value itself.
struct Upper: Equatable, AttributeValue {
    var text: String
    static var columnType: ColumnType { .text }
    var storedValue: StoredValue { .text(text) }
    init(_ text: String) { self.text = text }
    init?(storedValue: StoredValue) {
        guard case .text(let text) = storedValue else { return nil }
        self.text = text
    }
}

@Model final class Plaque {
    @Attribute(.unique) var code: String
    var name: String = ""
    var note: String?
    var slug: Slug = Slug(rawValue: "")
    var card: Postcard = Postcard(text: "")
    var lines: [String] = []
    var tags: Set<String> = []
    var titles: [String: String] = [:]
    var upper: Upper = Upper("")
    @Attribute(.transformed(by: Reversed.self)) var secret: String = ""
}

/// Swift treats `é` as one scalar and `é` as a letter with an accent as equal. SQLite does not, so code that decides
/// about stored values does not either.
@Suite("Two normal forms of a text are two texts", .timeLimit(.minutes(1)))
struct NormalFormTests {
    static let composed = "caf\u{e9}"
    static let decomposed = "cafe\u{301}"
    static let both = [composed, decomposed]

    private static func stack(_ setUp: StackSetUp = .rootOnly) async throws -> ContextStack {
        try await ContextStack.open(.inMemory, models: [Plaque.self], stack: setUp)
    }

    /// Sets one property after the other.
    private static let setters: [(column: String, set: @Sendable (Plaque, String) -> Void)] = [
        ("name", { $0.name = $1 }), ("note", { $0.note = $1 }), ("slug", { $0.slug = Slug(rawValue: $1) }),
        ("card", { $0.card = Postcard(text: $1) }), ("lines", { $0.lines = ["a", $1] }),
        ("tags", { $0.tags = ["a", $1] }),
        ("titles", { $0.titles = ["a": $1] }), ("upper", { $0.upper = Upper($1) }), ("secret", { $0.secret = $1 }),
    ]

    @Test("Setting a property to the other form is a change, and setting it to the same form is not")
    func changes() async throws {
        let stack = try await Self.stack()
        try await stack.background { context in
            let plaque = context.insert(Plaque(code: "1"))
            for (_, set) in Self.setters { set(plaque, Self.composed) }
            try context.commit()
            for (_, set) in Self.setters { set(plaque, Self.composed) }
            #expect(!context.hasChanges)
            for (column, set) in Self.setters {
                set(plaque, Self.decomposed)
                #expect(Set(plaque.changedValues.keys) == [column])
                try context.commit()
            }
        }
        let row = try await stack.background { try #require(try $0.rows(Plaque.all).first) }
        for column in Plaque._$schema.columns.indices.dropFirst() {
            guard case .text(let text) = try row._$value(at: column) else { continue }
            #expect(text.unicodeScalars.contains("\u{301}") && !text.unicodeScalars.contains("\u{e9}"))
        }
        try await stack.close()
    }

    @Test("Two contexts that set one property to the two forms conflict")
    func conflict() async throws {
        let stack = try await Self.stack()
        let id = try await stack.background { context in
            let plaque = context.insert(Plaque(code: "1", name: "tea"))
            try context.commit()
            return plaque.id
        }
        let error = await #expect(throws: StrataError.self) {
            try await stack.background { context in
                try #require(try context.find(id)).name = Self.composed
                try stack.meanwhile { other in try #require(try other.find(id)).name = Self.decomposed }
                try context.commit()
            }
        }
        #expect(error?.code == .conflict)
        try await stack.close()
    }

    @Test("Unique values and predicates distinguish the forms, pending and stored", arguments: [false, true])
    func queries(isStored: Bool) async throws {
        let stack = try await Self.stack()
        try await stack.background { context in
            for (index, code) in Self.both.enumerated() {
                context.insert(Plaque(code: code, name: code + "\(index)", lines: [code]))
            }
            if isStored { try context.commit() }
            for (index, code) in Self.both.enumerated() {
                let other = Self.both[1 - index]
                let queries = [
                    Plaque.where { $0.code == code }, Plaque.where { $0.code != other },
                    Plaque.where { $0.code.in([code]) },
                    Plaque.where { $0.name.hasPrefix(code) }, Plaque.where { $0.name.contains(code) },
                    Plaque.where { $0.name.hasSuffix(code + "\(index)") },
                    Plaque.where { $0.name == code + "\(index)" },
                ]
                for query in queries {
                    #expect(try context.rows(query).map { UTF8Text($0.code) } == [UTF8Text(code)])
                }
            }
            let groups = try context.groups(Plaque.grouped { $0.code }) { $0.count }
            #expect(Set(groups.map { UTF8Text($0.0) }).count == 2 && groups.allSatisfy { $0.1 == 1 })
            let sorted = try context.rows(Plaque.sorted { $0.code.ascending }).map { UTF8Text($0.code) }
            #expect(sorted == Self.both.map { UTF8Text($0) }.sorted())
        }
        try await stack.close()
    }

    @Test("The two forms of a context's name are two names")
    func contexts() async throws {
        let stack = try await Self.stack(.empty)
        let names = Self.both.map { ContextName($0) }
        #expect(names[0] != names[1] && Set(names).count == 2)
        let handles = try names.map { try stack.create(.private, named: $0) }
        #expect(try stack[names[0]] == handles[0] && stack[names[1]] == handles[1])
        try await stack.close()
    }

    @Test("Statements that differ in the form of a text are two statements, and so are columns of results")
    func statements() async throws {
        let stack = try await Self.stack()
        try await stack.background { context in
            for text in Self.both {
                let sql = SQL(stringLiteral: "SELECT hex('\(text)') AS text")
                let hex = text.utf8.map { String(format: "%02X", $0) }.joined()
                #expect(try context.values(String.self, sql) == [hex])
            }
            let sql = SQL(stringLiteral: "SELECT 1 AS \"\(Self.composed)\", 2 AS \"\(Self.decomposed)\"")
            let row = try #require(try context.rows(sql).first)
            #expect(row[Self.composed] == .integer(1) && row[Self.decomposed] == .integer(2))
        }
        try await stack.close()
    }

    @Test("Sections of live rows change where the bytes of a key change")
    func sections() async throws {
        let stack = try await Self.stack(.empty)
        try await stack.background { context in
            for (index, name) in (Self.both + [Self.decomposed]).enumerated() {
                context.insert(Plaque(code: "\(index)", name: name))
            }
            try context.commit()
        }
        var live = try stack.live(Plaque.sorted { $0.code.ascending }).makeAsyncIterator()
        let rows = try #require(try await live.next())
        #expect(rows.sections { $0.name }.map(\.indices) == [0..<1, 1..<3])
        try await stack.close()
    }

    @Test("A store opens in folders whose names begin with a combining character")
    func folders() async throws {
        let root = FileManager.default.temporaryDirectory.appending(path: "strata-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: root) }
        let folder = root.appending(path: "\u{301}one/\u{fe0f}two")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        for _ in 0..<2 {
            let stack = try await ContextStack.open(
                .sqlite(folder.appending(path: "\u{301}store.sqlite")),
                models: [Plaque.self],
                stack: .rootOnly
            )
            try await stack.background { context in
                context.insert(Plaque(code: UUID().uuidString))
                try context.commit()
            }
            try await stack.close()
        }
    }

    @Test("Queries find random texts by their bytes, pending and stored", arguments: [false, true])
    func random(isStored: Bool) async throws {
        let seed = SeededGenerator.seed
        var generator = SeededGenerator(seed: seed)
        let texts = OddTexts.draw(200, using: &generator)
        let stack = try await Self.stack()
        try await stack.background { [texts] context in
            var model: [[UInt8]: Int] = [:]
            for (index, text) in texts.enumerated() {
                let isNew = model.updateValue(index, forKey: Array(text.utf8)) == nil
                let known = try context.first(Plaque.where { $0.code == text })
                #expect((known == nil) == isNew, "seed \(seed)")
                let plaque = known ?? context.insert(Plaque(code: text))
                (plaque.name, plaque.note) = ("\(index)", text)
                if isStored { try context.commit() }
            }
            #expect(try context.count(Plaque.all) == model.count, "seed \(seed)")
            for text in texts {
                let bytes = Array(text.utf8)
                let found = try context.rows(Plaque.where { $0.code == text && $0.note == text })
                #expect(found.map(\.name) == [model[bytes].map { "\($0)" }], "seed \(seed)")
                let prefixed = try context.count(Plaque.where { $0.code.hasPrefix(text) })
                #expect(prefixed == model.keys.count { $0.starts(with: bytes) }, "seed \(seed)")
                let after = try context.count(Plaque.where { $0.code > text })
                #expect(after == model.keys.count { bytes.lexicographicallyPrecedes($0) }, "seed \(seed)")
            }
        }
        try await stack.close()
    }
}
