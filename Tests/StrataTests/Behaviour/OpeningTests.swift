import Foundation
import GRDB
import Testing

@testable import Strata

/// Models with checks on attributes whose types do not tell the macro whether the check fits.
private enum UnfitModels {
    enum Kind: String, AttributeValue { case a }
    enum Level: Int, AttributeValue { case a }

    @Model final class Text {
        @Attribute(.range(0...1)) var value: Kind
    }

    @Model final class Number {
        @Attribute(.notEmpty) var value: Level?
    }

    @Model final class Reference {
        @Relationship(.range(0...1)) var value: Reference?
    }

    @Model final class Fitting {
        @Attribute(.range(0...100)) var price: Decimal
        @Attribute(.range(0...100)) var size: UInt64
        @Attribute(.length(1...1)) var kind: Kind = .a
        @Attribute(.range(0...1)) var level: Level = .a
    }
}

@Suite("Behaviour tables: opening a stack", .timeLimit(.minutes(1)))
struct OpeningTests {
    @Test("Opening fails if a model's partner is missing, and a model that was not listed fails at its use")
    func missingModel() async throws {
        let error = await #expect(throws: StrataError.self) {
            try await ContextStack.open(.inMemory, models: [Author.self])
        }
        #expect(error?.code == .invalidSchema && error?.message.contains("Article") == true)
        let stack = try await ContextStack.open(.inMemory, models: [Timestamp.self])
        await expect(.unknownModel) { try await stack.background { _ = try $0.count(Seal.all) } }
        await expect(.unknownModel) {
            try await stack.background { context in
                context.insert(Seal(color: "red"))
                try context.save()
            }
        }
        try await stack.close()
    }

    @Test("Opening fails if a model is listed twice, and the error says so")
    func listedTwice() async throws {
        let error = await #expect(throws: StrataError.self) {
            try await ContextStack.open(.inMemory, models: [Seal.self, Timestamp.self, Seal.self])
        }
        #expect(error?.code == .invalidSchema && error?.message.contains("Seal is listed twice") == true)
    }

    enum Same {
        @Model final class Note { var a: String = "" }
    }
    enum SameAgain {
        @Model(table: "Note2") final class Note { var b: String = "" }
    }
    enum Clash {
        @Model(.index("a", "b")) final class Thing {
            var a: String = ""
            var b: String = ""
            @Attribute(.indexed) var a_b: String = ""
        }
        @Model final class Box {
            @Relationship(inverse: \Lid.boxes) var lids: Many<Lid>
        }
        @Model(table: "box_LIDS") final class Lid { var boxes: Many<Box> }
        @Model final class Article {
            @Relationship(inverse: \Tag.first) var tags: Many<Tag>
            @Relationship(inverse: \Tag.second) var Tags: Many<Tag>
        }
        @Model final class Tag {
            var first: Many<Article>
            var second: Many<Article>
        }
        static let cases: [(models: [any Model.Type], texts: [String])] = [
            ([Same.Note.self, SameAgain.Note.self], ["the name 'Note'"]),
            ([Thing.self], ["'Thing_a_b_index'"]),
            ([Box.self, Lid.self], ["'Box_lids'", "'box_LIDS'"]),
            ([Article.self, Tag.self], ["'Article_tags'", "'Article_Tags'"]),
        ]
    }

    @Test(
        "Opening fails if two things would have the same name in the store, and the error names them",
        arguments: 0..<4
    )
    func names(index: Int) async throws {
        let (models, texts) = Clash.cases[index]
        let error = await #expect(throws: StrataError.self) {
            try await ContextStack.open(.inMemory, models: models, stack: .rootOnly)
        }
        #expect(error?.code == .invalidSchema, "\(String(describing: error))")
        #expect(texts.allSatisfy { error?.message.contains($0) == true }, "\(String(describing: error))")
    }

    @Test("Opening fails if a check does not apply to the values of its attribute")
    func unfitCheck() async throws {
        for model in [UnfitModels.Text.self, UnfitModels.Number.self, UnfitModels.Reference.self] as [any Model.Type] {
            let error = await #expect(throws: StrataError.self) {
                try await ContextStack.open(.inMemory, models: [model])
            }
            #expect(error?.code == .invalidSchema && error?.message.contains(".value holds no ") == true)
        }
    }

    @Test("A range check applies to decimals and to the largest integers too")
    func ranges() async throws {
        let stack = try await ContextStack.open(.inMemory, models: [UnfitModels.Fitting.self])
        try await stack.background { context in
            context.insert(UnfitModels.Fitting(price: 1.5, size: 100))
            try context.save()
            context.insert(UnfitModels.Fitting(price: 100.01, size: .max))
            let error = #expect(throws: StrataError.self) { try context.save() }
            #expect(error?.details.map(\.column) == ["price", "size"])
        }
        try await stack.close()
    }

    @Test("An open stack has its contexts, its store and its models")
    func parts() async throws {
        let folder = try StoreFolder()
        let stack = try await ContextStack.open(folder.location, models: allModels)
        #expect(try stack.all.map(\.name) == [.root, .main])
        #expect(FileManager.default.fileExists(atPath: folder.file.path))
        #expect(stack.core.engine.schema.entities.filter { !$0.info.isJoin }.count == allModels.count)
        try await stack.close()
    }

    @Test("A stack opens on an existing database pool, with the given models and a context of the caller")
    func injected() async throws {
        let folder = try StoreFolder()
        let pool = try DatabasePool(path: folder.file.path)
        let stack = try await ContextStack.open(.pool(pool), models: [Item.self], stack: .empty)
        let own = try stack.create(.private)
        try stack.push(own)
        #expect(try stack.current == own)
        try await own.perform { context in
            context.insert(5)
            try context.commit()
        }
        #expect(try await pool.read { try Int.fetchOne($0, sql: "SELECT number FROM Item") } == 5)
        try await stack.close()
        // The caller owns the pool and closes it.
        #expect(try await pool.read { try Int.fetchOne($0, sql: "SELECT count(*) FROM Item") } == 1)
        try pool.close()
    }

    @Test("Opening a store of another name creates a new file, and the old file stays")
    func otherFile() async throws {
        let folder = try StoreFolder()
        let files = ["old.sqlite", "new.sqlite"].map { folder.url.appendingPathComponent($0) }
        for file in files {
            #expect(!FileManager.default.fileExists(atPath: file.path))
            let stack = try await ContextStack.open(.sqlite(file), models: allModels)
            try await stack.background { context in
                #expect(try context.count(Author.all) == 0)
                context.insert(Author(name: "a"))
                try context.commit()
            }
            try await stack.close()
        }
        for file in files { #expect(FileManager.default.fileExists(atPath: file.path)) }
    }

    @Test("Without a given location, the store is a file named after the program in the user's data folder")
    func userData() throws {
        let program = ProcessInfo.processInfo.processName
        let url = try StoreFile.userDataURL()
        // The call creates an empty folder.
        defer { try? FileManager.default.removeItem(at: url.deletingLastPathComponent()) }
        #expect(url.isFileURL && url.lastPathComponent == program + ".sqlite")
        #expect(url.deletingLastPathComponent().lastPathComponent == program)
        let data = try #require(FileManager.default.urls(for: .applicationSupportDirectory, in: .userDomainMask).first)
        #expect(url.deletingLastPathComponent().deletingLastPathComponent().standardized.path == data.standardized.path)
    }

    @Test("The models of the behaviour tables open, in memory and in a file", arguments: StoreKind.allCases)
    func models(_ kind: StoreKind) async throws {
        try await withStack(kind) { stack in
            for model in allModels {
                func count<Object: Model>(_ model: Object.Type) async throws -> Int {
                    try await stack.background { try $0.count(Object.all) }
                }
                let found = try await count(model)
                #expect(found == 0, "\(model)")
            }
        }
    }

    @Test("A stack without models opens, and refuses every model")
    func noModels() async throws {
        let stack = try await ContextStack.open(.inMemory, models: [])
        await expect(.unknownModel) { try await stack.background { _ = try $0.fetch(Author.all) } }
        try await stack.close()
    }
}
