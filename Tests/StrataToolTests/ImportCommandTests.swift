import Foundation
import StoreModels
import Strata
import StrataPipeline
import Testing

@Suite("strata import", .timeLimit(.minutes(3))) struct ImportCommandTests {
    /// An empty store that its program has made.
    private func makeEmpty(_ name: String = "empty.sqlite", in folder: ScratchFolder) async throws -> URL {
        let url = folder.file(name)
        try await Press.open(url).close()
        return url
    }

    private func write(_ lines: String..., to name: String = "lines.jsonl", in folder: ScratchFolder) throws -> URL {
        let file = folder.file(name)
        try Data(lines.map { $0 + "\n" }.joined().utf8).write(to: file)
        return file
    }

    /// The sorted lines of a store, with the names of objects in place of their ids.
    private func content(_ url: URL) async throws -> [String] {
        let run = await ToolRun("export", url.path)
        let objects = try run.objects()
        var names: [String: String] = [:]
        for object in objects {
            let id = try #require(object["$id"] as? String)
            names[id] = "\(object["$model"] ?? "") \(object["name"] ?? object["title"] ?? "")"
        }
        return try objects.map { object in
            var named = object.mapValues { value -> Any in
                if let text = value as? String { return names[text] ?? text }
                if let texts = value as? [String] { return texts.map { names[$0] ?? $0 } }
                return value
            }
            // These members are unordered.
            if let tags = named["tags"] as? [String] { named["tags"] = tags.sorted() }
            let data = try JSONSerialization.data(withJSONObject: named, options: .sortedKeys)
            return String(decoding: data, as: UTF8.self)
        }.sorted()
    }

    // MARK: Imports

    @Test("An exported file is imported into another store, as one commit of the operator")
    func roundTrip() async throws {
        let folder = try ScratchFolder()
        let source = try await Press.make(in: folder)
        let file = folder.file("press.jsonl")
        #expect(await ToolRun("export", source.path, "--output", file.path).status == 0)
        let url = try await makeEmpty(in: folder)
        let run = await ToolRun("import", url.path, file.path, "--yes", "--by", "ada")
        #expect(run.status == 0, "\(run.messages)")
        #expect(run.lines == ["5 objects were imported into \(url.path): Article 3, Author 2."])
        #expect(try await content(url) == content(source))
        let check = await ToolRun("check", url.path)
        #expect(check.status == 0 && check.output.isEmpty, "\(check.output)")
        let history = await ToolRun("history", url.path)
        #expect(history.lines.count == 1 && history.output.contains("ada  Article +3, Author +2"), "\(history.output)")
        // The program reads the objects and continues.
        let stack = try await Press.open(url)
        let names = try await stack.background { context in
            context.insert(Press.Author(name: "Zoe"))
            try context.commit()
            return try context.fetch(Press.Author.sorted { $0.name.ascending }).map(\.name)
        }
        #expect(names == ["Ada", "Grace", "Zoe"])
        try await stack.close()
    }

    @Test("Models with code of the program are refused by name, and with both flags stored as the program stores them")
    func allKinds() async throws {
        let folder = try ScratchFolder()
        let source = try await Depot.make(in: folder)
        let file = folder.file("depot.jsonl")
        #expect(await ToolRun("export", source.path, "--output", file.path).status == 0)
        let (tool, program) = (folder.file("tool.sqlite"), folder.file("program.sqlite"))
        for url in [tool, program] { try await Depot.open(url).close() }

        for flags in [[], ["--skip-code-checks"], ["--keep-derived-values"]] {
            let refused = await ToolRun(["import", tool.path, file.path, "--yes"] + flags)
            #expect(refused.status == 1 && refused.output.isEmpty)
            #expect(refused.messages.contains("Shelf has "), "\(refused.messages)")
            let checks = refused.messages.contains("the type of kind (Kind)")
            #expect(checks == !flags.contains("--skip-code-checks"), "\(refused.messages)")
            let derived = refused.messages.contains("only its program can calculate: label")
            #expect(derived == !flags.contains("--keep-derived-values"), "\(refused.messages)")
            #expect(await ToolRun("export", tool.path).output.isEmpty)
        }

        let run = await ToolRun(
            ["import", tool.path, file.path, "--yes", "--skip-code-checks", "--keep-derived-values"]
        )
        let text = "7 objects were imported into \(tool.path): Room 1, Tag 3, shelves 3."
        #expect(run.lines == [text], "\(run.messages)")
        let stack = try await Depot.open(program)
        try await stack.importJSONLines(from: file)
        try await stack.close()
        let (own, other, original) = (try await content(tool), try await content(program), try await content(source))
        #expect(own == other && own == original)
        let check = await ToolRun("check", tool.path)
        #expect(check.status == 0, "\(check.output)")
        let reopened = try await Depot.open(tool)
        let shelf = try await reopened.background { context in
            let full = try #require(try context.first(Depot.Shelf.where { $0.name == "a" }))
            return "\(full.kind) \(full.secret?.text ?? "") \(full.label) \(full.photo?.count ?? 0)"
        }
        #expect(shelf == "large open sesame a! 5000")
        try await reopened.close()
    }

    @Test("Lines of other models than the named ones are skipped, and lines may refer to objects of the store")
    func models() async throws {
        let folder = try ScratchFolder()
        let url = try await makeEmpty(in: folder)
        let file = try write(
            #"{"$id":"1","$model":"Author","name":"Ada"}"#,
            #"{"$model":"Article","title":"Engines","views":1,"author":null}"#,
            in: folder
        )
        let run = await ToolRun("import", url.path, file.path, "--yes", "--model", "Author")
        #expect(run.lines == ["1 object was imported into \(url.path): Author 1."], "\(run.messages)")
        #expect(run.messages.contains("skipped: 1"), "\(run.messages)")
        let id = try #require(try await ToolRun("export", url.path, "--table", "Author").objects()[0]["$id"] as? String)
        let second = try write(#"{"$model":"Article","title":"Notes","author":"\#(id)"}"#, in: folder)
        let json = await ToolRun("import", url.path, second.path, "--yes", "--json")
        let result = try #require(try json.objects().first, "\(json.messages)")
        #expect(result["lines"] as? Int == 1 && result["isDryRun"] as? Bool == false && result["commit"] as? Int == 2)
        #expect(result["inserted"] as? [String: Int] == ["Article": 1])
        // The default value of `views` is a literal, which the store records.
        #expect(try await content(url)[0].contains(#""author":"Author Ada""#))
        #expect(try await content(url)[0].contains(#""views":0"#))
        let unknown = await ToolRun("import", url.path, file.path, "--yes", "--model", "Writer")
        #expect(unknown.status == 1 && unknown.messages.contains("has no model 'Writer'"), "\(unknown.messages)")
    }

    @Test("A dry run checks all lines, asks nothing and changes nothing")
    func dryRun() async throws {
        let folder = try ScratchFolder()
        let url = try await makeEmpty(in: folder)
        let file = try write(#"{"$model":"Author","name":"Ada"}"#, #"{"$model":"Author","name":"Bob"}"#, in: folder)
        let run = await ToolRun("import", url.path, file.path, "--dry-run")
        #expect(run.status == 0, "\(run.messages)")
        #expect(run.lines == ["2 objects would be imported into \(url.path): Author 2."])
        let json = await ToolRun("import", url.path, file.path, "--dry-run", "--json")
        #expect(try json.objects().first?["commit"] is NSNull)
        let wrong = try write(#"{"$model":"Author","name":"Ada"}"#, #"{"$model":"Author"}"#, in: folder)
        let refused = await ToolRun("import", url.path, wrong.path, "--dry-run")
        #expect(refused.status == 1 && refused.messages.contains("line 2, Author.name is missing"))
        #expect(await ToolRun("export", url.path).output.isEmpty)
        #expect(await ToolRun("history", url.path).output.isEmpty)
    }

    @Test("The command asks first, and imports nothing without a yes or without a terminal")
    func question() async throws {
        let folder = try ScratchFolder()
        let url = try await makeEmpty(in: folder)
        let file = try write(#"{"$model":"Author","name":"Ada"}"#, in: folder)
        let no = await ToolRun("import", url.path, file.path, answer: "n")
        #expect(no.status == 1 && no.messages.contains("will be inserted"), "\(no.messages)")
        let none = await ToolRun("import", url.path, file.path)
        #expect(none.status == 1 && none.messages.contains("--yes"), "\(none.messages)")
        let terminal = await ToolRun("import", url.path, answer: "y")
        #expect(terminal.status == 1 && terminal.messages.contains("standard input is a terminal"))
        #expect(await ToolRun("export", url.path).output.isEmpty)
        let yes = await ToolRun("import", url.path, file.path, answer: "y")
        #expect(yes.status == 0, "\(yes.messages)")
    }

    // MARK: Refusals

    @Test("A store whose program has not recorded its models is refused, until the program opens it")
    func missingDeclarations() async throws {
        let folder = try ScratchFolder()
        let url = try await makeEmpty(in: folder)
        try Press.change(url, "DROP TABLE strata_models", "DELETE FROM strata_layout WHERE name = 'strata_models'")
        let file = try write(#"{"$model":"Author","name":"Ada"}"#, in: folder)
        let refused = await ToolRun("import", url.path, file.path, "--yes")
        #expect(refused.status == 1)
        #expect(refused.messages.contains("Open the store once with its program"), "\(refused.messages)")
        try await Press.open(url).close()
        let run = await ToolRun("import", url.path, file.path, "--yes")
        #expect(run.status == 0, "\(run.messages)")
    }

    @Test("Lines of queues are refused")
    func queues() async throws {
        let folder = try ScratchFolder()
        let url = folder.file("press.sqlite")
        let stack = try await Press.open(url, models: Press.models + Pipeline.models)
        try await stack.background { context in
            context.enqueue(QueueStore.Resize(file: "a.jpg", width: 1), in: "photos")
            try context.commit()
        }
        try await stack.close()
        let file = folder.file("queue.jsonl")
        let export = await ToolRun("export", url.path, "--table", "QueuedOperation", "--output", file.path)
        #expect(export.status == 0)
        let run = await ToolRun(["import", url.path, file.path, "--yes", "--skip-code-checks", "--keep-derived-values"])
        #expect(run.status == 1)
        #expect(run.messages.contains("QueuedOperation is a model whose objects only its engine"), "\(run.messages)")
        // Other models of such a store can be imported.
        let author = try write(#"{"$model":"Author","name":"Ada"}"#, in: folder)
        let other = await ToolRun("import", url.path, author.path, "--yes")
        #expect(other.status == 0, "\(other.messages)")
    }

    /// Wrong second lines, each with a part of the message.
    private static let wrongLines: [(line: Data, message: String)] = [
        (Data(#"{"$model":"Nobody"}"#.utf8), "line 2, $model is 'Nobody'"),
        (Data(#"{"$model":"Author","name":"b","age":3}"#.utf8), "Author.age is not a property"),
        (Data(#"{"$model":"Author","name":7}"#.utf8), "line 2, Author.name cannot be read"),
        (Data(#"{"$model":"Author","name":null}"#.utf8), "Author.name must have a value"),
        (Data(#"{"$model":"Author","name":"a"}"#.utf8), "notUnique"),
        (Data(#"{"$model":"Article","title":"t","author":"Author-9-1"}"#.utf8), "refers to 'Author-9-1'"),
        (Data(#"{"$model":"Author","name":"b","articles":["x"]}"#.utf8), "must be given by the relationship"),
        (Data(#"{"$model":"Author","na"#.utf8), "line 2"),
        (Data(#"{"$model":"Author","name":"b"}{}"#.utf8), "line 2"),
        (Data(#"{"$model":"Author","name":""#.utf8) + Data([0xFF, 0xFE]) + Data(#""}"#.utf8), "line 2"),
        (Data(#"{"$model":"Author","name":""#.utf8) + Data([0]) + Data(#""}"#.utf8), "line 2"),
        (Data(#"{"$model":"Author","name":"b","name":"c"}"#.utf8), "Author.name is given twice"),
    ]

    @Test(
        "A wrong line ends the import with its number, and nothing is imported",
        arguments: Self.wrongLines
    )
    func wrongLine(line: Data, message: String) async throws {
        let folder = try ScratchFolder()
        let url = try await makeEmpty(in: folder)
        let file = folder.file("lines.jsonl")
        let (first, last) = (#"{"$model":"Author","name":"a"}"#, #"{"$model":"Author","name":"z"}"#)
        try (Data("\(first)\n".utf8) + line + Data("\n\(last)\n".utf8)).write(to: file)
        let run = await ToolRun("import", url.path, file.path, "--yes")
        #expect(run.status == 1 && run.output.isEmpty)
        #expect(run.messages.contains("Nothing was imported") && run.messages.contains(message), "\(run.messages)")
        #expect(await ToolRun("export", url.path).output.isEmpty)
        let check = await ToolRun("check", url.path)
        #expect(check.status == 0, "\(check.output)")
    }

    @Test("A value of ten megabytes and an escaped NUL are stored as the program stores them")
    func largeValue() async throws {
        let folder = try ScratchFolder()
        let url = try await makeEmpty(in: folder)
        let name = String(repeating: "ü", count: 5 << 20)
        let file = try write(
            #"{"$model":"Author","name":"\#(name)"}"#,
            #"{"$model":"Author","name":"a\u0000b"}"#,
            in: folder
        )
        let run = await ToolRun("import", url.path, file.path, "--yes")
        #expect(run.status == 0, "\(run.messages)")
        let stack = try await Press.open(url)
        let names = try await stack.background { try $0.fetch(Press.Author.all).map(\.name) }
        #expect(Set(names) == [name, "a\u{0}b"])
        try await stack.close()
    }

    @Test("A file that is missing or a folder is refused")
    func missingFile() async throws {
        let folder = try ScratchFolder()
        let url = try await makeEmpty(in: folder)
        for path in [folder.file("none").path, folder.url.path] {
            let run = await ToolRun("import", url.path, path, "--yes")
            #expect(run.status == 1 && run.messages.contains("cannot be read"), "\(run.messages)")
        }
        let store = await ToolRun("import", folder.file("none.sqlite").path, url.path, "--yes")
        #expect(store.status == 1 && store.messages.contains("does not exist"), "\(store.messages)")
    }

    // MARK: Processes

    @Test("A program that has the store open sees the objects that another process imports from a pipe")
    func openStore() async throws {
        let folder = try ScratchFolder()
        let url = try await makeEmpty(in: folder)
        let file = try write(#"{"$model":"Author","name":"Ada"}"#, #"{"$model":"Author","name":"Bob"}"#, in: folder)
        let stack = try await Press.open(url)
        var counts = stack.live { try $0.count(Press.Author.all) }.makeAsyncIterator()
        let before = try await counts.next()
        #expect(before == 0)
        let strata = HelperProcess.folder.appendingPathComponent("strata").path
        let process = Process()
        process.executableURL = URL(filePath: "/bin/sh")
        process.arguments = ["-c", #"cat "$2" | "$0" import "$1" - --yes > /dev/null"#, strata, url.path, file.path]
        let (ended, end) = AsyncStream.makeStream(of: Void.self)
        process.terminationHandler = { _ in end.finish() }
        try process.run()
        for await _ in ended {}
        #expect(process.terminationStatus == 0)
        let imported = try await counts.next()
        #expect(imported == 2)
        // The program writes and commits beside it.
        try await stack.background { context in
            context.insert(Press.Author(name: "Zoe"))
            try context.commit()
        }
        let last = try await counts.next()
        #expect(last == 3)
        try await stack.close()
    }

    @Test("A killed import leaves all objects or none")
    func killed() async throws {
        let folder = try ScratchFolder()
        let url = try await makeEmpty(in: folder)
        let file = folder.file("lines.jsonl")
        let (count, rest) = (40_000, String(repeating: "x", count: 800))
        let lines = (0..<count).map { #"{"$model":"Author","name":"\#($0)\#(rest)"}"# + "\n" }
        try Data(lines.joined().utf8).write(to: file)
        // The pages of the import do not fit into the cache, so the journal grows before the commit.
        let process = try HelperProcess(helper: "strata", ["import", url.path, file.path, "--yes"])
        let journal = url.path + "-wal"
        for _ in 0..<3000 {
            var info = stat()
            if stat(journal, &info) == 0, info.st_size > 1 << 20 { break }
            try await Task.sleep(for: .milliseconds(10))
        }
        process.kill()
        await process.wait()
        let stack = try await Press.open(url)
        let found = try await stack.background { try $0.count(Press.Author.all) }
        #expect(found == 0 || found == count)
        #expect(try await stack.check() == [])
        try await stack.close()
    }
}
