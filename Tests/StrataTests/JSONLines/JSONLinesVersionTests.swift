import Foundation
import Testing

@testable import Strata

enum EarlierTexts {
    @Model final class Writer { var name: String }
    @Model final class Text {
        var heading: String
        var author: Writer?
        @Relationship(inverse: \Label.texts) var labels: Many<Label>
    }
    @Model final class Label {
        var word: String
        var texts: Many<Text>
    }
}

enum LaterTexts {
    @Model(originalName: "Writer") final class Author { var name: String }
    @Model final class Text {
        @Attribute(originalName: "heading") var title: String
        @Relationship(originalName: "author") var writer: Author?
        @Relationship(inverse: \Label.texts, originalName: "labels") var tags: Many<Label>
    }
    @Model final class Label {
        var word: String
        var texts: Many<Text>
    }
}

@Suite("Lines from other versions of the models") struct JSONLinesVersionTests {
    private let earlier: [any Model.Type] = [EarlierTexts.Writer.self, EarlierTexts.Text.self, EarlierTexts.Label.self]
    private let later: [any Model.Type] = [LaterTexts.Author.self, LaterTexts.Text.self, LaterTexts.Label.self]

    private func open(_ models: [any Model.Type], version: Int = 0) async throws -> ContextStack {
        try await ContextStack.open(
            .inMemory,
            models: models,
            stack: .rootOnly,
            migration: Migration(version: version)
        )
    }

    private func lines(_ stack: ContextStack) async throws -> [String] {
        var lines: [String] = []
        for try await line in stack.jsonLines() { lines.append(line) }
        return lines
    }

    private func makeEarlier(version: Int = 0) async throws -> ContextStack {
        let stack = try await open(earlier, version: version)
        try await stack.background { context in
            let text = EarlierTexts.Text(
                heading: "The Left Hand of Darkness",
                author: EarlierTexts.Writer(name: "Ursula")
            )
            context.insert(text)
            text.labels.insert(EarlierTexts.Label(word: "winter"))
            try context.commit()
        }
        return stack
    }

    @Test("An import knows the original names of models, attributes and relationships")
    func originalNames() async throws {
        let old = try await makeEarlier()
        let new = try await open(later)
        try await new.importJSONLines(try await lines(old))
        try await new.background { context in
            let text = try #require(try context.first(LaterTexts.Text.all))
            #expect(text.title == "The Left Hand of Darkness" && text.writer?.name == "Ursula")
            #expect(try text.tags.fetch().map(\.word) == ["winter"])
        }
        try await old.close()
        try await new.close()
    }

    @Test("A property that is given by both of its names is refused")
    func twice() async throws {
        let stack = try await open(later)
        for line in [
            #"{"$model":"Text","title":"a","heading":"b"}"#, #"{"$model":"Text","title":"a","tags":[],"labels":[]}"#,
            #"{"$model":"Text","title":"a","writer":null,"author":"b"}"#,
        ] {
            let error = await #expect(throws: StrataError.self) { try await stack.importJSONLines([line]) }
            #expect(error?.message.contains("is given twice") == true, "\(error?.message ?? "")")
        }
        try await stack.close()
    }

    @Test(
        "A key that appears twice in a line is refused",
        arguments: [
            (#"{"$model":"Label","word":"a","word":"b"}"#, "line 1, Label.word is given twice"),
            (#"{"$model":"Label","word":"a","w\u006frd":"b"}"#, "line 1, Label.word is given twice"),
            (#"{"$model":"Label","$model":"Label","word":"a"}"#, "line 1, Label.$model is given twice"),
            (#"{"$model":"Text","heading":"a","heading":"b"}"#, "line 1, Text.heading is given twice"),
        ]
    )
    func repeatedKeys(line: String, message: String) async throws {
        let stack = try await open(later)
        let error = await #expect(throws: StrataError.self) { try await stack.importJSONLines([line]) }
        #expect(error?.message.contains(message) == true, "\(error?.message ?? "")")
        // Braces, brackets, colons and quotation marks within texts do not count as syntax of the line.
        try await stack.importJSONLines([#"{"$model":"Label","$id":"a:\"b\":{[","word":"\\\":\"}],{\"word\":1"}"#])
        #expect(try await stack.background { try $0.count(LaterTexts.Label.all) } == 1)
        try await stack.close()
    }

    @Test(
        "A line with former names is checked like other lines",
        arguments: [
            (#"{"$model":"Text","heading":"a","other":1}"#, "line 1, Text.other is not a property"),
            (#"{"$model":"Text","heading":null}"#, "line 1, Text.title must have a value"),
            (#"{"$model":"Text","heading":1}"#, "line 1, Text.heading cannot be read"),
            (#"{"$model":"Text","heading":"a","labels":null}"#, "line 1, Text.labels cannot be read"),
        ]
    )
    func formerNames(line: String, message: String) async throws {
        let stack = try await open(later)
        let error = await #expect(throws: StrataError.self) { try await stack.importJSONLines([line]) }
        #expect(error?.message.contains(message) == true, "\(error?.message ?? "")")
        try await stack.close()
    }

    @Test("Exports include the version of the models, and lines of a newer version are refused")
    func versions() async throws {
        let old = try await makeEarlier(version: 2)
        let written = try await lines(old)
        #expect(written.allSatisfy { $0.contains(#""$version":2"#) } && written.count == 3)
        let new = try await open(later, version: 3)
        try await new.importJSONLines(written)
        await #expect(throws: StrataError.self) { try await old.importJSONLines(try await lines(new)) }
        // They are refused even if the models know all names.
        let newer = written.map { $0.replacingOccurrences(of: #""$version":2"#, with: #""$version":3"#) }
        let error = await #expect(throws: StrataError.self) { try await old.importJSONLines(newer) }
        #expect(error?.code == .invalidImport)
        #expect(
            error?.message.contains("line 1, $version is 3, newer than version 2") == true,
            "\(error?.message ?? "")"
        )
        #expect(try await old.background { try $0.count(EarlierTexts.Text.all) } == 1)
        // Without a version the lines do not contain one.
        let none = try await makeEarlier()
        #expect(try await lines(none).allSatisfy { !$0.contains("$version") })
        for stack in [old, new, none] { try await stack.close() }
    }
}
