import Foundation
import StoreModels
import Strata
import Testing

@Suite("strata sql", .timeLimit(.minutes(2))) struct SQLCommandTests {
    @Test("A query with parameters is refused with advice for a user of the tool", arguments: ["sql", "plan"])
    func parameters(_ command: String) async throws {
        let folder = try ScratchFolder()
        let url = try await Press.make(in: folder)
        let run = await ToolRun(command, url.path, "SELECT title FROM Article WHERE views = ?")
        #expect(run.status == 1)
        #expect(run.messages.contains("Write the values into it."), "\(run.messages)")
    }

    @Test("Rows are a table for people")
    func table() async throws {
        let folder = try ScratchFolder()
        let url = try await Press.make(in: folder)
        let run = await ToolRun("sql", url.path, "SELECT title, views, NULL AS none FROM Article ORDER BY title")
        #expect(run.status == 0, "\(run.messages)")
        #expect(
            run.lines == [
                "title      views  none", "Compilers      3  NULL", "Engines       12  NULL", "Notes          0  NULL",
            ]
        )
    }

    @Test("A query without rows prints the names of its columns")
    func empty() async throws {
        let folder = try ScratchFolder()
        let url = try await Press.make(in: folder)
        let run = await ToolRun("sql", url.path, "SELECT title FROM Article WHERE 0")
        #expect(run.lines == ["title"])
        let json = await ToolRun("sql", url.path, "SELECT title FROM Article WHERE 0", "--json")
        #expect(json.status == 0)
        #expect(json.output.isEmpty)
    }

    @Test("JSON keeps the type of each value")
    func json() async throws {
        let folder = try ScratchFolder()
        let url = try await Press.make(in: folder)
        let sql = "SELECT 1 AS a, 1.5 AS b, 'x\"\\' || char(10) AS c, NULL AS d, x'00FF' AS e, -9e999 AS f, 1e300 AS g"
        let run = await ToolRun("sql", url.path, sql, "--json")
        #expect(run.status == 0, "\(run.messages)")
        let line = #"{"a":1,"b":1.5,"c":"x\"\\\n","d":null,"e":{"base64":"AP8="},"f":{"real":"-inf"},"g":1e+300}"#
        #expect(run.lines == [line])
        let object = try #require(try run.objects().first)
        #expect(object["c"] as? String == "x\"\\\n")
    }

    @Test("Two columns with one name need a name in JSON")
    func repeatedName() async throws {
        let folder = try ScratchFolder()
        let url = try await Press.make(in: folder)
        let sql = "SELECT a.id, b.id FROM Article AS a, Article AS b"
        let run = await ToolRun("sql", url.path, sql, "--json")
        #expect(run.status == 1)
        #expect(run.output.isEmpty)
        #expect(run.messages.contains("'id'"))
        let table = await ToolRun("sql", url.path, sql)
        #expect(table.status == 0)
        #expect(table.lines.count == 10)
    }

    @Test(
        "Statements that write, set something, or are not one query are refused",
        arguments: [
            "DELETE FROM Article", "WITH x AS (SELECT 1) DELETE FROM Article", "PRAGMA journal_mode = DELETE",
            "ATTACH 'x' AS x", "BEGIN IMMEDIATE", "VACUUM", "SELECT 1; DELETE FROM Article", "SELECT ?", "", "SELEC",
        ]
    )
    func refused(_ sql: String) async throws {
        let folder = try ScratchFolder()
        let url = try await Press.make(in: folder)
        let before = try folder.image()
        let run = await ToolRun("sql", url.path, sql)
        #expect(run.status == 1)
        #expect(run.output.isEmpty)
        #expect(run.messages.hasPrefix("strata: invalidQuery: "), "\(run.messages)")
        #expect(try folder.image() == before)
    }

    @Test("Escape sequences in values and names do not reach the terminal")
    func escapes() async throws {
        let folder = try ScratchFolder()
        let url = try await Press.make(in: folder)
        let hostile = "\u{1B}[31m<b>\u{202E}\u{7}\n\u{9B}2J"
        let stack = try await Press.open(url)
        try await stack.background { context in
            context.insert(Press.Author(name: hostile))
            try context.commit()
        }
        try await stack.close()
        let sql = "SELECT name AS \"\u{1B}[2J\" FROM Author WHERE length(name) > 8"
        let run = await ToolRun("sql", url.path, sql)
        #expect(run.lines == [#"\u{1b}[2J"#, #"\u{1b}[31m<b>\u{202e}\u{7}\n\u{9b}2J"#])
        let json = await ToolRun("sql", url.path, sql, "--json")
        #expect(json.lines.count == 1)
        #expect(!json.output.unicodeScalars.dropLast().contains { $0.properties.generalCategory == .control })
        #expect(try json.objects().first?["\u{1B}[2J"] as? String == hostile)
        let wrong = await ToolRun("sql", url.path, "SELECT \u{1B}[2J")
        #expect(wrong.status == 1)
        #expect(!wrong.messages.contains("\u{1B}"))
    }

    @Test("A large value is shortened in the table, and complete in JSON")
    func large() async throws {
        let folder = try ScratchFolder()
        let url = try await Press.make(in: folder)
        let size = 10_000_000
        let sql = "SELECT replace(hex(zeroblob(\(size / 2))), '0', 'x') AS t, zeroblob(\(size)) AS b"
        let run = await ToolRun("sql", url.path, sql)
        #expect(run.status == 0, "\(run.messages)")
        let text = String(repeating: "x", count: 59) + "…"
        #expect(run.lines.last == text + "  (\(size) bytes)")
        let json = await ToolRun("sql", url.path, sql, "--json")
        let object = try #require(try json.objects().first)
        #expect((object["t"] as? String)?.utf8.count == size)
    }

    @Test("Reads see the commits of a process that writes")
    func beside() async throws {
        let folder = try ScratchFolder()
        let url = folder.file("bank.sqlite")
        let helper = try HelperProcess("transfer", url.path)
        _ = try await helper.next()
        for _ in 0..<5 {
            let line = try await helper.next()
            let position = try #require(line.split(separator: " ").first.flatMap { Int($0) })
            let run = await ToolRun("sql", url.path, "SELECT max(position) AS last FROM Transfer", "--json")
            #expect(run.status == 0, "\(run.messages)")
            let last = try #require(try run.objects().first?["last"] as? Int)
            #expect(last >= position)
        }
        helper.kill()
        await helper.wait()
        // The journal of the killed process is read. It and the store stay as they were.
        func images() throws -> [String: Data] { try folder.image().filter { !$0.key.hasSuffix("-shm") } }
        let before = try images()
        #expect(before["bank.sqlite-wal"]?.isEmpty == false)
        let run = await ToolRun("sql", url.path, "SELECT sum(balance) AS sum FROM Account", "--json")
        #expect(run.lines == [#"{"sum":6000}"#], "\(run.messages)")
        let after = try images()
        #expect(after == before)
    }
}
