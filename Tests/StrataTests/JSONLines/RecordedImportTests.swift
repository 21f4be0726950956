import Foundation
import StoreModels
import TestHomeTraits
import Testing

@testable import Strata

/// Models whose declarations a store records completely.
enum Wares {
    enum Size: String, AttributeValue, CaseIterable { case small, large }
    enum Grade: Int, AttributeValue, CaseIterable {
        case first = 1
        case second
    }

    @Model(.unique("shelf", "place"), originalName: "Article") final class Ware {
        @Attribute(.unique, .length(2...8), originalName: "title") var name: String
        @Attribute(.range(0...100)) var price: Decimal = 1
        var stock: Int8 = -3
        var total: UInt64 = 0
        var ratio: Float = 0.5
        @Attribute(.range(-1...1)) var change: Double?
        var size: Size
        var grade: Grade?
        var isNew: Bool = true
        var madeAt: Date?
        var code: UUID?
        var link: URL?
        var bytes: Data?
        var marks: [String] = []
        var shelf: Int?
        var place: Int?
        @Attribute(.required) var note: String?
        @Attribute(.searchable, .notEmpty) var text: String = "nothing"
        @Attribute(.externalStorage) var photo: Data?
        @Attribute(.createdAt) var createdAt: Date?
        @Attribute(.updatedAt) var updatedAt: Date?
        var owner: Owner?
        var maker: Owner?
        @Relationship(inverse: \Tag.wares, originalName: "labels") var tags: Many<Tag>
    }

    @Model final class Owner {
        @Attribute(.unique) var name: String
        @Relationship(inverse: \Ware.owner, ordered: true) var wares: Many<Ware>
        @Relationship(deleteRule: .noAction, inverse: \Ware.maker) var made: Many<Ware>
    }

    @Model final class Tag {
        @Attribute(.unique) var name: String
        @Relationship(ordered: true) var wares: Many<Ware>
    }

    static let models: [any Model.Type] = [Ware.self, Owner.self, Tag.self]

    /// A line of a ware with these properties, and with the others that have neither a default value nor nil.
    static func line(_ properties: String) -> String {
        let usual = [("name", #""ware""#), ("size", #""small""#), ("note", #""n""#)]
        let others = usual.filter { !properties.contains("\"\($0.0)\":") }.map { "\"\($0.0)\":\($0.1)" }
        let members = [#""$model":"Ware""#] + others + (properties.isEmpty ? [] : [properties])
        return "{\(members.joined(separator: ","))}"
    }
}

@Suite(
    "Imports of lines without models",
    .aboutTheFile("opens none of the models, which a store with a home refuses"),
    .timeLimit(.minutes(2))
) struct RecordedImportTests {
    /// A store of the program with one owner, and with the lines that both kinds of import get.
    private func makeStore(_ name: String, in folder: ScratchFolder) async throws -> URL {
        let url = folder.file(name)
        try await folder.with(url, Wares.models) { context in
            context.insert(Wares.Owner(name: "old"))
            try context.commit()
        }
        return url
    }

    /// Imports lines as a tool does.
    @discardableResult
    private func importRecorded(
        _ lines: [String],
        into url: URL,
        _ options: RecordedImportOptions = RecordedImportOptions()
    ) async throws -> RecordedImportResult {
        let folder = try ScratchFolder()
        let file = folder.file("lines")
        try Data(lines.joined(separator: "\n").utf8).write(to: file)
        let stack = try await ContextStack.open(
            .sqlite(url),
            models: [],
            stack: .rootOnly,
            configuration: StoreConfiguration(allowsUnopenedModels: true),
            author: "tool"
        )
        let result: Result<RecordedImportResult, any Error>
        do {
            let handle = try FileHandle(forReadingFrom: file)
            result = .success(try await stack.importRecordedJSONLines(from: handle, options))
        } catch {
            result = .failure(error)
        }
        try await stack.close()
        return try result.get()
    }

    /// The content of a store as its program sees it, with names in place of ids, and without the times of the import.
    private func content(_ url: URL) async throws -> [String] {
        let stack = try await ContextStack.open(.sqlite(url), models: Wares.models, stack: .rootOnly)
        let lines = try JSONLinesFixture.content(try await JSONLinesFixture.lines(stack))
        #expect(try await stack.check() == [])
        try await stack.close()
        return try lines.map { line in
            var object = try #require(try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any])
            for (key, value) in object {
                guard let text = value as? String else { continue }
                // A reference to an object that does not exist.
                if text.hasPrefix("Owner-") { object[key] = "gone" }
                // The lines have older times.
                if ["createdAt", "updatedAt"].contains(key), text > "2020" { object[key] = "now" }
            }
            let data = try JSONSerialization.data(withJSONObject: object, options: .sortedKeys)
            return String(decoding: data, as: UTF8.self)
        }
    }

    /// Imports the same lines with and without the models, and compares the results.
    ///
    /// - Returns: the error of the import without the models; nil if both have succeeded.
    @discardableResult
    private func expectSame(
        _ lines: [String],
        location: SourceLocation = #_sourceLocation
    ) async throws -> StrataError? {
        let folder = try ScratchFolder()
        let (tool, program) = (
            try await makeStore("tool.sqlite", in: folder), try await makeStore("program.sqlite", in: folder)
        )
        var own: StrataError?
        var expected: StrataError?
        do { try await importRecorded(lines, into: tool) } catch let error as StrataError { own = error }
        let stack = try await ContextStack.open(.sqlite(program), models: Wares.models, stack: .rootOnly)
        do { try await stack.importJSONLines(lines) } catch let error as StrataError { expected = error }
        try await stack.close()
        #expect(own?.code == expected?.code, "\(own as Any), \(expected as Any)", sourceLocation: location)
        let (imported, other) = (try await content(tool), try await content(program))
        #expect(imported == other, sourceLocation: location)
        if own == nil { #expect(imported.count > 1, "something was imported", sourceLocation: location) }
        return own
    }

    @Test(
        "A value is stored in the form of its type, or refused, as by an import with the models",
        arguments: [
            "", #""price":"1.50""#, #""price":"1e1""#, #""price":"one""#, #""price":"101""#, #""price":null"#,
            #""stock":127"#, #""stock":128"#, #""stock":1.5"#, #""total":18446744073709551615"#, #""total":-1"#,
            #""ratio":0.1"#, #""ratio":1e300"#, #""ratio":"Infinity""#, #""change":0.25"#, #""change":1.1"#,
            #""change":"-Infinity""#, #""grade":2"#, #""grade":3"#, #""grade":null"#, #""isNew":false"#, #""isNew":0"#,
            #""madeAt":"2026-01-02T03:04:05.5Z""#, #""madeAt":12.5"#, #""madeAt":"today""#,
            #""code":"e621e1f8-c36c-495a-93fc-0c247a3e6e5f""#, #""code":"e621""#, #""link":"https://a.b/c?d=e""#,
            #""link":"""#, #""bytes":"AAEC""#, #""bytes":"?""#, #""marks":"[ \"b\", \"a\" ]""#, #""marks":"[1]""#,
            #""marks":["a"]"#, #""note":null"#, #""text":"""#, #""text":"a\u0000b""#, #""photo":"AAEC""#, #""photo":7"#,
            #""createdAt":"2001-01-01T00:00:00Z""#, #""createdAt":null"#, #""updatedAt":3"#,
            #""owner":"old""#, #""owner":null"#, #""maker":"nobody""#, #""tags":[]"#, #""tags":["x"]"#,
            #""shelf":1,"place":2"#, #""other":1"#, #""size":"large""#, #""made":[]"#, #""_version":1"#, #""id":1"#,
        ]
    )
    func values(properties: String) async throws { try await expectSame([Wares.line(properties)]) }

    @Test("Values that break a rule, and values that are not a case, are refused with the property")
    func rules() async throws {
        let cases = [
            (Wares.line(#""price":"101""#), "price"), (Wares.line(#""note":null"#), "note"),
            (Wares.line(#""text":"""#), "text"), (Wares.line(#""grade":3"#), "grade"),
            (Wares.line(#""name":"w""#), "name"), (Wares.line(#""size":"huge""#), "size"),
        ]
        for (line, property) in cases {
            let error = try #require(try await expectSame([line]), "\(line)")
            #expect(error.description.contains(property), "\(error)")
        }
    }

    @Test("References in both directions, orders, former names and references to deleted objects are kept")
    func relationships() async throws {
        let ware = { (name: String, rest: String) in
            #"{"$id":"\#(name)","$model":"Ware","name":"\#(name)","size":"small","note":"n"\#(rest)}"#
        }
        let lines = [
            #"{"$id":"o","$model":"Owner","name":"new","wares":["w3","w1","w2"]}"#,
            ware("w1", #","owner":"o","labels":["t2","t1"]"#), ware("w2", #","owner":"o","maker":"o""#),
            ware("w3", #","owner":"o","maker":"gone""#),
            #"{"$id":"w4","$model":"Article","title":"w4","size":"large","note":"n"}"#,
            #"{"$id":"t1","$model":"Tag","name":"t1","wares":["w4","w2","w1"]}"#,
            #"{"$id":"t2","$model":"Tag","name":"t2"}"#,
        ]
        #expect(try await expectSame(lines) == nil)
        let wrong = [
            lines[0], ware("w1", #","owner":"o""#), ware("w2", ""), ware("w3", #","owner":"o""#),
        ]
        let error = try #require(try await expectSame(wrong))
        #expect(error.message.contains("Owner.wares lists an object whose Ware.owner does not refer back"), "\(error)")
        let twice = [ware("w1", #","shelf":1,"place":1"#), ware("w2", #","shelf":1,"place":1"#)]
        #expect(try await expectSame(twice)?.message.contains("notUnique") == true)
    }

    @Test("An import is one commit with its changes, which another stack, a search and the history see")
    func commit() async throws {
        let folder = try ScratchFolder()
        let url = try await makeStore("wares.sqlite", in: folder)
        let stack = try await ContextStack.open(.sqlite(url), models: Wares.models, stack: .rootOnly)
        let token = stack.historyToken
        var live = stack.live { try $0.count(Wares.Ware.search("needle")) }.makeAsyncIterator()
        let before = try await live.next()
        #expect(before == 0)
        let owner = try await stack.background { try #require(try $0.first(Wares.Owner.all)).id }
        let result = try await importRecorded(
            [
                #"{"$model":"Ware","name":"ware","size":"small","note":"n","text":"a needle","tags":["t"]}"#,
                "", #"{"$id":"t","$model":"Tag","name":"t"}"#,
                #"{"$model":"Ware","name":"second","size":"small","note":"n","owner":"\#(owner)"}"#,
            ],
            into: url
        )
        #expect(result.inserted.map(\.table) == ["Tag", "Ware"] && result.inserted.map(\.count) == [1, 2])
        #expect(result.lineCount == 4 && result.skippedLineCount == 0)
        let after = try await live.next()
        #expect(after == 1)
        let changes = try #require(try await stack.history(since: token).first)
        #expect(changes.author == "tool" && changes.token.sequence == result.sequence)
        #expect(changes.of(Wares.Ware.self).inserted.count == 2 && changes.of(Wares.Tag.self).inserted.count == 1)
        let name = try await stack.background { context in
            try context.first(Wares.Ware.where { $0.name == "second" })?.owner?.name
        }
        #expect(name == "old")
        try await stack.close()
    }

    @Test("A missing value whose default is code is refused; one whose default is a literal gets it")
    func defaults() async throws {
        let folder = try ScratchFolder()
        let url = folder.file("boxes.sqlite")
        try await folder.with(url, DefaultModels.models) { _ in }
        let error = await #expect(throws: StrataError.self) {
            try await importRecorded([#"{"$model":"Parcel","name":"a"}"#], into: url)
        }
        let text = "line 1, Parcel.number is missing, and only the program can calculate its default value"
        #expect(error?.message.contains(text) == true, "\(String(describing: error))")
        try await importRecorded([#"{"$model":"Parcel","name":"a","number":"x"}"#], into: url)
        #expect(try folder.rows(url, "SELECT name, number, weight FROM Parcel") == ["a|x|2.5"])
    }

    enum DefaultModels {
        @Model final class Parcel {
            var name: String
            var number: String = String(7)
            var weight: Double = 2.5
        }

        @Model final class Badge {
            var name: String
            @Derived var label: String? { name.isEmpty ? nil : "\(name)!" }
        }

        static let models: [any Model.Type] = [Parcel.self, Badge.self]
    }

    @Test("A derived value that is missing is refused, also if it may be nil, because the program would calculate it")
    func missingDerivedValue() async throws {
        let folder = try ScratchFolder()
        let url = folder.file("boxes.sqlite")
        try await folder.with(url, DefaultModels.models) { _ in }
        var options = RecordedImportOptions()
        options.keepsDerivedValues = true
        let error = await #expect(throws: StrataError.self) {
            try await importRecorded([#"{"$model":"Badge","name":"a"}"#], into: url, options)
        }
        let text = "line 1, Badge.label is missing, and only the program can calculate it"
        #expect(error?.message.contains(text) == true, "\(String(describing: error))")
        try await importRecorded([#"{"$model":"Badge","name":"a","label":null}"#], into: url, options)
        #expect(try folder.rows(url, "SELECT name, label IS NULL FROM Badge") == ["a|1"])
    }

    @Test("A stack writes the objects of its own models before and after an import of others")
    func ownModels() async throws {
        let folder = try ScratchFolder()
        let (url, file) = (folder.file("pairs.sqlite"), folder.file("lines"))
        try await folder.with(url, PairModels.models) { _ in }
        try Data(#"{"$model":"First","name":"a"}"#.utf8).write(to: file)
        // `First` has the same index in the record's schema as `Second` in the schema of the stack.
        let stack = try await ContextStack.open(
            .sqlite(url),
            models: [PairModels.Second.self],
            stack: .rootOnly,
            configuration: StoreConfiguration(allowsUnopenedModels: true)
        )
        for _ in 0..<2 {
            try await stack.background { context in
                context.insert(PairModels.Second(name: "b"))
                try context.commit()
            }
            let handle = try FileHandle(forReadingFrom: file)
            _ = try await stack.importRecordedJSONLines(from: handle)
        }
        try await stack.close()
        #expect(try folder.rows(url, "SELECT name FROM First") == ["a", "a"])
        #expect(try folder.rows(url, "SELECT name FROM Second") == ["b", "b"])
    }

    enum PairModels {
        @Model final class First { var name: String }
        @Model final class Second { var name: String }
        static let models: [any Model.Type] = [First.self, Second.self]
    }

    @Test("Checks by code are named, and left out only if the options say so")
    func codeChecks() async throws {
        let folder = try ScratchFolder()
        let url = folder.file("boxes.sqlite")
        try await folder.with(url, DeclaredModels.models) { _ in }
        let slip = #"{"$model":"Slip"}"#
        let error = await #expect(throws: StrataError.self) { try await importRecorded([slip], into: url) }
        #expect(error?.code == .invalidImport && error?.reason == .programCode)
        let text = "line 1, Slip has checks that only its program can run: validate(_:_:)"
        #expect(error?.message.contains(text) == true, "\(String(describing: error))")
        let box = #"{"$model":"Box","name":"b","count":2,"lid":true,"size":"small","madeAt":0}"#
        let second = await #expect(throws: StrataError.self) { try await importRecorded([box], into: url) }
        for text in ["'must be odd' of count", "the type of hidden (Hidden)", "only its program can calculate: label"] {
            #expect(second?.message.contains(text) == true, "\(String(describing: second))")
        }
        var options = RecordedImportOptions()
        options.skipsCodeChecks = true
        try await importRecorded([slip], into: url, options)
        options.keepsDerivedValues = true
        let missing = await #expect(throws: StrataError.self) { try await importRecorded([box], into: url, options) }
        #expect(missing?.message.contains("Box.label is missing") == true, "\(String(describing: missing))")
        try await importRecorded([box.replacing("}", with: #","label":"own"}"#)], into: url, options)
        #expect(try folder.rows(url, "SELECT name, count, label FROM Box") == ["b|2|own"])
    }

    @Test("Declarations that are missing, of another schema or damaged refuse the import")
    func declarations() async throws {
        let folder = try ScratchFolder()
        let url = try await makeStore("wares.sqlite", in: folder)
        let cases: [(String, StrataError.Code)] = [
            ("UPDATE strata_models SET declarations = '{'", .damagedStore),
            ("UPDATE strata_models SET declarations = '{\"form\":1,\"models\":[]}'", .damagedStore),
            ("UPDATE strata_models SET declarations = '{\"form\":9}'", .newerStore),
            ("UPDATE strata_models SET description = ''", .schemaMismatch),
            ("DELETE FROM strata_models", .schemaMismatch),
        ]
        for (statement, code) in cases {
            try folder.sql(url, statement)
            let error = await #expect(throws: StrataError.self) {
                try await importRecorded([Wares.line("")], into: url)
            }
            #expect(error?.code == code, "\(statement): \(String(describing: error))")
            if code == .schemaMismatch { #expect(error?.reason == .missingDeclarations) }
            #expect(try folder.rows(url, "SELECT count(*) FROM Ware") == ["0"])
            // The program records them again.
            try await folder.with(url, Wares.models) { _ in }
        }
        try await importRecorded([Wares.line("")], into: url)
    }
}
