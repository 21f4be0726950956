import Foundation
import StoreModels
import Strata
import StrataPipeline
import Testing

@Suite("strata export", .timeLimit(.minutes(2))) struct ExportCommandTests {
    /// The lines of a program's own export.
    private func programLines(_ url: URL) async throws -> [String] {
        let stack = try await Depot.open(url)
        var lines: [String] = []
        for try await line in stack.jsonLines() { lines.append(line) }
        try await stack.close()
        return lines
    }

    @Test("The lines are those that the program exports, for attributes and relationships of all kinds")
    func sameFormat() async throws {
        let folder = try ScratchFolder()
        let url = try await Depot.make(in: folder)
        let before = try folder.image()
        let run = await ToolRun("export", url.path)
        #expect(run.status == 0 && run.messages.isEmpty, "\(run.messages)")
        #expect(try folder.image() == before)
        let own = try await programLines(url)
        #expect(own.count == 7)
        // On the standard output, invisible characters are escaped.
        let plain = run.lines.map {
            $0.replacingOccurrences(of: "\\u202e", with: "\u{202E}").replacingOccurrences(of: "\\u007f", with: "\u{7F}")
        }
        #expect(plain.sorted() == own.sorted())
        // A terminal would obey these.
        #expect(run.output.unicodeScalars.allSatisfy { $0 != "\u{202E}" && $0 != "\u{7F}" })
    }

    @Test("A program imports the exported file, and then has the same objects and orders")
    func imported() async throws {
        let folder = try ScratchFolder()
        let url = try await Depot.make(in: folder)
        let file = folder.file("depot.jsonl")
        let run = await ToolRun("export", url.path, "--output", file.path)
        #expect(run.lines == ["7 objects were written to \(file.path)."], "\(run.messages)")
        let copy = folder.file("copy.sqlite")
        let stack = try await Depot.open(copy)
        let changes = try await stack.importJSONLines(from: file)
        #expect(changes.of(Depot.Shelf.self).inserted.count == 3)
        let (shelves, tags, ranking, text) = try await stack.background { context in
            let room = try #require(try context.first(Depot.Room.all))
            let full = try #require(try context.first(Depot.Shelf.where { $0.name == "a" }))
            let tag = try #require(try context.first(Depot.Tag.where { $0.name == "t" }))
            let values = "\(full.total) \(full.weight) \(full.kind) \(full.secret?.text ?? "") \(full.label)"
            #expect(full.photo == Data(repeating: 9, count: 5000))
            #expect(full.price == Decimal(string: "12345678901234567890.12"))
            let unordered = try full.tags.fetch().map(\.name)
            #expect(Set(unordered) == ["t", "v"])
            return (
                try room.shelves.fetch().map(\.name), try full.ranked.fetch().map(\.name),
                try tag.ranking.fetch().map(\.name), values
            )
        }
        #expect(shelves == ["c", "b", "a"])
        #expect(tags == ["u", "v", "t"])
        #expect(ranking == ["a", "c", "b"])
        #expect(text == "\(UInt64.max) -inf large open sesame a!")
        try await stack.close()
        // The copy was filled by an import, which numbers the places of both sides. Its export can be imported too.
        let again = await ToolRun("export", copy.path, "--output", folder.file("again.jsonl").path)
        #expect(again.status == 0, "\(again.messages)")
        let third = try await Depot.open(folder.file("third.sqlite"))
        try await third.importJSONLines(from: folder.file("again.jsonl"))
        let count = try await third.background { try $0.count(Depot.Tag.where { $0.name == "v" }) }
        #expect(count == 1)
        try await third.close()
    }

    @Test("A store without the declarations of its models is exported with both sides of each relationship")
    func unrecorded() async throws {
        let folder = try ScratchFolder()
        let url = try await Depot.make(in: folder)
        try Press.change(
            url,
            "DROP TABLE strata_models",
            "DELETE FROM strata_layout WHERE name = 'strata_models'"
        )
        let run = await ToolRun("export", url.path, "--table", "Tag")
        let tag = try #require(try run.objects().first { $0["name"] as? String == "t" })
        #expect((tag["shelves"] as? [String])?.count == 1 && (tag["ranking"] as? [String])?.count == 3)
    }

    @Test("Tables are selected by their names or by those of their models, and exported once")
    func tables() async throws {
        let folder = try ScratchFolder()
        let url = try await Depot.make(in: folder)
        for name in ["Shelf", "shelves"] {
            let run = await ToolRun("export", url.path, "--table", name)
            #expect(
                try run.objects().map { $0["$model"] as? String } == ["Shelf", "Shelf", "Shelf"],
                "\(run.messages)"
            )
        }
        let several = await ToolRun("export", url.path, "--table", "Tag", "--table", "Room", "--table", "Tag")
        #expect(try several.objects().map { $0["$model"] as? String } == ["Tag", "Tag", "Tag", "Room"])
        let unknown = await ToolRun("export", url.path, "--table", "Shelves")
        #expect(unknown.status == 1 && unknown.output.isEmpty)
        #expect(unknown.messages.contains("has no table 'Shelves'"), "\(unknown.messages)")
        let relationship = await ToolRun("export", url.path, "--table", "shelves_tags")
        #expect(relationship.status == 1)
        #expect(relationship.messages.contains("is a relationship"), "\(relationship.messages)")
    }

    @Test("Tables of queues are exported only by name")
    func queues() async throws {
        let folder = try ScratchFolder()
        let url = folder.file("press.sqlite")
        let stack = try await Press.open(url, models: Press.models + Pipeline.models)
        try await stack.background { context in
            context.insert(Press.Author(name: "Ada"))
            context.enqueue(QueueStore.Resize(file: "a.jpg", width: 1), in: "photos")
            try context.commit()
        }
        try await stack.close()
        let run = await ToolRun("export", url.path)
        #expect(try run.objects().map { $0["$model"] as? String } == ["Author"])
        #expect(run.messages.contains("are left out"), "\(run.messages)")
        let named = await ToolRun("export", url.path, "--table", "QueuedOperation")
        #expect(try named.objects().map { $0["pipeline"] as? String } == ["photos"])
        #expect(named.messages.isEmpty)
    }

    @Test("An existing file, the store and the files beside it are not written")
    func existingFiles() async throws {
        let folder = try ScratchFolder()
        let url = try await Press.make(in: folder)
        try Data("Dear diary".utf8).write(to: folder.file("diary"))
        let before = try folder.image()
        for name in ["diary", "press.sqlite", "press.sqlite-wal", "press.sqlite-shm", "press.sqlite-journal"] {
            let run = await ToolRun("export", url.path, "--output", folder.file(name).path)
            #expect(run.status == 1 && run.output.isEmpty, "\(name)")
            #expect(run.messages.hasPrefix("strata: cannotOpen: "), "\(run.messages)")
            #expect(try folder.image() == before, "\(name)")
        }
        let missing = await ToolRun("export", url.path, "--output", folder.file("none/x").path)
        #expect(missing.status == 1 && missing.messages.contains("cannotOpen"), "\(missing.messages)")
        let json = await ToolRun("export", url.path, "--output", folder.file("new").path, "--json")
        #expect(try json.objects().first?["count"] as? Int == 5)
        let lines = try String(contentsOf: folder.file("new"), encoding: .utf8).split(separator: "\n")
        #expect(lines.count == 5)
    }

    @Test("A value of the wrong storage class ends the export, and no file stays")
    func wrongValue() async throws {
        let folder = try ScratchFolder()
        let url = try await Press.make(in: folder)
        try Press.change(url, "UPDATE Article SET views = 'many' WHERE title = 'Notes'")
        let before = try folder.image()
        let run = await ToolRun("export", url.path, "--output", folder.file("new").path)
        #expect(run.status == 1)
        #expect(run.messages.contains("undecodable") && run.messages.contains("Article.views"), "\(run.messages)")
        #expect(try folder.image() == before)
    }

    @Test("The version of the models is in the lines")
    func version() async throws {
        let folder = try ScratchFolder()
        let url = folder.file("press.sqlite")
        let stack = try await ContextStack.open(
            .sqlite(url),
            models: Press.models,
            stack: .rootOnly,
            migration: Migration(version: 3)
        )
        try await stack.background { context in
            context.insert(Press.Author(name: "Ada"))
            try context.commit()
        }
        try await stack.close()
        let run = await ToolRun("export", url.path)
        #expect(try run.objects().map { $0["$version"] as? Int } == [3], "\(run.messages)")
    }
}
