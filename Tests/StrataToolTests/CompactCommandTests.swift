import Foundation
import StoreModels
import Strata
import Testing

@Suite("strata compact", .timeLimit(.minutes(2))) struct CompactCommandTests {
    /// A store with free pages.
    private func makeLooseStore(in folder: ScratchFolder) async throws -> URL {
        let url = try await Press.make(in: folder)
        let stack = try await Press.open(url)
        try await stack.background { context in
            let text = String(repeating: "x", count: 1000)
            try context.batchInsert((1...1000).lazy.map { Press.Article(title: "\($0) \(text)", views: 99).snapshot })
        }
        try await stack.background { _ = try $0.batchDelete(Press.Article.where { $0.views == 99 }) }
        try await stack.close()
        return url
    }

    private func size(of url: URL) throws -> Int {
        try #require(try FileManager.default.attributesOfItem(atPath: url.path)[.size] as? Int)
    }

    @Test("Free pages are returned after a confirmation")
    func confirmed() async throws {
        let folder = try ScratchFolder()
        let url = try await makeLooseStore(in: folder)
        let before = try folder.image()
        let size = try size(of: url)
        let refused = await ToolRun("compact", url.path)
        #expect(refused.status == 1)
        #expect(refused.messages.contains("will be returned") && refused.messages.contains("Pass --yes"))
        let no = await ToolRun("compact", url.path, answer: "n")
        #expect(no.status == 1)
        #expect(try folder.image() == before)
        let yes = await ToolRun("compact", url.path, "--yes", "--json")
        #expect(yes.status == 0, "\(yes.messages)")
        let bytes = try #require(try yes.objects().first?["bytes"] as? Int)
        #expect(bytes > 500_000)
        let rest = try self.size(of: url)
        #expect(rest == size - bytes)
        let rows = await ToolRun("sql", url.path, "SELECT count(*) AS n FROM Article", "--json")
        #expect(rows.lines == [#"{"n":3}"#])
        let history = await ToolRun("history", url.path, "--json")
        #expect(history.lines.count == 4)
    }

    @Test("A process that writes meanwhile loses no commit")
    func beside() async throws {
        let folder = try ScratchFolder()
        let url = folder.file("bank.sqlite")
        let helper = try HelperProcess("transfer", url.path)
        _ = try await helper.next()
        let run = await ToolRun("compact", url.path, answer: "yes")
        #expect(run.status == 0, "\(run.messages)")
        let line = try await helper.next()
        let position = try #require(line.split(separator: " ").first.flatMap { Int($0) })
        helper.kill()
        await helper.wait()
        let last = await ToolRun("sql", url.path, "SELECT last FROM Counter", "--json")
        let found = try #require(try last.objects().first?["last"] as? Int)
        #expect(found >= position)
        let check = await ToolRun("check", url.path)
        #expect(check.status == 0, "\(check.output)")
    }

    @Test("A missing file is refused, and not created")
    func missing() async throws {
        let folder = try ScratchFolder()
        let missing = await ToolRun("compact", folder.file("missing.sqlite").path, "--yes")
        #expect(missing.status == 1)
        #expect(missing.messages.contains("does not exist"))
        #expect(try folder.image().isEmpty)
    }
}
