import Foundation
import StoreModels
import Strata
import Testing

@Suite("Copies of stores that were not closed", .timeLimit(.minutes(2))) struct CopiedStoreTests {
    @Test("A file and its journal are read without the index, and stay as they were")
    func withoutIndex() async throws {
        let folder = try ScratchFolder()
        let url = try await Press.makeCopyWithoutIndex(in: folder)
        let before = try folder.image()
        #expect(Set(before.keys) == ["press.sqlite", "press.sqlite-wal"])
        // The second run finds the index of the first one.
        for _ in 0..<2 {
            let inspect = await ToolRun("inspect", url.path)
            #expect(inspect.status == 0, "\(inspect.messages)")
            let names = await ToolRun("sql", url.path, "SELECT name FROM Author ORDER BY name", "--json")
            #expect(names.lines == [#"{"name":"Ada"}"#, #"{"name":"Barbara"}"#, #"{"name":"Grace"}"#])
            var after = try folder.image()
            #expect(after.removeValue(forKey: "press.sqlite-shm") != nil)
            #expect(after == before)
        }
        // The program finds all commits.
        let stack = try await Press.open(url)
        let count = try await stack.background { try $0.count(Press.Author.all) }
        #expect(count == 3)
        try await stack.close()
    }

    @Test("Files that no user may write to are read with their journal")
    func unwritableFiles() async throws {
        let folder = try ScratchFolder()
        let url = try await Press.makeCopyWithoutIndex(in: folder)
        for name in ["press.sqlite", "press.sqlite-wal"] { #expect(chmod(folder.file(name).path, 0o444) == 0) }
        let before = try folder.image()
        for _ in 0..<2 {
            let run = await ToolRun("sql", url.path, "SELECT count(*) AS n FROM Author", "--json")
            #expect(run.lines == [#"{"n":3}"#], "\(run.messages)")
        }
        var after = try folder.image()
        after.removeValue(forKey: "press.sqlite-shm")
        #expect(after == before)
    }

    @Test("The copied folder of a killed process is read whole")
    func killed() async throws {
        let folder = try ScratchFolder()
        let url = folder.file("bank.sqlite")
        let helper = try HelperProcess("transfer", url.path)
        for _ in 0..<20 { _ = try await helper.next() }
        let last = try await helper.next()
        let position = try #require(last.split(separator: " ").first.flatMap { Int($0) })
        helper.kill()
        await helper.wait()
        let copies = try ScratchFolder()
        for name in try FileManager.default.contentsOfDirectory(atPath: folder.url.path) where !name.hasSuffix("-shm") {
            try FileManager.default.copyItem(at: folder.file(name), to: copies.file(name))
        }
        let copy = copies.file("bank.sqlite")
        let before = try copies.image()
        let sum = await ToolRun("sql", copy.path, "SELECT sum(balance) AS sum FROM Account", "--json")
        #expect(sum.lines == [#"{"sum":6000}"#], "\(sum.messages)")
        // Each line of the process has acknowledged a commit.
        let history = await ToolRun("history", copy.path, "--limit", "1", "--json")
        let newest = try #require(try history.objects().first?["sequence"] as? Int)
        #expect(newest >= position)
        let check = await ToolRun("check", copy.path)
        #expect(check.status == 0, "\(check.output)")
        var after = try copies.image()
        after.removeValue(forKey: "bank.sqlite-shm")
        #expect(after == before)
    }
}
