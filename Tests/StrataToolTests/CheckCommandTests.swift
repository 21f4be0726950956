import CloudScenarios
import Foundation
import StoreModels
import Strata
import StrataPipeline
import Testing

@Suite("strata check", .timeLimit(.minutes(2))) struct CheckCommandTests {
    @Test("A store without faults prints nothing")
    func healthy() async throws {
        let folder = try ScratchFolder()
        let url = try await Press.make(in: folder)
        let before = try folder.image()
        let run = await ToolRun("check", url.path)
        #expect(run.status == 0)
        #expect(run.output.isEmpty, "\(run.output)")
        #expect(run.messages.isEmpty, "\(run.messages)")
        #expect(try folder.image() == before)
    }

    @Test("A fault is printed, and the exit status is 1")
    func fault() async throws {
        let folder = try ScratchFolder()
        let url = try await Press.make(in: folder)
        try Press.change(url, "UPDATE Article SET author = 99 WHERE title = 'Notes'")
        let run = await ToolRun("check", url.path)
        #expect(run.status == 1)
        #expect(run.lines.count == 1)
        #expect(run.output.hasPrefix("missingReference: Article "))
        #expect(run.output.contains("author leads to Author 99, which does not exist."))
        let json = await ToolRun("check", url.path, "--json")
        #expect(json.status == 1)
        let finding = try #require(try json.objects().first)
        #expect(Set(finding.keys) == ["kind", "subject", "id", "message"])
        #expect(finding["kind"] as? String == "missingReference")
        #expect(finding["subject"] as? String == "Article")
    }

    @Test("A relationship that may lead to deleted objects is left out if it is named")
    func allowed() async throws {
        let folder = try ScratchFolder()
        let url = try await Press.make(in: folder)
        try Press.change(url, "UPDATE Article SET author = 99 WHERE title = 'Notes'")
        let run = await ToolRun("check", url.path, "--allow-missing", "Article.author")
        #expect(run.status == 0, "\(run.output)")
        let misspelt = await ToolRun("check", url.path, "--allow-missing", "Article.writer")
        #expect(misspelt.status == 1)
        #expect(misspelt.messages.contains("'Article.writer'"))
    }

    @Test("The check finds what the library's check with models finds")
    func asLibrary() async throws {
        let folder = try ScratchFolder()
        let url = try await Press.make(in: folder)
        try Press.change(
            url,
            "UPDATE Article SET author = 99 WHERE title = 'Notes'",
            "UPDATE Article SET _version = 1000 WHERE title = 'Engines'",
            "UPDATE strata_history SET changes = x'FF' WHERE sequence = 1"
        )
        let stack = try await Press.open(url)
        let findings = try await stack.check()
        try await stack.close()
        #expect(findings.count == 3)
        let run = await ToolRun("check", url.path)
        #expect(Set(run.lines) == Set(findings.map(\.description)))
    }

    @Test("The rules of queues are checked")
    func queues() async throws {
        let folder = try ScratchFolder()
        let url = folder.file("queue.sqlite")
        try await Press.open(url, models: Press.models + Pipeline.models).close()
        let healthy = await ToolRun("check", url.path)
        #expect(healthy.status == 0, "\(healthy.output)\(healthy.messages)")
        try Press.change(url, "INSERT INTO OperationTrace (id, carrier) VALUES (12345, '{}')")
        let stray = await ToolRun("check", url.path)
        #expect(stray.status == 1)
        #expect(stray.messages.isEmpty, "\(stray.messages)")
        #expect(stray.output.hasPrefix("inconsistentQueue: OperationTrace 12345: "), "\(stray.output)")
    }

    @Test("Folders of an account that form a ring are reported")
    func rings() async throws {
        let folder = try ScratchFolder()
        let url = try await Letters.make(in: folder)
        let healthy = await ToolRun("check", url.path)
        #expect(healthy.status == 0, "\(healthy.output)\(healthy.messages)")
        try Press.change(url, "UPDATE CloudNode SET parent = id WHERE name = 'letters'")
        let run = await ToolRun("check", url.path)
        #expect(run.status == 1)
        // The folder and its two letters.
        #expect(run.lines.count == 3)
        #expect(run.lines.allSatisfy { $0.hasPrefix("inconsistentQueue: CloudNode ") && $0.contains("form a ring") })
    }

    @Test("Queues of another version are not checked, and a note says so")
    func otherQueues() async throws {
        let folder = try ScratchFolder()
        let url = folder.file("queue.sqlite")
        try await Press.open(url, models: Press.models + Pipeline.models).close()
        try Press.change(
            url,
            "UPDATE strata_schema SET description = replace(description, 'carrier TEXT', 'carrier TEXT optional')"
        )
        let run = await ToolRun("check", url.path)
        #expect(run.status == 0, "\(run.output)")
        #expect(run.messages.hasPrefix("strata: The rules of queues and accounts are not checked."), "\(run.messages)")
        // A copy with the workers of the original would not be safe.
        let copy = folder.file("copy.sqlite")
        let backup = await ToolRun("backup", url.path, copy.path)
        #expect(backup.status == 1)
        #expect(!FileManager.default.fileExists(atPath: copy.path))
    }
}
