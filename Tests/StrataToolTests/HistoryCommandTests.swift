import Foundation
import StoreModels
import Strata
import Testing

@Suite("strata history", .timeLimit(.minutes(2))) struct HistoryCommandTests {
    @Test("The last commits are printed, oldest first")
    func text() async throws {
        let folder = try ScratchFolder()
        let url = try await Press.make(in: folder)
        let run = await ToolRun("history", url.path)
        #expect(run.status == 0, "\(run.messages)")
        #expect(run.lines.count == 2)
        #expect(run.lines.first?.hasPrefix("1  ") == true)
        #expect(run.lines.first?.hasSuffix("Z  editor  Article +2, Author +2") == true)
        #expect(run.lines.last?.hasSuffix("Z  editor  Article +1") == true)
        let last = await ToolRun("history", url.path, "--limit", "1")
        #expect(last.lines == [run.lines.last].compactMap { $0 })
        let none = await ToolRun("history", url.path, "--limit", "0")
        #expect(none.status == 0)
        #expect(none.output.isEmpty)
    }

    @Test("JSON has the ids and columns of each table")
    func json() async throws {
        let folder = try ScratchFolder()
        let url = try await Press.make(in: folder)
        let stack = try await Press.open(url)
        try await stack.background { context in
            let engines = try #require(try context.first(Press.Article.where { $0.title == "Engines" }))
            engines.views += 1
            context.delete(try #require(try context.first(Press.Article.where { $0.title == "Notes" })))
            try context.commit()
        }
        let token = stack.historyToken
        try await stack.close()
        let run = await ToolRun("history", url.path, "--json", "--limit", "1")
        let commit = try #require(try run.objects().first)
        #expect(Set(commit.keys) == ["sequence", "token", "time", "author", "tables"])
        #expect(commit["sequence"] as? Int == 3)
        #expect(commit["token"] as? String == "\(token)")
        #expect(commit["author"] as? String == "editor")
        let tables = try #require(commit["tables"] as? [[String: Any]])
        let table = try #require(tables.first { $0["table"] as? String == "Article" })
        #expect((table["inserted"] as? [[Int]])?.isEmpty == true)
        #expect((table["deleted"] as? [[Int]])?.count == 1)
        let updated = try #require(table["updated"] as? [[String: Any]])
        #expect(updated.map { $0["columns"] as? [String] } == [["views"]])
    }

    @Test("A store without commits has an empty history")
    func empty() async throws {
        let folder = try ScratchFolder()
        let url = folder.file("press.sqlite")
        try await Press.open(url).close()
        let run = await ToolRun("history", url.path)
        #expect(run.status == 0, "\(run.messages)")
        #expect(run.output.isEmpty)
    }

    @Test("The program follows the commits of another process, and ends in order with a signal")
    func following() async throws {
        let folder = try ScratchFolder()
        let url = try await Press.make(in: folder)
        let before = try folder.image()
        let process = try HelperProcess(helper: "strata", ["history", url.path, "--follow", "--json"])
        // The past commits show that the program follows from here on.
        for sequence in 1...2 {
            let line = try await process.next()
            #expect(line.hasPrefix("{\"sequence\":\(sequence),"))
        }
        let stack = try await Press.open(url)
        for number in 3...5 {
            try await stack.background { context in
                context.insert(Press.Article(title: "\(number)"))
                try context.commit()
            }
            let line = try await process.next()
            #expect(line.hasPrefix("{\"sequence\":\(number),"))
        }
        process.terminate()
        let rest = await process.end()
        #expect(rest.isEmpty)
        #expect(process.exitStatus == 128 + SIGTERM)
        try await stack.close()
        // Neither of the two has left a journal.
        #expect(Set(try folder.image().keys) == Set(before.keys))
    }
}
