import FileHome
import Foundation
import StoreModels
import Strata
import Testing

@Suite("strata inspect", .timeLimit(.minutes(2))) struct InspectTests {
    @Test("The store is described without the models of its program")
    func text() async throws {
        let folder = try ScratchFolder()
        let url = try await Press.make(in: folder)
        let run = await ToolRun("inspect", url.path)
        #expect(run.status == 0, "\(run.messages)")
        #expect(run.messages.isEmpty)
        let lines = run.lines
        #expect(lines.contains("file       \(url.path)"))
        #expect(lines.contains("steps      none"))
        #expect(lines.contains { $0.hasPrefix("history    2 commits, ") })
        #expect(lines.contains { $0.hasPrefix("newest     commit 2, ") && $0.hasSuffix("Z, editor") })
        #expect(lines.contains { $0.hasPrefix("rate       ") && $0.hasSuffix(" minute, 2 in the last hour") })
        #expect(lines.contains { $0.hasPrefix("Article  Article     3  ") })
        let schema = try #require(lines.firstIndex(of: "model Article"))
        let text = try ContextStack.schemaText(of: Press.models)
        #expect(lines[schema...].joined(separator: "\n") + "\n" == text)
    }

    @Test("The JSON has the documented fields")
    func json() async throws {
        let folder = try ScratchFolder()
        let url = try await Press.make(in: folder)
        let run = await ToolRun("inspect", url.path, "--json")
        #expect(run.status == 0, "\(run.messages)")
        let objects = try run.objects()
        #expect(objects.count == 1)
        let object = try #require(objects.first)
        let fields = [
            "file", "pageSize", "pageCount", "freePageCount", "compactsInPortions", "journalSize", "externalSize",
            "format", "version", "migrations", "steps", "history", "newest", "home", "processes", "tables", "schema",
        ]
        #expect(Set(object.keys) == Set(fields))
        #expect(object["pageSize"] as? Int == 4096)
        #expect(object["home"] is NSNull)
        let history = try #require(object["history"] as? [String: Any])
        #expect(Set(history.keys) == ["commitCount", "size", "lastMinute", "lastHour"])
        #expect(history["commitCount"] as? Int == 2 && history["lastHour"] as? Int == 2)
        #expect((object["newest"] as? [String: Any])?["author"] as? String == "editor")
        let tables = try #require(object["tables"] as? [[String: Any]])
        #expect(tables.map { $0["subject"] as? String } == ["Article", "Author"])
        #expect(tables.map { $0["rowCount"] as? Int } == [3, 2])
        let columns = try #require(tables.first?["columns"] as? [[String: Any]])
        #expect(columns.map { $0["name"] as? String } == ["title", "views", "author"])
        #expect(columns.map { $0["references"] as? String } == [nil, nil, "Author"])
        let schema = try ContextStack.schemaText(of: Press.models)
        #expect(object["schema"] as? String == schema)
    }

    @Test("A working copy names its home, its node and its last transaction, without the home")
    func workingCopy() async throws {
        let folder = try ScratchFolder()
        let (home, copy) = (folder.file("home.sqlite"), folder.file("copy.sqlite"))
        let stack = try await ContextStack.open(
            .shared(FileHome(home), copy: copy),
            models: Press.models,
            stack: .rootOnly
        )
        try await stack.background { context in
            context.insert(Press.Author(name: "Ada"))
            try context.commit()
        }
        try await stack.close()
        try FileManager.default.removeItem(at: home)
        let run = await ToolRun("inspect", copy.path)
        #expect(run.status == 0, "\(run.messages)")
        #expect(run.lines.contains("home       file:\(home.path)"))
        #expect(run.lines.contains { $0.hasPrefix("node       ") && $0.hasSuffix(":\(copy.path)") })
        // The first transaction has created the store.
        #expect(run.lines.contains("position   transaction 2"))
        #expect(run.lines.contains { $0.hasPrefix("lag        the newest commit of this copy is ") })
        let json = await ToolRun("inspect", copy.path, "--json")
        let object = try #require(try json.objects().first?["home"] as? [String: Any])
        #expect(Set(object.keys) == ["name", "node", "transaction", "id", "newest", "behind", "ahead", "error"])
        #expect(["newest", "behind", "ahead", "error"].allSatisfy { object[$0] is NSNull })
        #expect(object["name"] as? String == "file:\(home.path)")
        #expect(object["transaction"] as? Int == 2)
        #expect((object["id"] as? String).flatMap { UUID(uuidString: $0) } != nil)
    }

    @Test("A process that has the store open is named, and its newest commits are seen")
    func process() async throws {
        let folder = try ScratchFolder()
        let url = folder.file("bank.sqlite")
        let helper = try HelperProcess("transfer", url.path)
        // Each line acknowledges a commit.
        let line = try await helper.next()
        let position = try #require(line.split(separator: " ").first.flatMap { Int($0) })
        let run = await ToolRun("inspect", url.path, "--json")
        #expect(run.status == 0, "\(run.messages)")
        let object = try #require(try run.objects().first)
        let processes = try #require(object["processes"] as? [String: Any])
        let list = try #require(processes["list"] as? [[String: Any]])
        #expect(list.map { $0["id"] as? Int } == [Int(helper.id)])
        #expect(list.map { $0["command"] as? String } == ["strata-crash"])
        let newest = try #require((object["newest"] as? [String: Any])?["sequence"] as? Int)
        #expect(newest >= position)
        helper.kill()
        await helper.wait()
    }

    @Test("A store that no process has open is read, and stays as it was")
    func unchanged() async throws {
        let folder = try ScratchFolder()
        let url = try await Press.make(in: folder)
        let before = try folder.image()
        for arguments in [["inspect", url.path], ["sql", url.path, "SELECT count(*) FROM Article"]] {
            let run = await ToolRun(arguments)
            #expect(run.status == 0, "\(run.messages)")
            #expect(try folder.image() == before)
        }
    }

    @Test("A store without write permission is read")
    func protected() async throws {
        let folder = try ScratchFolder()
        let url = try await Press.make(in: folder)
        #expect(chmod(url.path, 0o444) == 0)
        #expect(chmod(folder.url.path, 0o555) == 0)
        defer { chmod(folder.url.path, 0o755) }
        let run = await ToolRun("inspect", url.path)
        #expect(run.status == 0, "\(run.messages)")
        #expect(run.lines.contains("journal    0 bytes"))
    }
}
