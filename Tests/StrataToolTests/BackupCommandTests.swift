import Foundation
import StoreModels
import Strata
import StrataPipeline
import Testing

private struct Chore: OperationPayload {
    var number: Int
}

@Suite("strata backup", .timeLimit(.minutes(2))) struct BackupCommandTests {
    @Test("The copy is a separate store, and the original stays as it was")
    func copy() async throws {
        let folder = try ScratchFolder()
        let url = try await Press.make(in: folder)
        let before = try folder.image()
        let copy = folder.file("copy.sqlite")
        let run = await ToolRun("backup", url.path, copy.path)
        #expect(run.status == 0, "\(run.messages)")
        #expect(run.lines == ["\(copy.path) is a copy of \(url.path)."])
        var after = try folder.image()
        #expect(after.removeValue(forKey: "copy.sqlite") != nil)
        #expect(after == before)
        let stack = try await Press.open(copy)
        let titles = try await stack.background { context in
            try context.fetch(Press.Article.sorted { $0.title.ascending }).map { $0.title }
        }
        #expect(titles == ["Compilers", "Engines", "Notes"])
        try await stack.close()
    }

    @Test("An existing file is replaced only with the option, and after a question")
    func replacing() async throws {
        let folder = try ScratchFolder()
        let url = try await Press.make(in: folder)
        let copy = folder.file("copy")
        let text = Data("Dear diary".utf8)
        try text.write(to: copy)
        let refused = await ToolRun("backup", url.path, copy.path)
        #expect(refused.status == 1)
        #expect(refused.messages.contains("--replace"))
        let unasked = await ToolRun("backup", url.path, copy.path, "--replace")
        #expect(unasked.status == 1)
        #expect(unasked.messages.contains("Pass --yes to confirm."))
        let no = await ToolRun("backup", url.path, copy.path, "--replace", answer: "")
        #expect(no.status == 1)
        #expect(no.messages.contains("will be replaced") && no.messages.contains("Nothing was changed."))
        #expect(try Data(contentsOf: copy) == text)
        let yes = await ToolRun("backup", url.path, copy.path, "--replace", answer: "y")
        #expect(yes.status == 0, "\(yes.messages)")
        let confirmed = await ToolRun("backup", url.path, copy.path, "--replace", "--yes", "--json")
        #expect(confirmed.status == 0, "\(confirmed.messages)")
        #expect(try confirmed.objects().first?["file"] as? String == copy.path)
        let check = await ToolRun("check", copy.path)
        #expect(check.status == 0, "\(check.output)")
    }

    @Test("The store itself and its journal are not replaced")
    func itself() async throws {
        let folder = try ScratchFolder()
        let url = try await Press.make(in: folder)
        let before = try folder.image()
        for name in ["press.sqlite", "press.sqlite-turn"] {
            let run = await ToolRun("backup", url.path, folder.file(name).path, "--replace", "--yes")
            #expect(run.status == 1)
            #expect(run.messages.contains("cannotOpen"), "\(run.messages)")
            #expect(try folder.image() == before)
        }
    }

    @Test("A store that a process writes to is copied whole")
    func beside() async throws {
        let folder = try ScratchFolder()
        let url = folder.file("bank.sqlite")
        let helper = try HelperProcess("transfer", url.path)
        _ = try await helper.next()
        let copy = folder.file("copy.sqlite")
        let run = await ToolRun("backup", url.path, copy.path)
        #expect(run.status == 0, "\(run.messages)")
        helper.kill()
        await helper.wait()
        let sum = await ToolRun("sql", copy.path, "SELECT sum(balance) AS sum FROM Account", "--json")
        #expect(sum.lines == [#"{"sum":6000}"#])
        let check = await ToolRun("check", copy.path)
        #expect(check.status == 0, "\(check.output)")
    }

    @Test("The copy of a queue does not contain the workers of the original")
    func queue() async throws {
        let folder = try ScratchFolder()
        let url = folder.file("queue.sqlite")
        let stack = try await Press.open(url, models: Press.models + Pipeline.models)
        _ = try await Pipeline.open(stack, named: "chores") { (_: Attempt<Chore>) in .done }
        let sql = "SELECT count(*) AS n FROM PipelineWorker"
        let original = await ToolRun("sql", url.path, sql, "--json")
        #expect(original.lines == [#"{"n":1}"#], "\(original.messages)")
        let copy = folder.file("copy.sqlite")
        let run = await ToolRun("backup", url.path, copy.path)
        #expect(run.status == 0, "\(run.messages)")
        let copied = await ToolRun("sql", copy.path, sql, "--json")
        #expect(copied.lines == [#"{"n":0}"#])
        try await stack.close()
    }
}
